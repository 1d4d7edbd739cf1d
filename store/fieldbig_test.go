package store_test

import "math/big"

// wideSum is a sum that does not overflow.
type wideSum struct{ n *big.Int }

func bigSum(a, b int64) wideSum {
	return wideSum{new(big.Int).Add(big.NewInt(a), big.NewInt(b))}
}

func (s wideSum) cmp(v int64) int { return s.n.Cmp(big.NewInt(v)) }

// wrap returns the number of a range that is the sum modulo its size.
func (s wideSum) wrap(low, high int64) int64 {
	size := new(big.Int).Sub(big.NewInt(high), big.NewInt(low))
	size.Add(size, big.NewInt(1))
	n := new(big.Int).Sub(s.n, big.NewInt(low))
	n.Mod(n, size) // Euclidean: never negative
	return n.Add(n, big.NewInt(low)).Int64()
}
