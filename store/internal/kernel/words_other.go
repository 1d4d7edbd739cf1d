//go:build !amd64

package kernel

// countAnd returns the size of the intersection.
func countAnd(x, y *bitset) int { return countAndWords(x, y) }

// countOr4 returns the size of the union of four bitsets, of which any may be given
// twice.
func countOr4(w, x, y, z *bitset) int { return countOr4Words(w, x, y, z) }

// countArray returns how many positions of an array are set.
func (b *bitset) countArray(a []byte) int { return b.countArrayWords(a) }

// keepArray appends those positions of an array that are set to a slice that has
// room for all of them.
func (b *bitset) keepArray(to, a []byte) []byte { return b.keepArrayWords(to, a) }
