package query

import "math/rand/v2"

// table holds a number other than 0 for each of some positions of a chunk: a hash
// table with linear probing, at most half full. It takes 16 to 32 bytes a
// position, and so stays in the cache at a million ids a day in 256 chunks: 15 ns
// a mark, against 50 to 100 of an array with a place for each of the 2²⁴ positions
// of the chunk.
type table struct {
	slots  []slot
	shift  uint   // of a hash, to have an index of slots
	factor uint32 // odd; random, so that no choice of ids makes all collide
	used   int
}

// slot is a position and its number, 0 in a free slot.
type slot struct {
	position uint32
	number   int32
}

const firstSlots = 10 // log₂ of the number of slots of a new table

func newTable() *table {
	return &table{slots: make([]slot, 1<<firstSlots), shift: 32 - firstSlots, factor: rand.Uint32() | 1}
}

// reset begins another chunk.
func (t *table) reset() {
	clear(t.slots)
	t.used = 0
}

// get returns the number of a position, 0 for none.
func (t *table) get(position uint32) int32 { return t.find(position).number }

// swap sets the number of a position and returns the one it had, 0 for none.
func (t *table) swap(position uint32, number int32) int32 {
	s := t.find(position)
	before := s.number
	if before == 0 {
		t.used++
	}
	*s = slot{position, number}
	if 2*t.used > len(t.slots) {
		t.grow()
	}
	return before
}

// find returns the slot of a position, or the free one that it is to take.
func (t *table) find(position uint32) *slot {
	for i := int(position * t.factor >> t.shift); ; i++ {
		s := &t.slots[i&(len(t.slots)-1)]
		if s.number == 0 || s.position == position {
			return s
		}
	}
}

// grow doubles the table.
func (t *table) grow() {
	old := t.slots
	t.slots = make([]slot, 2*len(old))
	t.shift--
	for _, s := range old {
		if s.number != 0 {
			*t.find(s.position) = s
		}
	}
}
