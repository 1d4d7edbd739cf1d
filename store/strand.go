package store

import (
	"encoding/binary"
	"math/bits"

	"cohort/store/internal/kernel"

	"github.com/RoaringBitmap/roaring/v2"
)

// A strand is one set of a chunk as a frame walks through it, container by
// container: the positions of a list, or roaring bytes where they lie.
type strand struct {
	column int
	filter bool

	list  []uint32 // what is left of a list, else nil
	bytes kernel.Portable
	next  int // container of bytes
	at    int // where it starts

	container
}

// container is the positions of a strand that have one upper half.
type container struct {
	key    uint32 // the upper half; noKey past the last
	card   int
	values []uint32 // of a list, else nil
	runs   []byte   // pairs of start and length − 1
	array  []byte   // lower halves
	bitset []byte
}

// noKey is above every upper half.
const noKey = 1 << 16

// strandOf returns the strand of a source, at its first container; ok is false where
// it has no bits.
func strandOf(column int, from source) (s strand, ok bool, err error) {
	s.column = column
	switch {
	case from.ops != nil:
		b, err := from.bitmap()
		if err != nil || b.IsEmpty() {
			return s, false, err
		}
		return s, true, s.ofBitmap(b)
	case from.chunk.kind == chunkRoaring:
		return s, true, s.ofBytes(from.chunk.data)
	}
	if s.list, err = from.positions(); err != nil || len(s.list) == 0 {
		return s, false, err
	}
	return s, true, s.advance()
}

// ofBitmap has the strand walk through a bitmap that is not empty.
func (s *strand) ofBitmap(b *roaring.Bitmap) error {
	data, err := b.ToBytes()
	if err != nil {
		return err
	}
	return s.ofBytes(data)
}

func (s *strand) ofBytes(data []byte) error {
	var ok bool
	if s.bytes, ok = kernel.ParsePortable(data); !ok || s.bytes.N == 0 {
		return errContainers
	}
	s.at = s.bytes.Body
	return s.advance()
}

var errContainers = corruptf("roaring bytes do not hold together")

// advance moves to the next container.
func (s *strand) advance() error {
	before := s.key
	if s.bytes.Data == nil {
		s.advanceList()
		return nil
	}
	p, i := s.bytes, s.next
	if i == p.N {
		s.container = container{key: noKey}
		if s.at != len(p.Data) {
			return errContainers
		}
		return nil
	}
	size, ok := p.Size(i, s.at)
	if !ok || s.at+size > len(p.Data) || i > 0 && uint32(p.Key(i)) <= before {
		return errContainers
	}
	data := p.Data[s.at : s.at+size]
	s.container = container{key: uint32(p.Key(i)), card: p.Card(i)}
	switch {
	case p.IsRuns(i):
		s.runs = data[2:]
	case s.card <= kernel.ArrayMax:
		s.array = data
	default:
		s.bitset = data
		if !hasBits(data, s.card) {
			return errContainers
		}
	}
	s.next, s.at = i+1, s.at+size
	return nil
}

func (s *strand) advanceList() {
	if len(s.list) == 0 {
		s.container = container{key: noKey}
		return
	}
	high, n := s.list[0]>>16, 1
	for n < len(s.list) && s.list[n]>>16 == high {
		n++
	}
	s.container = container{key: high, card: n, values: s.list[:n]}
	s.list = s.list[n:]
}

// hasBits reports whether a bitset has so many bits.
func hasBits(bitset []byte, card int) bool {
	n := 0
	for ; len(bitset) >= 8; bitset = bitset[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(bitset))
	}
	return n == card
}

// lows returns the lower halves of the positions, ascending, in dst, which has
// room for all there can be; false where the bytes do not hold together.
func (c *container) lows(dst []uint16) ([]uint16, bool) {
	dst = dst[:0]
	switch {
	case c.values != nil:
		for _, v := range c.values {
			dst = append(dst, uint16(v))
		}
	case c.runs != nil:
		for r := c.runs; len(r) >= 4; r = r[4:] {
			start, length := uint32(binary.LittleEndian.Uint16(r)), uint32(binary.LittleEndian.Uint16(r[2:]))
			if start+length >= containerBits || len(dst) > 0 && start <= uint32(dst[len(dst)-1]) {
				return nil, false
			}
			for v := start; v <= start+length; v++ {
				dst = append(dst, uint16(v))
			}
		}
	case c.array != nil:
		last := -1
		for a := c.array; len(a) >= 2; a = a[2:] {
			v := binary.LittleEndian.Uint16(a)
			if int(v) <= last {
				return nil, false
			}
			last = int(v)
			dst = append(dst, v)
		}
	default:
		for w := range containerWords {
			for word := binary.LittleEndian.Uint64(c.bitset[8*w:]); word != 0; word &= word - 1 {
				dst = append(dst, uint16(64*w+bits.TrailingZeros64(word)))
			}
		}
	}
	return dst, len(dst) == c.card
}
