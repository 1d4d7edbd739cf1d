package kernel

import "encoding/binary"

// marks is a table with a level for each position of a container. Levels of one
// container after the other rise, so that the table needs clearing only when they
// have used up the byte: a position below the container's first level is in no set
// of it.
//
// Every operation on a position changes nothing when it is done again, or counts
// nothing, so that the end of an array is taken by overlapping what came before.
type marks struct {
	at   [full]byte
	next byte // the lowest level not used; 0 is no level
}

// levels reserves so many levels, at most 255, and returns the first.
func (m *marks) levels(n int) (first byte) {
	if m.next == 0 || int(m.next)+n > 256 {
		clear(m.at[:])
		m.next = 1
	}
	first = m.next
	m.next += byte(n) // 0 where that was all of them
	return first
}

// mark puts the positions of an array at a level.
func (m *marks) mark(a []byte, level byte) {
	if len(a) < 16 {
		for ; len(a) >= 2; a = a[2:] {
			m.at[binary.LittleEndian.Uint16(a)] = level
		}
		return
	}
	for i := 0; i < len(a); i += 16 {
		x, y := eight(a, i)
		m.at[uint16(x)] = level
		m.at[uint16(x>>16)] = level
		m.at[uint16(x>>32)] = level
		m.at[uint16(x>>48)] = level
		m.at[uint16(y)] = level
		m.at[uint16(y>>16)] = level
		m.at[uint16(y>>32)] = level
		m.at[uint16(y>>48)] = level
	}
}

// eight returns the 16 bytes of an array from i, or its last 16 where fewer are
// left.
func eight(a []byte, i int) (x, y uint64) {
	i = min(i, len(a)-16)
	l := a[i : i+16]
	return binary.LittleEndian.Uint64(l), binary.LittleEndian.Uint64(l[8:])
}

// add is mark, and returns how many were not at the level before.
func (m *marks) add(a []byte, level byte) (added int) {
	if len(a) < 16 {
		for ; len(a) >= 2; a = a[2:] {
			added += m.add1(binary.LittleEndian.Uint16(a), level)
		}
		return added
	}
	for i := 0; i < len(a); i += 16 {
		x, y := eight(a, i)
		added += m.add1(uint16(x), level)
		added += m.add1(uint16(x>>16), level)
		added += m.add1(uint16(x>>32), level)
		added += m.add1(uint16(x>>48), level)
		added += m.add1(uint16(y), level)
		added += m.add1(uint16(y>>16), level)
		added += m.add1(uint16(y>>32), level)
		added += m.add1(uint16(y>>48), level)
	}
	return added
}

func (m *marks) add1(v uint16, level byte) int {
	n := one(m.at[v] != level)
	m.at[v] = level
	return n
}

// move takes the positions of an array that are at one level to another, and
// returns how many.
func (m *marks) move(a []byte, from, to byte) (moved int) {
	d := to - from
	if len(a) < 16 {
		for ; len(a) >= 2; a = a[2:] {
			moved += m.move1(binary.LittleEndian.Uint16(a), from, d)
		}
		return moved
	}
	for i := 0; i < len(a); i += 16 {
		x, y := eight(a, i)
		moved += m.move1(uint16(x), from, d)
		moved += m.move1(uint16(x>>16), from, d)
		moved += m.move1(uint16(x>>32), from, d)
		moved += m.move1(uint16(x>>48), from, d)
		moved += m.move1(uint16(y), from, d)
		moved += m.move1(uint16(y>>16), from, d)
		moved += m.move1(uint16(y>>32), from, d)
		moved += m.move1(uint16(y>>48), from, d)
	}
	return moved
}

func (m *marks) move1(v uint16, from, d byte) int {
	x := m.at[v]
	n := one(x == from)
	m.at[v] = x + d*byte(n)
	return n
}

// meet moves those positions of an array that a container has, too.
func (m *marks) meet(a []byte, c container, from, to byte) (moved int) {
	if c.kind == bitmap {
		b, d := c.bits(), to-from
		for ; len(a) >= 2; a = a[2:] {
			v := binary.LittleEndian.Uint16(a)
			x := m.at[v]
			n := one(x == from) & b.bit(v)
			m.at[v] = x + d*byte(n)
			moved += n
		}
		return moved
	}
	for ; len(a) >= 2; a = a[2:] {
		v := binary.LittleEndian.Uint16(a)
		if m.at[v] == from && c.has(v) {
			m.at[v] = to
			moved++
		}
	}
	return moved
}

// one is 1 where b is true, without a branch.
func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// enter puts those positions of an array that a bitset has at a level, and returns
// how many were not at it before. Chance decides which: no branch would be foreseen.
func (m *marks) enter(a []byte, b *bitset, level byte) (added int) {
	for ; len(a) >= 2; a = a[2:] {
		v := binary.LittleEndian.Uint16(a)
		x := m.at[v]
		n := one(x != level) & b.bit(v)
		m.at[v] = x + (level-x)*byte(n)
		added += n
	}
	return added
}

// enterAbove puts those positions of an array that are below a level two above it.
func (m *marks) enterAbove(a []byte, level byte) {
	for ; len(a) >= 2; a = a[2:] {
		if v := binary.LittleEndian.Uint16(a); m.at[v] < level {
			m.at[v] = level + 2
		}
	}
}

// collect appends those positions of an array that are at a level, and takes them
// off it.
func (m *marks) collect(to []uint16, a []byte, level byte) []uint16 {
	for ; len(a) >= 2; a = a[2:] {
		if v := binary.LittleEndian.Uint16(a); m.at[v] == level {
			to = append(to, v)
			m.at[v] = 0
		}
	}
	return to
}

// appendAt appends those positions of an array that are at a level.
func (m *marks) appendAt(to, a []byte, level byte) []byte {
	for ; len(a) >= 2; a = a[2:] {
		if v := binary.LittleEndian.Uint16(a); m.at[v] == level {
			to = binary.LittleEndian.AppendUint16(to, v)
		}
	}
	return to
}

// setAt sets the bits of those positions of an array that are at a level.
func (m *marks) setAt(b *bitset, a []byte, level byte) {
	for ; len(a) >= 2; a = a[2:] {
		if v := binary.LittleEndian.Uint16(a); m.at[v] == level {
			b[v>>3] |= 1 << (v & 7)
		}
	}
}
