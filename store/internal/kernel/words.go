package kernel

import (
	"encoding/binary"
	"math/bits"
)

// The loops over the words of bitsets take a line of 32 bytes at a time: one check
// of bounds for four words.

// line is four words of a bitset.
type line [32]byte

func (b *bitset) line(i int) *line { return (*line)(b[i : i+32]) }

// words returns the four words of a line.
func (l *line) words() (a, b, c, d uint64) {
	return binary.LittleEndian.Uint64(l[0:]), binary.LittleEndian.Uint64(l[8:]), binary.LittleEndian.Uint64(l[16:]), binary.LittleEndian.Uint64(l[24:])
}

func (l *line) put(a, b, c, d uint64) {
	binary.LittleEndian.PutUint64(l[0:], a)
	binary.LittleEndian.PutUint64(l[8:], b)
	binary.LittleEndian.PutUint64(l[16:], c)
	binary.LittleEndian.PutUint64(l[24:], d)
}

func ones(a, b, c, d uint64) int {
	return bits.OnesCount64(a) + bits.OnesCount64(b) + bits.OnesCount64(c) + bits.OnesCount64(d)
}

// count returns how many bits are set.
func (b *bitset) count() (n int) {
	for i := 0; i < bitsetBytes; i += 32 {
		n += ones(b.line(i).words())
	}
	return n
}

// or adds another bitset and returns how many bits that set.
func (b *bitset) or(o *bitset) (added int) {
	for i := 0; i < bitsetBytes; i += 32 {
		l := b.line(i)
		x0, x1, x2, x3 := l.words()
		y0, y1, y2, y3 := o.line(i).words()
		added += ones(y0&^x0, y1&^x1, y2&^x2, y3&^x3)
		l.put(x0|y0, x1|y1, x2|y2, x3|y3)
	}
	return added
}

// setOr4 makes b the union of four bitsets, of which any may be b or given twice.
func (b *bitset) setOr4(w, x, y, z *bitset) {
	for i := 0; i < bitsetBytes; i += 32 {
		w0, w1, w2, w3 := w.line(i).words()
		x0, x1, x2, x3 := x.line(i).words()
		y0, y1, y2, y3 := y.line(i).words()
		z0, z1, z2, z3 := z.line(i).words()
		b.line(i).put(w0|x0|y0|z0, w1|x1|y1|z1, w2|x2|y2|z2, w3|x3|y3|z3)
	}
}

// countOr4Words is countOr4 a word at a time.
func countOr4Words(w, x, y, z *bitset) (n int) {
	for i := 0; i < bitsetBytes; i += 32 {
		w0, w1, w2, w3 := w.line(i).words()
		x0, x1, x2, x3 := x.line(i).words()
		y0, y1, y2, y3 := y.line(i).words()
		z0, z1, z2, z3 := z.line(i).words()
		n += ones(w0|x0|y0|z0, w1|x1|y1|z1, w2|x2|y2|z2, w3|x3|y3|z3)
	}
	return n
}

// countAndWords is countAnd a word at a time.
func countAndWords(x, y *bitset) (n int) {
	for i := 0; i < bitsetBytes; i += 32 {
		x0, x1, x2, x3 := x.line(i).words()
		y0, y1, y2, y3 := y.line(i).words()
		n += ones(x0&y0, x1&y1, x2&y2, x3&y3)
	}
	return n
}

// setAnd makes b the intersection and returns its size. Either may be b.
func (b *bitset) setAnd(x, y *bitset) (n int) {
	for i := 0; i < bitsetBytes; i += 32 {
		x0, x1, x2, x3 := x.line(i).words()
		y0, y1, y2, y3 := y.line(i).words()
		x0, x1, x2, x3 = x0&y0, x1&y1, x2&y2, x3&y3
		n += ones(x0, x1, x2, x3)
		b.line(i).put(x0, x1, x2, x3)
	}
	return n
}

// setAndNot makes b what x has and y has not, and returns its size. Either may
// be b.
func (b *bitset) setAndNot(x, y *bitset) (n int) {
	for i := 0; i < bitsetBytes; i += 32 {
		x0, x1, x2, x3 := x.line(i).words()
		y0, y1, y2, y3 := y.line(i).words()
		x0, x1, x2, x3 = x0&^y0, x1&^y1, x2&^y2, x3&^y3
		n += ones(x0, x1, x2, x3)
		b.line(i).put(x0, x1, x2, x3)
	}
	return n
}

// setXor makes b what one of both has, and returns its size. Either may be b.
func (b *bitset) setXor(x, y *bitset) (n int) {
	for i := 0; i < bitsetBytes; i += 32 {
		x0, x1, x2, x3 := x.line(i).words()
		y0, y1, y2, y3 := y.line(i).words()
		x0, x1, x2, x3 = x0^y0, x1^y1, x2^y2, x3^y3
		n += ones(x0, x1, x2, x3)
		b.line(i).put(x0, x1, x2, x3)
	}
	return n
}

// countArrayWords is countArray a position at a time.
func (b *bitset) countArrayWords(a []byte) (n int) {
	for ; len(a) >= 2; a = a[2:] {
		n += b.bit(binary.LittleEndian.Uint16(a))
	}
	return n
}

// keepArrayWords is keepArray a position at a time.
func (b *bitset) keepArrayWords(to, a []byte) []byte {
	n := len(to)
	to = to[:n+len(a)]
	for ; len(a) >= 2; a = a[2:] {
		v := binary.LittleEndian.Uint16(a)
		binary.LittleEndian.PutUint16(to[n:], v)
		n += 2 * b.bit(v)
	}
	return to[:n]
}
