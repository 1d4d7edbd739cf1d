package placement

import "math"

// Placements is the number of placements, m in the formulas below.
const Placements = 1 << 32

// ExpectedColliding returns how many of n ids a count over placements is
// expected to lose: n less the expected number of distinct placements,
//
//	n − m(1 − (1 − 1/m)ⁿ)
//
// where each id stands at any placement with equal chance, independently of the
// others (the classical occupancy problem: Feller, An Introduction to
// Probability Theory and Its Applications, vol. 1). It is about n²/2m while n is
// much smaller than m: 116 for 10⁶ ids, 11.6 thousand for 10⁷, 1.16 million for
// 10⁸. The result is right to 13 digits; up to one id it is 0. It applies
// to branded and string ids; number ids never collide.
func ExpectedColliding(n float64) float64 { return expectedColliding(n, Placements) }

func expectedColliding(n, m float64) float64 {
	if n <= 1 {
		return 0
	}
	if n >= m/16 {
		return n + m*math.Expm1(n*math.Log1p(-1/m))
	}
	// Below m/16 that sum would cancel: at n = 2 it would lose every digit.
	// Here the binomial series of m(1 − 1/m)ⁿ converges fast, and its first two
	// terms, m − n, are those that cancel: what is left is ∑ C(n,k)(−1)ᵏm¹⁻ᵏ
	// over k ≥ 2. Each term is less than 1/48 of the one before.
	term := n * (n - 1) / (2 * m)
	sum := term
	for k := 2.0; math.Abs(term) > 1e-17*sum; k++ {
		term *= -(n - k) / ((k + 1) * m)
		sum += term
	}
	return sum
}

// IDsBehind returns how many ids are expected to stand behind an observed count
// of placements: the n whose expected number of distinct placements it is,
//
//	n = ln(1 − placements/m) / ln(1 − 1/m)
//
// This is linear counting (Whang, Vander-Zanden and Taylor, A Linear-Time
// Probabilistic Counting Algorithm for Database Applications, ACM TODS 15(2),
// 1990) with the exact ln(1 − 1/m) in place of their limit −1/m. A count of 0 or
// less gives 0, and 1 gives 1. A full bitmap tells nothing about how many ids
// filled it: from m up the result is +Inf.
func IDsBehind(placements float64) float64 { return idsBehind(placements, Placements) }

func idsBehind(placements, m float64) float64 {
	switch {
	case placements <= 0:
		return 0
	case placements >= m:
		return math.Inf(1)
	}
	return math.Log1p(-placements/m) / math.Log1p(-1/m)
}

// ExpectedFalseOverlap returns how many placements two sets of a and b
// placements are expected to share if they have no id in common and are
// independent: a·b/m, since each placement of the one is in the other with
// chance b/m (the mean of the hypergeometric distribution). It is what an
// intersection over placements over-counts by: 23 thousand for 10⁷ and 10⁷.
func ExpectedFalseOverlap(a, b float64) float64 { return a * (b / Placements) }
