package kernel

import (
	"encoding/binary"
	"math/bits"
	"sort"
)

// Reading of roaring's portable serialization in place, without building a
// bitmap. The layout is that of the RoaringFormatSpec: a cookie, a header of
// (key, cardinality−1) pairs of u16, container offsets of u32, and the
// containers: sorted u16 arrays up to 4096 values, 8 KiB bitsets, or runs.

// ArrayMax is the most positions a container has as an array.
const ArrayMax = 4096

const (
	cookieNoRuns      = 12346
	cookieRuns        = 12347
	noOffsetThreshold = 4 // with runs, fewer containers than this have no offsets
	bitsetBytes       = 8192
)

// Portable is the header of a serialized bitmap. Its slices alias the bytes.
type Portable struct {
	Data []byte // all of it
	N    int    // containers
	Body int    // where the first container starts; each begins where the last ends

	runs    []byte // one bit per container, or nil
	keys    []byte // N pairs of u16
	offsets []byte // N × u32, or nil
}

// ParsePortable reads the header; false where the bytes are too short for it.
func ParsePortable(b []byte) (p Portable, ok bool) {
	if len(b) < 8 {
		return p, false
	}
	cookie := binary.LittleEndian.Uint32(b)
	at := 4
	p.Data = b
	switch {
	case cookie == cookieNoRuns:
		n := binary.LittleEndian.Uint32(b[4:])
		if n > 1<<16 {
			return p, false
		}
		p.N, at = int(n), 8
	case cookie&0xffff == cookieRuns:
		p.N = int(cookie>>16) + 1
		at += (p.N + 7) / 8
		if len(b) < at {
			return p, false
		}
		p.runs = b[4:at]
	default:
		return p, false
	}
	if len(b) < at+4*p.N {
		return p, false
	}
	p.keys = b[at : at+4*p.N]
	at += 4 * p.N
	if p.runs == nil || p.N >= noOffsetThreshold {
		if len(b) < at+4*p.N {
			return p, false
		}
		p.offsets = b[at : at+4*p.N]
		at += 4 * p.N
	}
	p.Body = at
	return p, true
}

// Key returns the upper half of the positions of container i.
func (p Portable) Key(i int) uint16 { return binary.LittleEndian.Uint16(p.keys[4*i:]) }

// Card returns the cardinality of container i.
func (p Portable) Card(i int) int { return int(binary.LittleEndian.Uint16(p.keys[4*i+2:])) + 1 }

// IsRuns reports whether container i is written as runs.
func (p Portable) IsRuns(i int) bool { return p.runs != nil && p.runs[i/8]>>(i%8)&1 == 1 }

// container returns the bytes of container i, or false where they lie outside
// the data.
func (p Portable) container(i int) ([]byte, bool) {
	at := p.Body
	if p.offsets != nil {
		at = int(binary.LittleEndian.Uint32(p.offsets[4*i:]))
	} else {
		for j := range i {
			size, ok := p.Size(j, at)
			if !ok {
				return nil, false
			}
			at += size
		}
	}
	size, ok := p.Size(i, at)
	if !ok || at < 0 || at+size > len(p.Data) {
		return nil, false
	}
	return p.Data[at : at+size], true
}

// Size returns the bytes that container i takes, given where it starts.
func (p Portable) Size(i, at int) (int, bool) {
	switch {
	case p.IsRuns(i):
		if at < 0 || at+2 > len(p.Data) {
			return 0, false
		}
		return 2 + 4*int(binary.LittleEndian.Uint16(p.Data[at:])), true
	case p.Card(i) <= ArrayMax:
		return 2 * p.Card(i), true
	default:
		return bitsetBytes, true
	}
}

// Contains reports whether the value is in the bitmap. ok is false where the
// bytes do not hold together.
func (p Portable) Contains(value uint32) (found, ok bool) {
	high, low := uint16(value>>16), uint16(value)
	i := sort.Search(p.N, func(i int) bool { return p.Key(i) >= high })
	if i == p.N || p.Key(i) != high {
		return false, true
	}
	c, ok := p.container(i)
	if !ok {
		return false, false
	}
	switch {
	case p.IsRuns(i):
		return runsContain(c[2:], low), true
	case p.Card(i) <= ArrayMax:
		n := p.Card(i)
		j := sort.Search(n, func(j int) bool { return binary.LittleEndian.Uint16(c[2*j:]) >= low })
		return j < n && binary.LittleEndian.Uint16(c[2*j:]) == low, true
	default:
		return c[low/8]>>(low%8)&1 == 1, true
	}
}

// runsContain searches sorted (start, length−1) pairs.
func runsContain(runs []byte, low uint16) bool {
	n := len(runs) / 4
	// The first run that starts after low; the one before it may hold low.
	j := sort.Search(n, func(j int) bool { return binary.LittleEndian.Uint16(runs[4*j:]) > low })
	if j == 0 {
		return false
	}
	start := binary.LittleEndian.Uint16(runs[4*(j-1):])
	length := binary.LittleEndian.Uint16(runs[4*(j-1)+2:])
	return low-start <= length
}

// Positions appends all values, ascending; false where the bytes do not hold
// together or are not in order.
func (p Portable) Positions(dst []uint32) ([]uint32, bool) {
	at := p.Body
	last := int64(-1)
	for i := range p.N {
		size, ok := p.Size(i, at)
		if !ok || at+size > len(p.Data) || (i > 0 && p.Key(i) <= p.Key(i-1)) {
			return dst, false
		}
		c, high, first := p.Data[at:at+size], uint32(p.Key(i))<<16, len(dst)
		switch {
		case p.IsRuns(i):
			for r := c[2:]; len(r) > 0; r = r[4:] {
				start, length := uint32(binary.LittleEndian.Uint16(r)), uint32(binary.LittleEndian.Uint16(r[2:]))
				if start+length > 0xffff {
					return dst, false
				}
				for v := range length + 1 {
					dst = append(dst, high|(start+v))
				}
			}
		case p.Card(i) <= ArrayMax:
			for ; len(c) > 0; c = c[2:] {
				dst = append(dst, high|uint32(binary.LittleEndian.Uint16(c)))
			}
		default:
			for w := range uint32(bitsetBytes / 8) {
				for word := binary.LittleEndian.Uint64(c[8*w:]); word != 0; word &= word - 1 {
					dst = append(dst, high|64*w|uint32(bits.TrailingZeros64(word)))
				}
			}
		}
		if len(dst)-first != p.Card(i) {
			return dst, false
		}
		for _, v := range dst[first:] {
			if int64(v) <= last {
				return dst, false
			}
			last = int64(v)
		}
		at += size
	}
	return dst, at == len(p.Data)
}

// AppendPortable appends the serialization of ascending values, without runs.
func AppendPortable(dst []byte, values []uint32) []byte {
	type container struct{ start, end int }
	var cs []container
	for i, v := range values {
		if i == 0 || v>>16 != values[i-1]>>16 {
			cs = append(cs, container{start: i})
		}
		cs[len(cs)-1].end = i + 1
	}
	dst = binary.LittleEndian.AppendUint32(dst, cookieNoRuns)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(cs)))
	for _, c := range cs {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(values[c.start]>>16))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(c.end-c.start-1))
	}
	at := uint32(8 + 8*len(cs))
	for _, c := range cs {
		dst = binary.LittleEndian.AppendUint32(dst, at)
		at += min(uint32(2*(c.end-c.start)), bitsetBytes)
	}
	for _, c := range cs {
		if c.end-c.start <= ArrayMax {
			for _, v := range values[c.start:c.end] {
				dst = binary.LittleEndian.AppendUint16(dst, uint16(v))
			}
			continue
		}
		set := make([]byte, bitsetBytes)
		for _, v := range values[c.start:c.end] {
			set[uint16(v)/8] |= 1 << (v % 8)
		}
		dst = append(dst, set...)
	}
	return dst
}
