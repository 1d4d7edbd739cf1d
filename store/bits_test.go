package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// TestBits compares sets worked out on stored bytes and unfolded marks with
// roaring's operations on whole days: of branded ids, thin and in lists, and of
// numbers, with bitsets and runs; in a dense store with others; folded in part.
func TestBits(t *testing.T) {
	for _, opts := range []*store.Options{inHashed(options(placement.Branded)), inDense(options(placement.Branded)), options(placement.Number)} {
		kind := opts.IDs
		t.Run(fmt.Sprint(kind, " ", opts.Positions), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 1))
			db, err := store.Open(t.TempDir()+"/positions.db", opts)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			days := fillDays(t, db, kind, rng)
			snap, err := db.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			defer snap.Close()
			e, _, err := snap.Event("act")
			if err != nil {
				t.Fatal(err)
			}
			for d, ids := range days {
				if days[d], err = positionsOfIDs(snap, kind, ids); err != nil {
					t.Fatal(err)
				}
			}
			for range alone(12) {
				compareBits(t, snap, e, days, rng)
			}
		})
	}
}

// numbered is the id of a number.
func numbered(kind placement.Kind, n uint64) string {
	if kind == placement.Number {
		return fmt.Sprint(n)
	}
	return branded("USR", n)
}

// positionsOfIDs returns where the ids of some numbers stand.
func positionsOfIDs(snap *store.Snapshot, kind placement.Kind, numbers *roaring.Bitmap) (*roaring.Bitmap, error) {
	at := roaring.New()
	for _, n := range numbers.ToArray() {
		pos, ok, err := snap.Position(numbered(kind, uint64(n)))
		if err != nil || !ok {
			return nil, fmt.Errorf("id %d: %t, %w", n, ok, err)
		}
		at.Add(pos)
	}
	return at, nil
}

// fillDays marks random ids on some days, folds, then marks and unmarks more. It
// returns the numbers of the ids that each day has.
func fillDays(t *testing.T, db *store.DB, kind placement.Kind, rng *rand.Rand) []*roaring.Bitmap {
	t.Helper()
	days := make([]*roaring.Bitmap, 8)
	change := func(d int, n uint64, set bool) {
		var err error
		if set {
			_, err = db.Mark(ctx, "act", numbered(kind, n), today-store.Day(d))
			days[d].Add(uint32(n))
		} else {
			_, err = db.Unmark(ctx, "act", numbered(kind, n), today-store.Day(d))
			days[d].Remove(uint32(n))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	l, err := db.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for d := range days {
		days[d] = roaring.New()
		if d == 7 {
			break // only in the journal
		}
		for n := range uint64(20_000) {
			one := []uint64{1, 2, 3, 30, 300, 5000}[d%6]
			if kind == placement.Number && n > 12_000 {
				n = n * 30 // over more containers
			}
			if rng.Uint64N(one) > 0 {
				continue
			}
			days[d].Add(uint32(n))
			if err := l.Add("act", numbered(kind, n), today-store.Day(d)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		change(rng.IntN(8), rng.Uint64N(25_000), rng.IntN(2) == 0)
	}
	return days
}

// compareBits compares one random expression.
func compareBits(t *testing.T, snap *store.Snapshot, e store.Event, days []*roaring.Bitmap, rng *rand.Rand) {
	t.Helper()
	leaf := func() (*store.Bits, *roaring.Bitmap) {
		first := rng.IntN(8)
		last := min(first+rng.IntN(3), 7) // days before today
		want := roaring.FastOr(days[first : last+1]...)
		if rng.IntN(5) == 0 {
			bits := snap.ChunkBits()
			return snap.Computed(func(c uint32) (*roaring.Bitmap, error) {
				part := roaring.New()
				part.AddRange(uint64(c)<<bits, uint64(c+1)<<bits)
				part.And(want)
				return part, nil
			}), want
		}
		x, err := snap.Marked(e, store.Period{First: today - store.Day(last), Last: today - store.Day(first)})
		if err != nil {
			t.Fatal(err)
		}
		return x, want
	}
	var sets []*store.Bits
	var wants []*roaring.Bitmap
	for range 1 + rng.IntN(4) {
		x, want := leaf()
		for range rng.IntN(3) {
			y, other := leaf()
			switch rng.IntN(4) {
			case 0:
				x, want = x.And(y), roaring.And(want, other)
			case 1:
				x, want = x.AndNot(y), roaring.AndNot(want, other)
			case 2:
				x, want = x.Xor(y), roaring.Xor(want, other)
			default:
				x, want = y.Or(x), roaring.Or(want, other)
			}
		}
		sets, wants = append(sets, x), append(wants, want)
	}
	comparePrefixes(t, snap, sets, wants)
	compareSet(t, chunksOf(snap), "the first set", sets[0], wants[0])
}

// chunksOf are the numbers of all chunks that a store may have.
func chunksOf(snap *store.Snapshot) []uint32 {
	all := make([]uint32, 1<<(32-snap.ChunkBits()))
	for i := range all {
		all[i] = uint32(i)
	}
	return all
}

// compareSet compares a set within some chunks, counted and written down.
func compareSet(t *testing.T, chunks []uint32, what string, x *store.Bits, want *roaring.Bitmap) {
	t.Helper()
	var count uint64
	got := roaring.New()
	for _, c := range chunks {
		n, err := x.Count(c)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		part, err := x.Bitmap(c)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		count += n
		got.Or(part)
	}
	if count != want.GetCardinality() || !got.Equals(want) {
		t.Fatalf("%s: count %d, %d positions, want %d", what, count, got.GetCardinality(), want.GetCardinality())
	}
}

// comparePrefixes compares prefixes over all chunks.
func comparePrefixes(t *testing.T, snap *store.Snapshot, sets []*store.Bits, wants []*roaring.Bitmap) {
	t.Helper()
	reached, sizes := make([]uint64, len(sets)), make([]uint64, len(sets))
	for c := range uint32(1) << (32 - snap.ChunkBits()) {
		if err := store.Prefixes(sets, c, reached, sizes); err != nil {
			t.Fatal(err)
		}
	}
	prefix := wants[0].Clone()
	for k, want := range wants {
		prefix.And(want)
		if n := prefix.GetCardinality(); reached[k] != n || sizes[k] != want.GetCardinality() {
			t.Fatalf("step %d: reached %d, want %d; size %d, want %d", k, reached[k], n, sizes[k], want.GetCardinality())
		}
	}
}
