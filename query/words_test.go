package query

import (
	"math/rand/v2"
	"testing"
)

// TestTally compares with counts kept one by one.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	var sums tally
	for _, columns := range []int{1, 2, 3, 7, 8, 31, 64, 200} {
		const words = 5
		sums.reset(words, columns)
		counts := make([]int, 64*words)
		for range columns {
			column := make([]uint64, words)
			for i := range counts {
				if rng.IntN(1+i%64) == 0 { // the first always, the last seldom
					column[i/64] |= 1 << (i % 64)
					counts[i]++
				}
			}
			sums.add(column)
			sums.add(nil)
		}
		want := make([]uint64, columns+1)
		for _, n := range counts {
			want[n]++
		}
		want[0] = 0
		got := make([]uint64, columns+1)
		sums.addTo(got)
		for k := range want {
			if got[k] != want[k] {
				t.Errorf("%d columns: %d bits were in %d, want %d", columns, got[k], k, want[k])
			}
		}
	}
}

// TestLanes compares unions of columns with those made one by one.
func TestLanes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 8))
	for n := range 40 {
		columns := make([][]uint64, n)
		for i := range columns {
			if rng.IntN(3) > 0 {
				columns[i] = []uint64{rng.Uint64() & rng.Uint64() & rng.Uint64(), 1 << rng.IntN(64)}
			}
		}
		union := func(from, to int) (all [2]uint64) {
			for _, c := range columns[from:min(to, n)] {
				if c != nil {
					all[0], all[1] = all[0]|c[0], all[1]|c[1]
				}
			}
			return all
		}
		check := func(l *lanes, what string, width int) {
			for i := range n {
				got, want := [2]uint64{}, union(i, i+width)
				if copy(got[:], l.sets[i]); got != want {
					t.Errorf("%s %d of %d columns: lane %d is %x, want %x", what, width, n, i, got, want)
				}
			}
		}
		var l lanes
		fill := func() {
			for i, c := range columns {
				l.set(i, c)
			}
			l.width = 1
		}
		fill()
		width := 1
		for range 3 {
			width += rng.IntN(20)
			l.widen(width)
			check(&l, "widen", width)
		}
		fill()
		l.accumulate()
		check(&l, "accumulate", n)
	}
}
