package kernel

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
)

// FuzzPortable compares reading and writing of the serialization with roaring's
// own, on sets that a seed and a density make: arrays, bitsets and runs.
func FuzzPortable(f *testing.F) {
	for density := range 8 {
		f.Add(uint64(density), uint8(density), uint16(500*density))
	}
	f.Fuzz(func(t *testing.T, seed uint64, density uint8, n uint16) {
		rng := rand.New(rand.NewPCG(seed, 1))
		b := roaring.New()
		for range n {
			v := rng.Uint32() >> (density % 20)
			switch rng.IntN(20) {
			case 0:
				b.AddRange(uint64(v), uint64(v)+uint64(rng.IntN(9000)))
			default:
				b.Add(v)
			}
		}
		want := b.ToArray()
		for _, optimized := range []bool{false, true} {
			if optimized {
				b.RunOptimize()
			}
			bytes, err := b.ToBytes()
			if err != nil {
				t.Fatal(err)
			}
			p, ok := ParsePortable(bytes)
			if !ok {
				t.Fatalf("%d values: no header", len(want))
			}
			got, ok := p.Positions(nil)
			if !ok || !slices.Equal(got, want) {
				t.Fatalf("%d values read as %d, %t", len(want), len(got), ok)
			}
		}
		back := roaring.New()
		if _, err := back.FromBuffer(AppendPortable(nil, want)); err != nil {
			t.Fatal(err)
		}
		if err := back.Validate(); len(want) > 0 && err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back.ToArray(), want) {
			t.Fatalf("%d values written as %d", len(want), back.GetCardinality())
		}
	})
}

// FuzzPortableBytes reads bytes that are no serialization, or nearly one.
func FuzzPortableBytes(f *testing.F) {
	good, err := roaring.BitmapOf(1, 2, 70000).ToBytes()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(binary.LittleEndian.AppendUint64(nil, cookieNoRuns|1<<32))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, ok := ParsePortable(b)
		if !ok {
			return
		}
		got, ok := p.Positions(nil)
		if ok && !slices.IsSorted(got) {
			t.Fatalf("% x is read as out of order", b)
		}
		_, _ = p.Contains(70000)
	})
}
