package ingest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"cohort/cmd/cohort/internal/ingest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// pack compresses text as "gzip" or "zstd".
func pack(t testing.TB, kind, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if kind == "zstd" {
		var err error
		if w, err = zstd.NewWriter(&out); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readAll returns how many rows a file has, and what ended it unless that is its
// end.
func readAll(t testing.TB, format string, r io.Reader) (n int, kind string, err error) {
	f, err := ingest.Open("file", format, r, named)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	for b, err := range batches(t, f, 2) {
		if err != nil {
			return n, f.Compression, err
		}
		n += len(b.Marks)
	}
	return n, f.Compression, nil
}

func TestCompressed(t *testing.T) {
	var text strings.Builder
	text.WriteString("\ufeffid,event,time\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d,played,2026-01-30\n", i*i)
	}
	for _, kind := range []string{"gzip", "zstd"} {
		data := pack(t, kind, text.String())
		if n, got, err := readAll(t, "csv", iotest.HalfReader(bytes.NewReader(data))); n != 20_000 || got != kind || err != nil {
			t.Errorf("%s: %d rows, %q, %v", kind, n, got, err)
		}
		// Two streams one after the other are one text.
		two := append(pack(t, kind, "id,event,time\na,b,c\n"), pack(t, kind, "d,e,f\n")...)
		if n, _, err := readAll(t, "csv", bytes.NewReader(two)); n != 2 || err != nil {
			t.Errorf("%s, two streams: %d rows, %v", kind, n, err)
		}
		if n, _, err := readAll(t, "jsonl", bytes.NewReader(pack(t, kind, ""))); n != 0 || err != nil {
			t.Errorf("%s, empty: %d rows, %v", kind, n, err)
		}
		// An error of reading is not the data's fault.
		broken := errors.New("broken disk")
		_, _, err := readAll(t, "csv", io.MultiReader(bytes.NewReader(data[:len(data)/2]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || isCompressed(err) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// Data cut off or changed anywhere ends the file with an error that tells it; the
// rows before are read.
func TestDamaged(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,event,time\n")
	for i := range 30_000 {
		fmt.Fprintf(&text, "%d,played,2026-01-%02d\n", i*i*i, 1+i%31)
	}
	for _, kind := range []string{"gzip", "zstd"} {
		data := pack(t, kind, text.String())
		for i := range 24 {
			at := len(data) * i / 24
			n, _, err := readAll(t, "csv", bytes.NewReader(data[:at]))
			if i == 0 {
				continue // no data: an empty file
			}
			if !isCompressed(err) || i > 18 && n == 0 {
				t.Errorf("%s, cut off at %d of %d: %d rows, %v", kind, at, len(data), n, err)
			}
			if i > 18 && (!strings.HasPrefix(err.Error(), fmt.Sprintf("file: line %d: the %s data breaks off after %d bytes", n+2, kind, at))) {
				t.Errorf("%s, cut off at %d: %v", kind, at, err)
			}
		}
		changed := bytes.Clone(data)
		changed[len(data)*3/4] ^= 0x55
		if n, _, err := readAll(t, "csv", bytes.NewReader(changed)); err == nil {
			t.Errorf("%s: %d rows of damaged data", kind, n)
		}
		if n, _, err := readAll(t, "csv", bytes.NewReader(append(data, "rubbish"...))); n != 30_000 || !isCompressed(err) {
			t.Errorf("%s, rubbish behind: %d rows, %v", kind, n, err)
		}
	}
}

// What expands to gigabytes is read in little memory, or given up.
func TestWindow(t *testing.T) {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithWindowSize(256<<20), zstd.WithSingleSegment(false))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "id,event,time\na,b,c\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil { // so that the frame tells no size, but a window
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readAll(t, "csv", &out); !isCompressed(err) || !strings.HasSuffix(err.Error(), "needs a window of more than 128 MiB: compress it with a smaller --long") {
		t.Errorf("a window of 256 MB: %v", err)
	}
}
