package redisbits_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cohort/cmd/cohort/internal/redisbits"
	"cohort/cmd/cohort/internal/redistest"
)

const pieceSize = 512 << 10 // bytes of a full piece

// read returns the set bits of a key, and how many pieces it came in.
func read(ctx context.Context, s *redisbits.Server, k redisbits.Key) (set []uint64, pieces int, err error) {
	for p, err := range s.Pieces(ctx, k) {
		if err != nil {
			return set, pieces, err
		}
		pieces++
		set = slices.AppendSeq(set, p.Bits())
	}
	return set, pieces, nil
}

// keyOf returns a key with the size it has.
func keyOf(t *testing.T, r *redistest.Server, name string) redisbits.Key {
	t.Helper()
	size, err := r.Client.StrLen(t.Context(), name).Result()
	if err != nil {
		t.Fatal(err)
	}
	return redisbits.Key{Name: name, Size: size}
}

// reasonOf returns why a value could not be read, "" for no error.
func reasonOf(t *testing.T, err error) redisbits.Reason {
	t.Helper()
	var value *redisbits.ValueError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &value):
		return value.Reason
	}
	t.Fatal(err)
	return ""
}

func TestPieces(t *testing.T) {
	const bit = 8 // positions a byte
	r := redistest.Start(t)
	s := connect(t, r.URL())
	for _, test := range []struct {
		name   string
		set    []int64
		pieces int
	}{
		{"first", []int64{0}, 1},
		{"few", []int64{0, 7, 8, 4711}, 1},
		{"the end of a piece", []int64{pieceSize*bit - 1}, 1},
		{"the start of the next", []int64{pieceSize * bit}, 2},
		{"both", []int64{pieceSize*bit - 1, pieceSize * bit}, 2},
		{"three pieces", []int64{5, pieceSize*bit + 5, 2*pieceSize*bit + 5}, 3},
		// The first piece has no bit, and neither has what lies between.
		{"far off", []int64{100_000_000*bit + 3}, 2},
		{"the last position", []int64{1<<32 - 1}, 2},
		{"the first and the last", []int64{0, 1<<32 - 1}, 3},
		// A run of zeros that ends where a BITPOS does.
		{"the edge of a skip", []int64{(pieceSize+16<<20)*bit - 1, (pieceSize + 16<<20) * bit}, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.SetBits(t, test.name, test.set...)
			set, pieces, err := read(t.Context(), s, keyOf(t, r, test.name))
			want := make([]uint64, len(test.set))
			for i, p := range test.set {
				want[i] = uint64(p)
			}
			if err != nil || !slices.Equal(set, want) {
				t.Errorf("%v, %v; want %v", set, err, want)
			}
			if pieces > test.pieces {
				t.Errorf("%d pieces, want %d", pieces, test.pieces)
			}
			r.Do(t, "del", test.name)
		})
	}
}

// A value of zeros, as SETBIT to a high offset makes it, has no bits.
func TestPiecesOfZeros(t *testing.T) {
	r := redistest.Start(t)
	s := connect(t, r.URL())
	for _, last := range []int64{0, pieceSize*8 - 1, pieceSize * 8, 40<<20*8 - 1} {
		r.Do(t, "setbit", "zeros", last, 0)
		if set, pieces, err := read(t.Context(), s, keyOf(t, r, "zeros")); len(set) > 0 || pieces > 2 || err != nil {
			t.Errorf("%v, %d pieces, %v", set, pieces, err)
		}
	}
}

// Random bitmaps, dense, sparse and with gaps, against a map.
func TestPiecesRandom(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	r := redistest.Start(t)
	s := connect(t, r.URL())
	for i := range 30 {
		want := map[uint64]bool{}
		var positions []int64
		for range 1 + rnd.IntN(4) {
			base, width := rnd.Int64N(1<<29), int64(1)<<rnd.IntN(25)
			for range rnd.IntN(3000) {
				p := base + rnd.Int64N(width)
				positions = append(positions, p)
				want[uint64(p)] = true
			}
		}
		if len(positions) == 0 {
			continue
		}
		name := "random" + strconv.Itoa(i)
		r.SetBits(t, name, positions...)
		set, _, err := read(t.Context(), s, keyOf(t, r, name))
		if err != nil || !slices.Equal(set, slices.Sorted(maps.Keys(want))) {
			t.Fatalf("seed %d, bitmap %d: %d bits, %v; want %d", seed, i, len(set), err, len(want))
		}
		r.Do(t, "del", name)
	}
}

// What happens to a value while it is read.
func TestPiecesMeanwhile(t *testing.T) {
	r := redistest.Start(t)
	s := connect(t, r.URL())
	for _, test := range []struct {
		name    string
		set     []int64
		change  func() // before the piece with this number from 0
		before  int
		want    redisbits.Reason
		wantSet []uint64
	}{
		{
			name: "gone before", set: []int64{1}, wantSet: nil, want: redisbits.Vanished,
			change: func() { r.Do(t, "del", "key") },
		}, {
			name: "gone between two pieces", set: []int64{1, pieceSize*8 + 1}, before: 1, wantSet: []uint64{1}, want: redisbits.Vanished,
			change: func() { r.Do(t, "del", "key") },
		}, {
			name: "gone within zeros", set: []int64{64 << 20}, before: 1, wantSet: nil, want: redisbits.Vanished,
			change: func() { r.Do(t, "del", "key") },
		}, {
			name: "replaced by a shorter one", set: []int64{1, 64 << 20}, before: 1, wantSet: []uint64{1}, want: redisbits.Vanished,
			change: func() { r.Do(t, "set", "key", "x") },
		}, {
			name: "a hash before", set: []int64{1}, want: redisbits.NotString,
			change: func() { r.Do(t, "del", "key"); r.Do(t, "hset", "key", "f", "v") },
		}, {
			name: "a hash within zeros", set: []int64{64 << 20}, before: 1, want: redisbits.NotString,
			change: func() { r.Do(t, "del", "key"); r.Do(t, "hset", "key", "f", "v") },
		}, {
			name: "grown before", set: []int64{1}, wantSet: []uint64{1, 5000},
			change: func() { r.SetBits(t, "key", 5000) },
		}, {
			name: "grown by pieces", set: []int64{1, pieceSize*8 - 1}, before: 1, wantSet: []uint64{1, pieceSize*8 - 1, 3*pieceSize*8 + 9},
			change: func() { r.SetBits(t, "key", 3*pieceSize*8+9) },
		}, {
			name: "grown within zeros", set: []int64{64 << 20}, before: 1, wantSet: []uint64{64 << 20, 1 << 30},
			change: func() { r.SetBits(t, "key", 1<<30) },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.Do(t, "del", "key")
			r.SetBits(t, "key", test.set...)
			k := keyOf(t, r, "key")
			if test.before == 0 {
				test.change()
			}
			var set []uint64
			var got error
			n := 0
			for p, err := range s.Pieces(t.Context(), k) {
				if got = err; err != nil {
					continue // that nothing follows is checked by the count
				}
				set = slices.AppendSeq(set, p.Bits())
				if n++; n == test.before {
					test.change()
				}
			}
			if why := reasonOf(t, got); why != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
			if !slices.Equal(set, test.wantSet) {
				t.Errorf("%v, want %v", set, test.wantSet)
			}
		})
	}
}

// What is a string, and no bitmap, is not read.
func TestPiecesForeign(t *testing.T) {
	r := redistest.Start(t)
	s := connect(t, r.URL())
	for _, test := range []struct {
		name    string
		command []any // after which the value stands at "key"
		want    redisbits.Reason
	}{
		{"a counter", []any{"incrby", "key", 18234}, redisbits.Counter},
		{"a sum", []any{"incrbyfloat", "key", "1234.5"}, redisbits.Counter},
		{"a number that was set", []any{"set", "key", "-7"}, redisbits.Counter},
		{"a HyperLogLog", []any{"pfadd", "key", "a", "b"}, redisbits.HyperLogLog},
		{"JSON", []any{"set", "key", `{"active":18234}`}, redisbits.Text},
		{"a long text", []any{"set", "key", strings.Repeat("x", 255) + strings.Repeat("é", 300_000)}, redisbits.Text},
		{"lines", []any{"set", "key", "a\tb\r\nc\td\r\ne\tfg\r\n"}, redisbits.Text},
		{"ids 2 and 3, the byte 0", []any{"bitfield", "key", "set", "u8", 0, '0'}, ""},
		{"a short value", []any{"set", "key", "@A"}, ""},
		{"a zero among text", []any{"set", "key", "abcdefghijklmnop\x00q"}, ""},
		{"no UTF-8 at the end", []any{"set", "key", "abcdefghijklmnop\xc3"}, ""},
		{"bits all set", []any{"set", "key", strings.Repeat("\xff", 300)}, ""},
		{"the start of a HyperLogLog", []any{"set", "key", "HYLL\x00\x00\x00\x00"}, ""},
		{"NaN", []any{"set", "key", "nan"}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r.Do(t, "del", "key")
			r.Do(t, test.command...)
			set, _, err := read(t.Context(), s, keyOf(t, r, "key"))
			if why := reasonOf(t, err); why != test.want || (why == "") == (len(set) == 0) {
				t.Errorf("%d bits, %v; want %q", len(set), err, test.want)
			}
		})
	}
}

// Reading ends soon after its context, though the server does not answer.
func TestInterruptPieces(t *testing.T) {
	r := redistest.Start(t)
	r.SetBits(t, "key", 1)
	s := connect(t, r.URL())
	k := keyOf(t, r, "key")
	r.Do(t, "client", "pause", 60_000, "all")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	start := time.Now()
	if _, _, err := read(ctx, s, k); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("interrupted after %v", took)
	}
}

// A connection that breaks is made again.
func TestReconnect(t *testing.T) {
	r := redistest.Start(t)
	r.SetBits(t, "key", 1, pieceSize*8)
	s := connect(t, r.URL())
	n := 0
	for p, err := range s.Pieces(t.Context(), keyOf(t, r, "key")) {
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			r.Do(t, "client", "kill", "skipme", "yes", "type", "normal")
		}
		for range p.Bits() {
			n++
		}
	}
	if n != 2 {
		t.Errorf("%d bits, want 2", n)
	}
}

// BenchmarkPieces reads 512 MiB, of zeros but for the last bit, and full.
func BenchmarkPieces(b *testing.B) {
	r := redistest.Start(b)
	r.SetBits(b, "zeros", 1<<32-1)
	r.Do(b, "set", "ones", strings.Repeat("\xff", 64<<20))
	s := connect(b, r.URL())
	for _, key := range []redisbits.Key{{Name: "zeros", Size: 1 << 29}, {Name: "ones", Size: 64 << 20}} {
		b.Run(key.Name, func(b *testing.B) {
			b.SetBytes(key.Size)
			for b.Loop() {
				last := int64(0)
				for p, err := range s.Pieces(b.Context(), key) {
					if err != nil {
						b.Fatal(err)
					}
					last = p.At + int64(len(p.Bytes))
				}
				if last != key.Size {
					b.Fatalf("read to %d, want %d", last, key.Size)
				}
			}
		})
	}
}
