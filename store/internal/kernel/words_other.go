//go:build !amd64

package kernel

// countAnd returns the size of the intersection.
func countAnd(x, y *bitset) int { return countAndWords(x, y) }

// countOr4 returns the size of the union of four bitsets, of which any may be given
// twice.
func countOr4(w, x, y, z *bitset) int { return countOr4Words(w, x, y, z) }
