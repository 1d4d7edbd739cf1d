package kernel

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// kind is how the positions of a container are written.
type kind uint8

const (
	array  kind = iota // ascending u16
	bitmap             // a bitset of 8 KiB
	runs               // (start, length−1) pairs of u16, ascending
)

// container is part of a set: positions with a common upper half, by their lower.
type container struct {
	data []byte // of runs, the pairs alone
	card int32  // at least 1
	kind kind
}

// full is the cardinality of a container that has all positions.
const full = 1 << 16

func (c container) bits() *bitset { return (*bitset)(c.data) }

// has reports whether a container has a position.
func (c container) has(v uint16) bool {
	switch c.kind {
	case bitmap:
		return c.bits().has(v)
	case runs:
		return runsContain(c.data, v)
	}
	n := len(c.data) / 2
	i := sort.Search(n, func(i int) bool { return binary.LittleEndian.Uint16(c.data[2*i:]) >= v })
	return i < n && binary.LittleEndian.Uint16(c.data[2*i:]) == v
}

// addTo sets the container's bits and returns how many were not set before.
func (c container) addTo(b *bitset) (added int) {
	switch c.kind {
	case bitmap:
		return b.or(c.bits())
	case runs:
		for r := c.data; len(r) >= 4; r = r[4:] {
			start, length := run(r)
			added += b.setRange(start, start+length)
		}
		return added
	}
	return b.setArray(c.data)
}

// run reads one run: its first position, and how many follow.
func run(r []byte) (start, length uint32) {
	return uint32(binary.LittleEndian.Uint16(r)), uint32(binary.LittleEndian.Uint16(r[2:]))
}

// bitset is the bits of a container, as they are stored: bit v%8 of byte v/8.
type bitset [bitsetBytes]byte

func (b *bitset) has(v uint16) bool { return b.bit(v) != 0 }

// bit is 1 where the bit is set, without a branch.
func (b *bitset) bit(v uint16) int { return int(b[v>>3] >> (v & 7) & 1) }

// setArray sets the bits of an array and returns how many were not set before.
func (b *bitset) setArray(a []byte) (added int) {
	for ; len(a) >= 2; a = a[2:] {
		v := binary.LittleEndian.Uint16(a)
		at := int(v>>6) * 8
		w := binary.LittleEndian.Uint64(b[at:])
		added += int(^w >> (v & 63) & 1)
		binary.LittleEndian.PutUint64(b[at:], w|1<<(v&63))
	}
	return added
}

// clearArray clears the bits of an array and returns how many were set before.
func (b *bitset) clearArray(a []byte) (removed int) {
	for ; len(a) >= 2; a = a[2:] {
		v := binary.LittleEndian.Uint16(a)
		at := int(v>>6) * 8
		w := binary.LittleEndian.Uint64(b[at:])
		removed += int(w >> (v & 63) & 1)
		binary.LittleEndian.PutUint64(b[at:], w&^(1<<(v&63)))
	}
	return removed
}

// setRange sets the bits from first to last, at most 65535, and returns how many
// were not set before.
func (b *bitset) setRange(first, last uint32) (added int) {
	last = min(last, full-1)
	for v := first; v <= last; {
		at, end := int(v>>6)*8, min(v|63, last)
		mask := ^uint64(0) << (v & 63) & (^uint64(0) >> (63 - end&63))
		w := binary.LittleEndian.Uint64(b[at:])
		added += bits.OnesCount64(mask &^ w)
		binary.LittleEndian.PutUint64(b[at:], w|mask)
		v = end + 1
	}
	return added
}

// appendArray appends the positions whose bits are set, as an array.
func (b *bitset) appendArray(to []byte) []byte {
	for i := 0; i < bitsetBytes; i += 8 {
		for w := binary.LittleEndian.Uint64(b[i:]); w != 0; w &= w - 1 {
			to = binary.LittleEndian.AppendUint16(to, uint16(8*i+bits.TrailingZeros64(w)))
		}
	}
	return to
}
