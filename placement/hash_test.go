package placement_test

import (
	"math"
	"math/bits"
	"testing"

	"cohort/placement"
)

// The hashes of ids that differ little are uniform in the bits that sketches read:
// the high 14, and the zeros behind them.
func TestHashIsUniform(t *testing.T) {
	const n, slots = 1 << 18, 1 << 14
	for _, ids := range []struct {
		name string
		id   func(i uint64) placement.Mixed
	}{
		{"numbers", func(i uint64) placement.Mixed { return placement.Mixed(i) }},
		{"snowflakes of one machine", func(i uint64) placement.Mixed { return placement.MixSnowflake(i<<22 | 5<<12) }},
		{"snowflakes of one millisecond", func(i uint64) placement.Mixed { return placement.MixSnowflake(1<<61 | i) }},
	} {
		var slot [slots]float64
		var zeros [65]float64
		seen := make(map[uint64]bool, n)
		for i := range uint64(n) {
			h := ids.id(i).Hash()
			seen[h] = true
			slot[h>>50]++
			zeros[bits.LeadingZeros64(h<<14)]++
		}
		if len(seen) != n {
			t.Errorf("%s: %d hashes of %d ids", ids.name, len(seen), n)
		}
		// Pearson's chi-squared of k cells is about normal: mean k−1, variance 2(k−1).
		chi := 0.0
		for _, c := range slot {
			chi += (c - n/slots) * (c - n/slots) / (n / slots)
		}
		if z := (chi - (slots - 1)) / math.Sqrt(2*(slots-1)); math.Abs(z) > 5 {
			t.Errorf("%s: the high bits are %.1f standard deviations from uniform", ids.name, z)
		}
		for k, c := range zeros[:10] {
			want := n / float64(uint64(2)<<k)
			if math.Abs(c-want) > 5*math.Sqrt(want) {
				t.Errorf("%s: %v hashes have %d zeros, want about %v", ids.name, c, k, want)
			}
		}
	}
}
