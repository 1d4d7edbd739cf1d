package store_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// comparedField is a field and what it should hold, by the number of an id.
type comparedField struct {
	store.Field
	shift  int // values are that many bits shorter than the field has
	values map[uint64]int64
}

// TestFieldBetween compares comparisons of values with a map, of fields of any width:
// of ids hashed, thin; dense, in bitsets; and numbers, in runs; in slices alone, with
// values that are not folded, or with these alone.
func TestFieldBetween(t *testing.T) {
	for _, opts := range []*store.Options{inHashed(options(placement.Branded)), inDense(options(placement.Branded)), options(placement.Number)} {
		t.Run(fmt.Sprint(opts.IDs, " ", opts.Positions), func(t *testing.T) {
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			rng := rand.New(rand.NewPCG(seed, 1))
			db := mustOpen(t, t.TempDir()+"/fields.db", opts)
			defer mustClose(t, db)
			var fields []*comparedField
			for i, bits := range []int{1 + rng.IntN(3), 8, 1 + rng.IntN(63), 63} {
				f, err := db.DefineField(ctx, fmt.Sprint("f", i), store.FieldOptions{Bits: bits, Signed: rng.IntN(2) == 0})
				if err != nil {
					t.Fatal(err)
				}
				fields = append(fields, &comparedField{f, rng.IntN(2) * rng.IntN(bits), map[uint64]int64{}})
			}
			for i, f := range fields {
				values := make(map[string]int64)
				for n := range uint64(7000) {
					if i == 0 && n >= 5000 && n < 6000 || i == 1 && n%9 > 0 || i == 2 && n < 6500 || opts.Positions == store.Hashed && n%4 > 0 {
						continue
					}
					f.values[n] = f.value(rng)
					values[numbered(opts.IDs, n)] = f.values[n]
				}
				if i == 3 { // in the journal alone
					f.values = map[uint64]int64{}
				} else if _, err := db.SetFieldMany(ctx, f.Name, maps.All(values)); err != nil {
					t.Fatal(err)
				}
			}
			compareFields(t, db, fields, rng)
			for range 200 {
				f, n := fields[rng.IntN(len(fields))], rng.Uint64N(8000)
				err := error(nil)
				if rng.IntN(3) == 0 {
					delete(f.values, n)
					err = db.ClearField(ctx, f.Name, numbered(opts.IDs, n))
				} else {
					f.values[n] = f.value(rng)
					err = db.SetField(ctx, f.Name, numbered(opts.IDs, n), f.values[n])
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			compareFields(t, db, fields, rng)
			if err := db.Fold(ctx); err != nil {
				t.Fatal(err)
			}
			compareFields(t, db, fields, rng)
		})
	}
}

func (f *comparedField) value(rng *rand.Rand) int64 {
	low, high := f.Limits()
	if rng.IntN(20) == 0 {
		return []int64{low, high, 0, max(low, -1)}[rng.IntN(4)]
	}
	return (low + int64(rng.Uint64N(uint64(high-low)+1))) >> f.shift
}

// bound is what a value may be compared with, also none that one can be.
func (f *comparedField) bound(rng *rand.Rand) int64 {
	low, high := f.Limits()
	switch rng.IntN(5) {
	case 0:
		return []int64{math.MinInt64, math.MaxInt64, low, high, low - 1, low + 1, high - 1, 0, -1, 1}[rng.IntN(10)]
	case 1:
		return (1<<rng.IntN(f.Bits) + int64(rng.IntN(3)) - 1) * int64(1-2*rng.IntN(2))
	}
	return f.value(rng)
}

// compareFields compares ranges of random bounds, alone and of two fields at once.
func compareFields(t *testing.T, db *store.DB, fields []*comparedField, rng *rand.Rand) {
	t.Helper()
	snap, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, snap)
	positions := make(map[uint64]uint32)
	for n := range uint64(8000) {
		pos, ok, err := snap.Position(numbered(snap.Config().IDs, n))
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			positions[n] = pos
		}
	}
	chunks, within := []uint32{7}, roaring.New() // a chunk of no field, maybe
	between := func(f *comparedField, low, high int64) (*store.Bits, *roaring.Bitmap) {
		field, ok, err := snap.Field(f.Name)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		x, err := snap.FieldBetween(field, low, high)
		if err != nil {
			t.Fatal(err)
		}
		want := roaring.New()
		for n, v := range f.values {
			if v >= low && v <= high {
				want.Add(positions[n])
			}
		}
		want.And(within)
		return x, want
	}
	for _, f := range fields {
		numbers, err := snap.FieldChunkNumbers(f.Field)
		if err != nil {
			t.Fatal(err)
		}
		chunks = append(chunks, numbers...)
	}
	slices.Sort(chunks)
	chunks = slices.Compact(chunks)
	rng.Shuffle(len(chunks), func(i, j int) { chunks[i], chunks[j] = chunks[j], chunks[i] })
	chunks = chunks[:min(len(chunks), 20)]
	for _, c := range chunks {
		within.AddRange(uint64(c)<<snap.ChunkBits(), uint64(c+1)<<snap.ChunkBits())
	}
	for _, f := range fields {
		low, high := f.Limits()
		x, want := between(f, low, high)
		compareSet(t, chunks, fmt.Sprintf("all of %v", f.Field), x, want)
		for range 10 {
			low, high := f.bound(rng), f.bound(rng)
			if rng.IntN(3) == 0 {
				high = low
			}
			what := fmt.Sprintf("%v from %d to %d", f.Field, low, high)
			x, want := between(f, low, high)
			compareSet(t, chunks, what, x, want)
			other := fields[rng.IntN(len(fields))]
			y, also := between(other, other.bound(rng), math.MaxInt64)
			compareSet(t, chunks, what+", and another", x.And(y), roaring.And(want, also))
			compareSet(t, chunks, what+", less another", x.AndNot(y), roaring.AndNot(want, also))
		}
	}
}
