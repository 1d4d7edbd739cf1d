package main

import (
	"context"
	"math"
	"slices"

	"cohort/placement"
)

var collisionsSection = section{
	name:  "collisions",
	title: "ids that share a placement, expected and counted",
	about: "Ids whose placement another one has already, of snowflakes spread over the whole range, and of snowflakes as services hand them out: 4 ms apart with random low bits, and in bursts of 1,000 in a millisecond, told apart by a counter. " +
		"Expected is n − m(1 − (1 − 1/m)ⁿ), m = 2³². A count of such events is off by about its square root, which is given as the deviation. " +
		"False overlap: two sets of ids that have no id in common, and how many placements they do.",
	run: runCollisions,
}

// snowflakes are ways to make up snowflake number i.
func snowflakes(seed uint64) []struct {
	name string
	of   func(i int) uint64
} {
	return []struct {
		name string
		of   func(i int) uint64
	}{
		{"spread out", func(i int) uint64 { return scramble(seed+seedIDs, uint64(i)) >> 1 }},
		{"4 ms apart", func(i int) uint64 {
			r := scramble(seed+seedIDs, uint64(i))
			return (uint64(1)<<38+uint64(i)*4+r>>62)<<22 | r&(1<<22-1)
		}},
		{"in bursts", func(i int) uint64 { return (uint64(1)<<38+uint64(i/1000)*977)<<22 | uint64(i%1000) }},
	}
}

func runCollisions(ctx context.Context, b *bench, r *result) error {
	t := r.table("snowflakes", "ids", "expected", "counted", "counted over expected", "deviations off")
	o := r.table("snowflakes", "two sets of", "false overlap expected", "counted", "counted over expected", "deviations off")
	worst := 0.0
	for _, s := range snowflakes(b.seed) {
		for _, n := range b.collisionSizes {
			if err := ctx.Err(); err != nil {
				return err
			}
			first, second := placedAt(s.of, 0, n), placedAt(s.of, n, n)
			want, got := placement.ExpectedColliding(float64(n)), n-len(first)
			off := (float64(got) - want) / math.Sqrt(want)
			worst = max(worst, math.Abs(off))
			t.row(s.name, n, want, got, float64(got)/want, off)
			overlap := len(first) + len(second) - distinct(first, second)
			want = placement.ExpectedFalseOverlap(float64(n), float64(n))
			off = (float64(overlap) - want) / math.Sqrt(want)
			worst = max(worst, math.Abs(off))
			o.row(s.name, n, want, overlap, float64(overlap)/want, off)
			b.logf("%s, %d ids", s.name, n)
		}
	}
	r.note("The worst of %d figures is %s deviations off; placements drawn at random would be off by 4 at the most. The hash of a snowflake is fixed: where it is not as if drawn, the formulas are off by as much as counted over expected says.", 2*len(b.collisionSizes)*3, figure(worst))
	return nil
}

// placedAt lists the placements of n snowflakes, ascending, each once.
func placedAt(of func(int) uint64, first, n int) []uint32 {
	at := make([]uint32, n)
	for i := range at {
		at[i] = placement.MixSnowflake(of(first + i)).Placement()
	}
	slices.Sort(at)
	return slices.Compact(at)
}
