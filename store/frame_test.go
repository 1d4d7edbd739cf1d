package store_test

import (
	"maps"
	"math/bits"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// frameColumn says what goes into a column: days of the one event, or a bitmap.
type frameColumn struct {
	first, last int // days
	filter      bool
	positions   map[uint32]bool
}

// TestFrames compares which positions are in which columns with sets in maps. A
// frame does not tell positions, so it compares how often each mask of columns
// comes about.
func TestFrames(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 5))
		db, err := store.Open(filepath.Join(t.TempDir(), "frames.db"), &store.Options{IDs: placement.Number})
		if err != nil {
			t.Fatal(err)
		}
		const days = 6
		first := db.Today() - days
		marked := fillFrames(t, rng, db, first, days)
		snap, err := db.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			columns := []frameColumn{{first: 1, last: 1 + rng.IntN(days)}}
			for range rng.IntN(5) {
				a := rng.IntN(days)
				columns = append(columns, frameColumn{first: a, last: a + rng.IntN(days-a), filter: rng.IntN(3) == 0})
			}
			columns = append(columns, frameColumn{first: 1, filter: true, positions: randomPositions(rng)})
			want := wantMasks(columns, marked)
			got := frameMasks(t, snap, columns, first)
			if !maps.Equal(got, want) {
				t.Errorf("seed %d, columns %+v:\ngot  %v\nwant %v", seed, columns, got, want)
			}
		}
		if err := snap.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// randomPositions are some that lie apart, next to each other, and densely, at the
// edges of containers and of chunks.
func randomPositions(rng *rand.Rand) map[uint32]bool {
	set := map[uint32]bool{}
	for range rng.IntN(4) {
		base := []uint32{0, 1 << 16, 5 << 16, 1 << 19, 1<<32 - 1<<16}[rng.IntN(5)]
		switch rng.IntN(4) {
		case 0: // a run, up to the end of its container
			from := rng.Uint32N(1 << 16)
			for p := from; p < min(from+rng.Uint32N(20_000), 1<<16); p++ {
				set[base+p] = true
			}
		case 1: // a bitset
			for range 6_000 + rng.IntN(8_000) {
				set[base+rng.Uint32N(1<<16)] = true
			}
		default:
			for range rng.IntN(700) {
				set[base+rng.Uint32N(1<<16)] = true
			}
		}
	}
	return set
}

// fillFrames marks random positions on each of some days, and leaves some of it
// unfolded.
func fillFrames(t *testing.T, rng *rand.Rand, db *store.DB, first store.Day, days int) []map[uint32]bool {
	marked := make([]map[uint32]bool, days)
	l, err := db.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range days {
		marked[i] = randomPositions(rng)
		for p := range marked[i] {
			if err := l.Add("e", strconv.FormatUint(uint64(p), 10), first+store.Day(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for range rng.IntN(60) {
		if rng.IntN(30) == 0 {
			if err := db.Remember(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		i, p := rng.IntN(days), rng.Uint32N(1<<17)
		id, d := strconv.FormatUint(uint64(p), 10), first+store.Day(i)
		if all := slices.Collect(maps.Keys(marked[i])); len(all) > 0 && rng.IntN(2) == 0 {
			p = all[rng.IntN(len(all))]
			id = strconv.FormatUint(uint64(p), 10)
			if _, err := db.Unmark(t.Context(), "e", id, d); err != nil {
				t.Fatal(err)
			}
			delete(marked[i], p)
			continue
		}
		if _, err := db.Mark(t.Context(), "e", id, d); err != nil {
			t.Fatal(err)
		}
		marked[i][p] = true
	}
	return marked
}

// wantMasks counts, for each set of columns, the positions that are in them.
func wantMasks(columns []frameColumn, marked []map[uint32]bool) map[uint64]int {
	masks, placed := map[uint32]uint64{}, map[uint32]bool{}
	for k, c := range columns {
		for i := c.first; i <= c.last; i++ {
			for p := range marked[min(i, len(marked)-1)] {
				masks[p] |= 1 << k
				placed[p] = placed[p] || !c.filter
			}
		}
		for p := range c.positions {
			masks[p] |= 1 << k
		}
	}
	counts := map[uint64]int{}
	for p, mask := range masks {
		if placed[p] {
			counts[mask]++
		}
	}
	return counts
}

func frameMasks(t *testing.T, snap *store.Snapshot, columns []frameColumn, first store.Day) map[uint64]int {
	e, _, err := snap.Event("e")
	if err != nil {
		t.Fatal(err)
	}
	f := snap.Frames(len(columns))
	filters := map[int]*roaring.Bitmap{}
	var onlyFilters uint64 // what is in these columns alone may be left out
	for k, c := range columns {
		p := store.Period{First: first + store.Day(c.first), Last: first + store.Day(c.last)}
		add := f.Add
		if c.filter {
			onlyFilters |= 1 << k
			add = f.Filter
		}
		if err := add(k, e, p); err != nil {
			t.Fatal(err)
		}
		if c.positions != nil {
			filters[k] = roaring.BitmapOf(slices.Collect(maps.Keys(c.positions))...)
			filters[k].RunOptimize()
		}
	}
	numbers, err := snap.ChunkNumbers(e, store.Period{First: store.MinDay, Last: store.MaxDay})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[uint64]int{}
	for _, n := range numbers {
		inChunk := map[int]*roaring.Bitmap{}
		for k, b := range filters {
			whole := roaring.New()
			whole.AddRange(uint64(n)<<snap.ChunkBits(), uint64(n+1)<<snap.ChunkBits())
			inChunk[k] = roaring.And(b, whole)
		}
		if err := f.Open(n, inChunk); err != nil {
			t.Fatal(err)
		}
		for f.Next() {
			places := map[int]uint64{}
			for k := range columns {
				for w, word := range f.Column(k) {
					for ; word != 0; word &= word - 1 {
						places[64*w+bits.TrailingZeros64(word)] |= 1 << k
					}
				}
			}
			for _, mask := range places {
				if mask&^onlyFilters != 0 {
					counts[mask]++
				}
			}
		}
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return counts
}
