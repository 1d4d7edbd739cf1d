package generate

import (
	"math/bits"
	"math/rand/v2"
)

// random is a stream of random numbers. It uses no more of package rand than the
// generator itself, whose numbers are specified, and never floating point, whose
// last digits differ between machines.
type random struct{ pcg *rand.PCG }

// newRandom returns the stream of a seed. Streams of one seed are independent.
func newRandom(seed, stream uint64) random { return random{rand.NewPCG(seed, stream)} }

// below returns a number from 0 to n-1. The multiplication maps 2⁶⁴ numbers to n
// with a bias of n/2⁶⁴, which nobody will see.
func (r random) below(n uint64) uint64 {
	high, _ := bits.Mul64(r.pcg.Uint64(), n)
	return high
}

// chance is true of part in a million.
func (r random) chance(part uint64) bool { return r.below(million) < part }

// pick returns the index of one of some weights.
func (r random) pick(weights []uint64) int {
	var sum uint64
	for _, w := range weights {
		sum += w
	}
	at := r.below(sum)
	for i, w := range weights {
		if at < w {
			return i
		}
		at -= w
	}
	panic("generate: weights do not add up") // at is below their sum
}

// more returns 1, and one more with each chance of part in a million, up to most.
func (r random) more(part uint64, most int) int {
	n := 1
	for n < most && r.chance(part) {
		n++
	}
	return n
}

const million = 1_000_000
