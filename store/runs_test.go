package store

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Lists that commits make one of another hold what a map does, and those before stay
// as they were.
func TestRuns(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	for _, positions := range []int{30, 3000, 1 << 20} { // few: most replace their equal
		var list runs[op]
		want := make(map[uint32]op)
		for range 300 {
			before, had := list, maps.Clone(want)
			list = list.own()
			for range random.IntN(40) {
				o := op{pos: uint32(random.IntN(positions)), set: random.IntN(2) == 0}
				list.put(o, compareOps)
				want[o.pos] = o
			}
			checkRuns(t, &before, had)
			if n := len(list.levels); len(list.levels[n-1]) >= shortMax(len(list.levels[n-2])) {
				t.Fatalf("seed %d: a commit would copy %d elements of %d", seed, len(list.levels[n-1]), list.size())
			}
		}
		checkRuns(t, &list, want)
	}
}

func checkRuns(t *testing.T, list *runs[op], want map[uint32]op) {
	t.Helper()
	got := list.all(compareOps)
	if sorted := slices.SortedFunc(maps.Values(want), compareOps); !slices.Equal(got, sorted) {
		t.Fatalf("%d elements, want %d", len(got), len(want))
	}
	c := &chunkOps{ops: *list}
	for pos := range uint32(30) {
		o, ok := want[pos]
		if a, there := list.get(op{pos: pos}, compareOps); a != o || there != ok {
			t.Fatalf("get %d: %v, %v, want %v, %v", pos, a, there, o, ok)
		}
		if a, there := c.get(pos, nil); a != o || there != ok {
			t.Fatalf("operation on %d: %v, %v, want %v, %v", pos, a, there, o, ok)
		}
	}
}
