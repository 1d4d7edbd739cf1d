package store

import (
	"encoding/binary"
	"sort"
)

// Reading of roaring's portable serialization in place, without building a
// bitmap. The layout is that of the RoaringFormatSpec: a cookie, a header of
// (key, cardinality−1) pairs of u16, container offsets of u32, and the
// containers: sorted u16 arrays up to 4096 values, 8 KiB bitsets, or runs.

const (
	cookieNoRuns      = 12346
	cookieRuns        = 12347
	noOffsetThreshold = 4 // with runs, fewer containers than this have no offsets
	arrayMax          = 4096
	bitsetBytes       = 8192
)

// portable is the header of a serialized bitmap. Its slices alias the bytes.
type portable struct {
	data    []byte
	n       int    // containers
	runs    []byte // one bit per container, or nil
	keys    []byte // n pairs of u16
	offsets []byte // n × u32, or nil
	body    int    // where the first container starts
}

// parsePortable reads the header; false where the bytes are too short for it.
func parsePortable(b []byte) (p portable, ok bool) {
	if len(b) < 8 {
		return p, false
	}
	cookie := binary.LittleEndian.Uint32(b)
	at := 4
	p.data = b
	switch {
	case cookie == cookieNoRuns:
		n := binary.LittleEndian.Uint32(b[4:])
		if n > 1<<16 {
			return p, false
		}
		p.n, at = int(n), 8
	case cookie&0xffff == cookieRuns:
		p.n = int(cookie>>16) + 1
		at += (p.n + 7) / 8
		if len(b) < at {
			return p, false
		}
		p.runs = b[4:at]
	default:
		return p, false
	}
	if len(b) < at+4*p.n {
		return p, false
	}
	p.keys = b[at : at+4*p.n]
	at += 4 * p.n
	if p.runs == nil || p.n >= noOffsetThreshold {
		if len(b) < at+4*p.n {
			return p, false
		}
		p.offsets = b[at : at+4*p.n]
		at += 4 * p.n
	}
	p.body = at
	return p, true
}

func (p portable) key(i int) uint16  { return binary.LittleEndian.Uint16(p.keys[4*i:]) }
func (p portable) card(i int) int    { return int(binary.LittleEndian.Uint16(p.keys[4*i+2:])) + 1 }
func (p portable) isRuns(i int) bool { return p.runs != nil && p.runs[i/8]>>(i%8)&1 == 1 }

// container returns the bytes of container i, or false where they lie outside
// the data.
func (p portable) container(i int) ([]byte, bool) {
	at := p.body
	if p.offsets != nil {
		at = int(binary.LittleEndian.Uint32(p.offsets[4*i:]))
	} else {
		for j := range i {
			size, ok := p.size(j, at)
			if !ok {
				return nil, false
			}
			at += size
		}
	}
	size, ok := p.size(i, at)
	if !ok || at < 0 || at+size > len(p.data) {
		return nil, false
	}
	return p.data[at : at+size], true
}

// size returns the bytes that container i takes, given where it starts.
func (p portable) size(i, at int) (int, bool) {
	switch {
	case p.isRuns(i):
		if at < 0 || at+2 > len(p.data) {
			return 0, false
		}
		return 2 + 4*int(binary.LittleEndian.Uint16(p.data[at:])), true
	case p.card(i) <= arrayMax:
		return 2 * p.card(i), true
	default:
		return bitsetBytes, true
	}
}

// contains reports whether the value is in the bitmap. ok is false where the
// bytes do not hold together.
func (p portable) contains(value uint32) (found, ok bool) {
	high, low := uint16(value>>16), uint16(value)
	i := sort.Search(p.n, func(i int) bool { return p.key(i) >= high })
	if i == p.n || p.key(i) != high {
		return false, true
	}
	c, ok := p.container(i)
	if !ok {
		return false, false
	}
	switch {
	case p.isRuns(i):
		return runsContain(c[2:], low), true
	case p.card(i) <= arrayMax:
		n := p.card(i)
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
