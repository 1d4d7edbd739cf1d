package portable_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"cohort/cmd/cohort/internal/portable"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"
)

func encode(t interface{ Fatal(...any) }, set *roaring.Bitmap) []byte {
	data, err := set.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ranges returns a set of some ranges, first and last each.
func ranges(of ...uint64) *roaring.Bitmap {
	set := roaring.New()
	for i := 0; i < len(of); i += 2 {
		set.AddRange(of[i], of[i+1]+1)
	}
	set.RunOptimize()
	return set
}

// odd returns a set of the odd numbers below n: no runs.
func odd(n uint32) *roaring.Bitmap {
	set := roaring.New()
	for v := uint32(1); v < n; v += 2 {
		set.Add(v)
	}
	return set
}

// What the library writes is read.
func TestRead(t *testing.T) {
	for name, set := range map[string]*roaring.Bitmap{
		"empty":            roaring.New(),
		"one":              roaring.BitmapOf(7),
		"both ends":        roaring.BitmapOf(0, 1<<32-1),
		"array":            odd(8192),
		"bitset":           odd(1 << 16),
		"one run":          ranges(10, 1000),
		"runs, no offsets": ranges(10, 1000, 70_000, 200_000),
		"runs, offsets":    ranges(10, 1000, 70_000, 500_000),
		"all":              ranges(0, 1<<32-1),
	} {
		got, err := portable.Read(iotest.OneByteReader(bytes.NewReader(encode(t, set))))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !got.Equals(set) {
			t.Errorf("%s: read %v", name, got)
		}
	}
}

func TestReadRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := roaring.New()
		for range rapid.IntRange(0, 12).Draw(t, "ranges") {
			from := rapid.Uint64Range(0, 1<<32-1).Draw(t, "from")
			to := min(from+rapid.Uint64Range(1, 1<<18).Draw(t, "length"), 1<<32)
			step := rapid.SampledFrom([]uint64{1, 2, 3, 1000}).Draw(t, "step")
			for v := from; v < to; v += step {
				set.Add(uint32(v))
			}
		}
		if rapid.Bool().Draw(t, "optimized") {
			set.RunOptimize()
		}
		got, err := portable.Read(bytes.NewReader(encode(t, set)))
		if err != nil || !got.Equals(set) {
			t.Errorf("read %v, %v", got, err)
		}
	})
}

// put returns a copy of some bytes with a number of 16 bits written at a place.
func put(data []byte, at int, v uint16) []byte {
	data = bytes.Clone(data)
	binary.LittleEndian.PutUint16(data[at:], v)
	return data
}

// What is no set is refused, and the reason given.
func TestRefuse(t *testing.T) {
	array := encode(t, roaring.BitmapOf(1, 2, 70_000)) // keys at 8, offsets at 16, numbers at 24
	bitset := encode(t, odd(1<<16))
	runs := encode(t, ranges(10, 1000, 2000, 3000)) // keys at 5, runs at 9: their number, then pairs
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "end early"},
		{"text", []byte("id,event,time\n"), "no cookie"},
		{"cookie only", array[:4], "end early"},
		{"too many containers", put(put(array, 4, 1), 6, 1), "65537 containers"},
		{"cut in the keys", array[:12], "end early"},
		{"cut in the offsets", array[:20], "end early"},
		{"cut in a container", array[:len(array)-1], "end early"},
		{"cut in a bitset", bitset[:len(bitset)-1], "end early"},
		{"cut in the runs", runs[:len(runs)-1], "end early"},
		{"cut before the runs", runs[:10], "end early"},
		{"a byte more", append(bytes.Clone(array), 0), "1 bytes follow"},
		{"another set", append(bytes.Clone(array), array...), "bytes follow"},
		{"keys out of order", put(array, 12, 0), "the key 0 after 0"},
		{"offset", put(array, 20, 9), "said to at 9"},
		{"numbers out of order", put(array, 26, 1), "1 stands after 1"},
		{"bits", put(bitset, 16, 0), "are set"},
		{"cardinality of runs", put(runs, 7, 5), "said to have 6"},
		{"no runs", put(put(runs, 9, 0), 11, 0)[:11], "0 numbers"},
		{"runs out of order", put(runs, 15, 5), "begins at 5"},
		{"runs that touch", put(runs, 15, 1001), "begins at 1001"},
		{"run past the end", put(runs, 17, 65000), "numbers"},
	} {
		_, err := portable.Read(bytes.NewReader(test.data))
		if !errors.Is(err, portable.ErrFormat) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// A reader's own error is handed on, and one without end is not read without end.
func TestReader(t *testing.T) {
	if _, err := portable.Read(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) || errors.Is(err, portable.ErrFormat) {
		t.Errorf("a reader that fails: %v", err)
	}
	if _, err := portable.ReadAtMost(zeros{}, 1<<20); !errors.Is(err, portable.ErrFormat) || !strings.Contains(err.Error(), "longer") {
		t.Errorf("a reader without end: %v", err)
	}
}

// The bound is that of a set in which every container is a bitset, with a bit more
// for each that says it has no runs.
func TestMaxBytes(t *testing.T) {
	data := encode(t, odd(1<<16))
	perContainer := len(data) - 8
	if got, want := portable.MaxBytes, 8+perContainer<<16+1<<16/8; got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	for most, ok := range map[int]bool{len(data) - 1: false, len(data): true} {
		if _, err := portable.ReadAtMost(bytes.NewReader(data), most); (err == nil) != ok {
			t.Errorf("%d bytes, at most %d: %v", len(data), most, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Whatever is accepted is a set by the library's own check, and is what the
// library's own reader reads; whatever the library writes is accepted. Bytes of ones
// follow the data, so that the fuzzer comes to bitsets with few bytes to change.
func FuzzRead(f *testing.F) {
	for _, set := range []*roaring.Bitmap{
		roaring.New(), roaring.BitmapOf(1, 2, 70_000),
		ranges(10, 1000, 2000, 3000), ranges(10, 1000, 70_000, 500_000), ranges(0, 1<<20),
	} {
		f.Add(encode(f, set), uint16(0))
	}
	full := roaring.New()
	for v := range uint32(1 << 16) {
		full.Add(v)
	}
	f.Add(encode(f, full)[:16], uint16(8192))
	f.Fuzz(func(t *testing.T, data []byte, ones uint16) {
		data = append(data, bytes.Repeat([]byte{0xff}, int(ones))...)
		got, err := portable.Read(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, portable.ErrFormat) {
				t.Errorf("error %v", err)
			}
			return
		}
		if err := got.Validate(); err != nil {
			t.Fatalf("accepted, and not valid: %v", err)
		}
		want := roaring.New()
		if n, err := want.ReadFrom(bytes.NewReader(data)); err != nil || n != int64(len(data)) {
			t.Fatalf("the library reads %d of %d bytes: %v", n, len(data), err)
		}
		if !got.Equals(want) {
			t.Error("another set than the library reads")
		}
		again, err := portable.Read(bytes.NewReader(encode(t, got)))
		if err != nil || !again.Equals(got) {
			t.Errorf("written and read again: %v", err)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	set := roaring.New()
	for i := range uint32(1_000_000) {
		set.Add(i * 2654435761) // spread as placements are
	}
	data := encode(b, set)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := portable.Read(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
}
