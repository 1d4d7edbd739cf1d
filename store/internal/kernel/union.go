package kernel

import (
	"encoding/binary"
	"slices"
)

// Union is the union of some stored sets within one chunk, gathered by container.
// It refers to their bytes, which must stay as they are while it is used. It is
// filled chunk after chunk, and keeps its memory.
type Union struct {
	base  uint32      // the chunk's first position
	width int         // sources there is room for
	cells []container // width for each container of the chunk
	n     []int32     // by container: cells used
	own   []byte      // lists, and containers that differ from the stored
	card  int         // positions of all sources, those in several counted as often
	leaf  Expr
}

// Changes are the bits by which a set differs from its stored bytes: ascending
// positions that are set, none of which is stored, and that are cleared, all of
// which are.
type Changes struct{ Set, Cleared []uint32 }

func (c *Changes) empty() bool { return len(c.Set)+len(c.Cleared) == 0 }

// Begin empties the union for a chunk of 2^width positions from base, at least a
// container, and makes room for some sources.
func (u *Union) Begin(base uint32, width uint, sources int) {
	keys := 1 << (width - 16)
	u.base, u.width, u.card = base, sources, 0
	u.cells = slices.Grow(u.cells[:0], keys*sources)[:keys*sources]
	u.n = slices.Grow(u.n[:0], keys)[:keys]
	clear(u.n)
	u.own = u.own[:0]
}

// Empty reports whether no source has a position.
func (u *Union) Empty() bool { return u.card == 0 }

// AddPortable adds a source in roaring's portable serialization, of so many
// positions. It reports whether the bytes hold together; the union is of no use
// where they do not.
func (u *Union) AddPortable(b []byte, total int, c Changes) bool {
	p, ok := ParsePortable(b)
	plain := c.empty()
	if !ok {
		return false
	}
	at, sum, last := p.Body, 0, -1
	first := int(u.base >> 16)
	for i := range p.N {
		head := binary.LittleEndian.Uint32(p.keys[4*i:])
		key, card := int(head&0xffff)-first, int(head>>16)+1
		stored := container{card: int32(card)}
		size := 2 * card
		switch {
		case p.runs != nil && p.IsRuns(i):
			if at+2 > len(b) {
				return false
			}
			size = 4 * int(binary.LittleEndian.Uint16(b[at:]))
			at += 2
			stored.kind = runs
		case card > ArrayMax:
			size = bitsetBytes
			stored.kind = bitmap
		}
		if at+size > len(b) || key <= last || key >= len(u.n) {
			return false
		}
		stored.data = b[at : at+size : at+size]
		if !plain {
			if ok = u.putChanged(key, stored, &c); !ok {
				return false
			}
		} else if !u.put(key, stored) {
			return false
		}
		at, last, sum = at+size, key, sum+card
	}
	return at == len(b) && sum == total && len(c.Cleared) == 0 && u.addList(c.Set)
}

// AddList adds a source that is a list of ascending positions.
func (u *Union) AddList(list []uint32, c Changes) bool {
	if !c.empty() {
		if list = applied(list, c); list == nil {
			return false
		}
	}
	return u.addList(list)
}

// applied returns a list with changes made, or nil where they do not fit it.
func applied(list []uint32, c Changes) []uint32 {
	out := make([]uint32, 0, len(list)+len(c.Set))
	for _, v := range list {
		for len(c.Set) > 0 && c.Set[0] < v {
			out, c.Set = append(out, c.Set[0]), c.Set[1:]
		}
		if len(c.Cleared) > 0 && c.Cleared[0] == v {
			c.Cleared = c.Cleared[1:]
			continue
		}
		out = append(out, v)
	}
	if len(c.Cleared) > 0 {
		return nil
	}
	return append(out, c.Set...)
}

// addList adds positions in containers that have none of this source yet.
func (u *Union) addList(list []uint32) bool {
	for len(list) > 0 {
		part := upTo(&list, list[0]>>16)
		if key := int(part[0]>>16) - int(u.base>>16); key < 0 || key >= len(u.n) || !u.putList(key, part) {
			return false
		}
	}
	return true
}

// putList adds a container that has some positions.
func (u *Union) putList(key int, part []uint32) bool {
	c := container{card: int32(len(part))}
	if len(part) <= ArrayMax {
		at := len(u.own)
		for _, v := range part {
			u.own = binary.LittleEndian.AppendUint16(u.own, uint16(v))
		}
		c.data = u.own[at:]
		return u.put(key, c)
	}
	b := u.ownBits()
	for _, v := range part {
		b[uint16(v)>>3] |= 1 << (v & 7)
	}
	c.data, c.kind = b[:], bitmap
	return u.put(key, c)
}

// put adds a container.
func (u *Union) put(key int, c container) bool {
	n := int(u.n[key])
	if n >= u.width {
		return false
	}
	u.cells[key*u.width+n] = c
	u.n[key]++
	u.card += int(c.card)
	return true
}

// putChanged adds a container of a source with the changes up to and in it, and
// takes these off.
func (u *Union) putChanged(key int, old container, c *Changes) bool {
	high := u.base>>16 + uint32(key)
	for len(c.Set) > 0 && c.Set[0]>>16 < high {
		part := upTo(&c.Set, c.Set[0]>>16)
		if key := int(part[0]>>16) - int(u.base>>16); key < 0 || !u.putList(key, part) {
			return false
		}
	}
	set, cleared := upTo(&c.Set, high), upTo(&c.Cleared, high)
	if len(set)+len(cleared) == 0 {
		return u.put(key, old)
	}
	now := container{card: old.card + int32(len(set)) - int32(len(cleared))}
	if now.card == 0 {
		return true
	}
	if old.kind == array && now.card <= ArrayMax {
		at := len(u.own)
		u.appendChanged(old.data, set, cleared)
		now.data = u.own[at:]
		return len(now.data) == 2*int(now.card) && u.put(key, now)
	}
	b := u.ownBits()
	old.addTo(b)
	for _, v := range set {
		b[uint16(v)>>3] |= 1 << (v & 7)
	}
	for _, v := range cleared {
		b[uint16(v)>>3] &^= 1 << (v & 7)
	}
	now.data, now.kind = b[:], bitmap
	return b.count() == int(now.card) && u.put(key, now)
}

// appendChanged appends to own what an array is after changes.
func (u *Union) appendChanged(a []byte, set, cleared []uint32) {
	for ; len(a) >= 2; a = a[2:] {
		v := binary.LittleEndian.Uint16(a)
		for len(set) > 0 && uint16(set[0]) < v {
			u.own, set = binary.LittleEndian.AppendUint16(u.own, uint16(set[0])), set[1:]
		}
		if len(cleared) > 0 && uint16(cleared[0]) == v {
			cleared = cleared[1:]
			continue
		}
		u.own = binary.LittleEndian.AppendUint16(u.own, v)
	}
	for _, v := range set {
		u.own = binary.LittleEndian.AppendUint16(u.own, uint16(v))
	}
}

// ownBits appends an empty bitset to own.
func (u *Union) ownBits() *bitset {
	at := len(u.own)
	u.own = slices.Grow(u.own, bitsetBytes)[:at+bitsetBytes]
	b := (*bitset)(u.own[at:])
	clear(b[:])
	return b
}

// upTo takes the positions whose upper half is not above high off a list.
func upTo(list *[]uint32, high uint32) (part []uint32) {
	n := 0
	for n < len(*list) && (*list)[n]>>16 <= high {
		n++
	}
	part, *list = (*list)[:n], (*list)[n:]
	return part
}

// at returns the containers of one key.
func (u *Union) at(key int) []container {
	from := key * u.width
	to := from + int(u.n[key])
	return u.cells[from:to:to]
}
