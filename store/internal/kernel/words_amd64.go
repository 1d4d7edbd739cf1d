package kernel

import "golang.org/x/sys/cpu"

//go:noescape
func countAndAVX2(x, y *bitset) int

//go:noescape
func countOr4AVX2(w, x, y, z *bitset) int

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
