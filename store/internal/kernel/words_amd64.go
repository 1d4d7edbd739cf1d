package kernel

import "golang.org/x/sys/cpu"

//go:noescape
func countAndAVX2(x, y *bitset) int

//go:noescape
func countOr4AVX2(w, x, y, z *bitset) int

//go:noescape
func countBits(b *bitset, a *byte, n int) int

//go:noescape
func keepBits(b *bitset, to, a *byte, n int) int

// countArray returns how many positions of an array are set.
func (b *bitset) countArray(a []byte) int {
	if len(a) < 2 {
		return 0
	}
	return countBits(b, &a[0], len(a)/2)
}

// keepArray appends those positions of an array that are set to a slice that has
// room for all of them.
func (b *bitset) keepArray(to, a []byte) []byte {
	n := len(to)
	to = to[:n+len(a)]
	if len(a) < 2 {
		return to[:n]
	}
	return to[:n+2*keepBits(b, &to[n], &a[0], len(a)/2)]
}

// countAnd returns the size of the intersection.
func countAnd(x, y *bitset) int {
	if cpu.X86.HasAVX2 {
		return countAndAVX2(x, y)
	}
	return countAndWords(x, y)
}

// countOr4 returns the size of the union of four bitsets, of which any may be given
// twice.
func countOr4(w, x, y, z *bitset) int {
	if cpu.X86.HasAVX2 {
		return countOr4AVX2(w, x, y, z)
	}
	return countOr4Words(w, x, y, z)
}
