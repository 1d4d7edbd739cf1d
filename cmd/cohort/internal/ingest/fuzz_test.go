package ingest_test

import (
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"cohort/cmd/cohort/internal/ingest"
)

// FuzzCSV checks the reader, cutting pieces as small as it can, against the
// library's own reading the same text as a whole: the same rows, on the lines the
// library tells, and each refused row's text is in the file.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b,c\n", "\"a\nb\",c,d\r\n\r\ne,f,g", "a\"b,c,d\n\"a\"b\n\"a", " \n\ta,b\n", "\r\r\n,,\n", "a,\"\"\"\n\",b\n\"\"c\n\"\",d,e\n", "\"\"\r\r"} {
		for size := range uint8(3) {
			f.Add(s, false, 1+4*size)
			f.Add(s, true, 1+4*size)
		}
	}
	f.Fuzz(func(t *testing.T, text string, tabs bool, size uint8) {
		format, comma := "csv", ','
		if tabs {
			format, comma = "tsv", '\t'
		}
		cols := ingest.Columns{ID: "1", Event: "2", Time: "3", NoHeader: true}
		file, err := ingest.Open("file", format, &chunks{text, int(size)}, cols)
		if err != nil {
			if !errors.Is(err, ingest.ErrEncoding) && !isCompressed(err) {
				t.Fatal(err)
			}
			return
		}
		if file.Compression != "" {
			return
		}
		file.SetPieceSize(int(size))
		got := textRows(t, file)
		lib := csv.NewReader(strings.NewReader(strings.TrimPrefix(text, "\ufeff")))
		lib.Comma, lib.FieldsPerRecord = comma, -1
		for {
			want, werr := lib.Read()
			if werr == nil && len(want) == 1 && strings.Trim(want[0], " \t\r\n") == "" {
				continue // perhaps a blank line; checked by the table of cases
			}
			for len(got) > 0 && got[0].blank() {
				got = got[1:]
			}
			if len(got) == 0 {
				if werr != io.EOF {
					t.Fatalf("%q: ended before %q, %v", text, want, werr)
				}
				return
			}
			row := got[0]
			got = got[1:]
			switch {
			case errors.Is(row.end, ingest.ErrOpenQuote):
				if !errors.Is(werr, csv.ErrQuote) {
					t.Fatalf("%q: %v, the library has %q, %v", text, row.end, want, werr)
				}
				return
			case row.end != nil || werr == io.EOF:
				t.Fatalf("%q: %+v, the library has %q, %v", text, row, want, werr)
			case werr != nil || len(want) < 3:
				if !row.bad || !strings.Contains(text, row.text) {
					t.Fatalf("%q: %+v, the library has %q, %v", text, row, want, werr)
				}
			case row.bad || !slices.Equal(row.fields, want):
				t.Fatalf("%q: %+v, want %q", text, row, want)
			}
			if line := libraryLine(lib, werr); row.line != line {
				t.Fatalf("%q: %+v, on line %d for the library", text, row, line)
			}
		}
	})
}

// chunks is a reader of text that gives a few bytes at a time.
type chunks struct {
	text string
	n    int
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.text == "" {
		return 0, io.EOF
	}
	n := copy(p, c.text[:min(max(c.n, 1), len(c.text))])
	c.text = c.text[n:]
	return n, nil
}

// libraryLine is where the record read last begins.
func libraryLine(lib *csv.Reader, err error) int {
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return bad.StartLine
	}
	line, _ := lib.FieldPos(0)
	return line
}

func isCompressed(err error) bool {
	var bad *ingest.CompressedError
	return errors.As(err, &bad)
}

// textRow is a row as it was read, or the end of a file.
type textRow struct {
	line   int
	fields []string
	text   string
	bad    bool
	end    error
}

// blank reports whether a row is one quoted field of blanks, which is refused.
func (r textRow) blank() bool {
	inner, ok := strings.CutPrefix(r.text, "\"")
	inner, ok2 := strings.CutSuffix(inner, "\"")
	return r.bad && ok && ok2 && strings.Trim(inner, " \t\r\n") == ""
}

// textRows reads a file to its end.
func textRows(t *testing.T, f *ingest.File) (rows []textRow) {
	for b, err := range f.Sequential(parser(t, "auto", "UTC")) {
		if err != nil {
			return append(rows, textRow{end: err})
		}
		for i, m := range b.Marks {
			row, text := rowOf(b, i)
			bad := m.Refused != nil && m.Refused.Reason == ingest.BadRow
			rows = append(rows, textRow{m.Line, slices.Clone(row.Fields), text, bad, nil})
		}
	}
	return rows
}

func FuzzFixed(f *testing.F) {
	f.Add(" 00001 19970101  1\r\n", "2-6", "8-15", uint8(3))
	f.Add("a\n\n\xff", "1-1", "1-99", uint8(1))
	f.Fuzz(func(t *testing.T, text, id, when string, size uint8) {
		file, err := ingest.Open("file", "fixed", strings.NewReader(text), ingest.Columns{ID: id, Time: when, EventName: "x"})
		if err != nil || file.Compression != "" {
			return
		}
		file.SetPieceSize(int(size))
		lines := strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n")
		for b, err := range file.Sequential(parser(t, "auto", "UTC")) {
			if err != nil {
				return
			}
			for i, m := range b.Marks {
				_, got := rowOf(b, i)
				if line := strings.TrimSuffix(lines[m.Line-1], "\r"); line != got || !strings.Contains(line, m.ID) {
					t.Fatalf("%q: line %d is %q, id %q", text, m.Line, got, m.ID)
				}
			}
		}
	})
}
