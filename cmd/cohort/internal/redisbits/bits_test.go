package redisbits_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cohort/cmd/cohort/internal/redisbits"
)

// bitsOf reads bits one by one, as GETBIT does.
func bitsOf(p redisbits.Piece) []uint64 {
	var set []uint64
	for i, b := range p.Bytes {
		for bit := range 8 {
			if b>>(7-bit)&1 == 1 {
				set = append(set, uint64(p.At+int64(i))*8+uint64(bit))
			}
		}
	}
	return set
}

func TestBits(t *testing.T) {
	for _, test := range []struct {
		name  string
		piece redisbits.Piece
		want  []uint64
	}{
		{"nothing", redisbits.Piece{}, nil},
		{"first", redisbits.Piece{Bytes: []byte{0x80}}, []uint64{0}},
		{"last of a byte", redisbits.Piece{Bytes: []byte{0x01}}, []uint64{7}},
		{"a word and a byte", redisbits.Piece{Bytes: []byte{0x80, 0, 0, 0, 0, 0, 0, 0x01, 0x40}}, []uint64{0, 63, 65}},
		{"further on", redisbits.Piece{At: 3, Bytes: []byte{0, 0x10}}, []uint64{35}},
		{"the last position", redisbits.Piece{At: 1<<29 - 1, Bytes: []byte{0x01}}, []uint64{1<<32 - 1}},
		{"past it", redisbits.Piece{At: 1 << 29, Bytes: []byte{0x80}}, []uint64{1 << 32}},
	} {
		if got := slices.Collect(test.piece.Bits()); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestBitsStopsEarly(t *testing.T) {
	p := redisbits.Piece{Bytes: []byte{0xff, 0, 0, 0, 0, 0, 0, 0, 0xff}}
	for stop := range 16 {
		n := 0
		for range p.Bits() {
			if n++; n > stop {
				break
			}
		}
		if n != stop+1 {
			t.Errorf("%d bits before a break at %d", n, stop)
		}
	}
}

func FuzzBits(f *testing.F) {
	f.Add(int64(0), []byte{1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add(int64(1<<29-8), []byte{0, 0, 0, 0, 0, 0, 0, 0x81})
	f.Fuzz(func(t *testing.T, at int64, b []byte) {
		p := redisbits.Piece{At: at & (1<<30 - 1), Bytes: b}
		if got, want := slices.Collect(p.Bits()), bitsOf(p); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func BenchmarkBits(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	dense := redisbits.Piece{Bytes: make([]byte, 512<<10)}
	sparse := redisbits.Piece{Bytes: make([]byte, 512<<10)}
	for i := range dense.Bytes {
		dense.Bytes[i] = byte(r.Uint32())
	}
	sparse.Bytes[7] = 1
	for _, bench := range []struct {
		name  string
		piece redisbits.Piece
	}{{"half", dense}, {"one", sparse}} {
		b.Run(bench.name, func(b *testing.B) {
			want := len(bitsOf(bench.piece))
			b.SetBytes(int64(len(bench.piece.Bytes)))
			n := 0
			for b.Loop() {
				n = 0
				for range bench.piece.Bits() {
					n++
				}
			}
			if n != want {
				b.Fatalf("%d bits, want %d", n, want)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/bit")
		})
	}
}
