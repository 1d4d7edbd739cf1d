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
		var chunk chunkOps
		want := make(map[uint32]op)
		for range 300 {
			before, had := chunk, maps.Clone(want)
			chunk.ops = chunk.ops.own()
			for range random.IntN(40) {
				o := op{pos: uint32(random.IntN(positions)), set: random.IntN(2) == 0}
				chunk.put(o)
				want[o.pos] = o
			}
			checkRuns(t, &before, had)
			if l := chunk.ops.levels; len(l[len(l)-1]) >= shortMax(len(l[len(l)-2])) {
				t.Fatalf("seed %d: a commit would copy %d elements of %d", seed, len(l[len(l)-1]), chunk.size())
			}
		}
		checkRuns(t, &chunk, want)
	}
}

func checkRuns(t *testing.T, c *chunkOps, want map[uint32]op) {
	t.Helper()
	got := c.ops.all(compareOps)
	if sorted := slices.SortedFunc(maps.Values(want), compareOps); !slices.Equal(got, sorted) {
		t.Fatalf("%d elements, want %d", len(got), len(want))
	}
	check := func(pos uint32) {
		o, ok := want[pos]
		if a, there := c.ops.get(op{pos: pos}, compareOps); a != o || there != ok {
			t.Fatalf("get %d: %v, %v, want %v, %v", pos, a, there, o, ok)
		}
		if a, there := c.get(pos, nil); a != o || there != ok {
			t.Fatalf("operation on %d: %v, %v, want %v, %v", pos, a, there, o, ok)
		}
	}
	for pos := range uint32(30) {
		check(pos)
	}
	for i := 0; i < len(got); i += 1 + len(got)/30 {
		check(got[i].pos)
		check(got[i].pos ^ 1<<packedChunkBits) // of which the filter says the same
	}
}
