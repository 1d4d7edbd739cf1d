package store

import (
	"math/bits"

	"cohort/placement"
)

// metIDs are the ordinals of ids that a load into a dense store has met: most of its rows
// name ids of rows before, which need no sorting and no look into the registry. An id
// keeps its ordinal until it is erased.
type metIDs struct {
	brands   map[placement.Brand]*metBrand
	erasures uint64 // of the store, when they were met

	// Memory for a batch.
	rows      []sighting
	unmet     []unmetID
	positions []uint32
}

// metBrand are the ids of a brand, by hand.
type metBrand [hands]metTable

// metMost bounds the ids that a load remembers from one batch to the next: 64 MiB, or
// twice that where tables have just been doubled.
const metMost = 3 << 20

// forgetErased forgets all ids where one was erased since.
func (m *metIDs) forgetErased(erasures uint64) {
	if m.erasures != erasures {
		m.brands, m.erasures = nil, erasures
	}
}

// forgetMany forgets all ids where they could be too many with so many more.
func (m *metIDs) forgetMany(more int) {
	for _, b := range m.brands {
		for _, t := range b {
			more += t.n
		}
	}
	if more > metMost {
		m.brands = nil
	}
}

// of returns the ids of a brand.
func (m *metIDs) of(b placement.Brand) *metBrand {
	if m.brands == nil {
		m.brands = make(map[placement.Brand]*metBrand)
	}
	ids := m.brands[b]
	if ids == nil {
		ids = new(metBrand)
		m.brands[b] = ids
	}
	return ids
}

// deal deals out the rows of some days, told by their numbers. The deal is valid until
// the next.
func (m *metIDs) deal(b *rowBatch, days []bool) deal {
	var at [hands]int
	for _, r := range b.rows {
		if days[r.day] {
			at[handOf(r.mixed)]++
		}
	}
	n := 0
	for i, rows := range at {
		at[i] = n
		n += rows
	}
	m.rows, m.unmet = resize(m.rows, n), resize(m.unmet, n)
	for i, r := range b.rows {
		if days[r.day] {
			h := handOf(r.mixed)
			m.rows[at[h]] = sighting{r.mixed, uint32(i)}
			at[h]++
		}
	}
	return deal{m.rows, m.unmet, at[:]}
}

// metTable has ids where their numbers lead, or in the next free slot behind: mostly one
// look into memory. A quarter of the slots or more is free.
type metTable struct {
	slots []metID // a power of two
	n     int
}

// metID is a slot of a metTable.
type metID struct {
	mixed   placement.Mixed
	ordinal uint32 // once it is placed
	state   metState
}

// metState is what a slot of a metTable has.
type metState uint8

const (
	metFree     metState = iota
	metUnplaced          // an id that this batch has met first
	metPlaced            // an id with its ordinal
)

// slot returns where an id is, or would be.
func (t *metTable) slot(m placement.Mixed) *metID {
	// Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, 6.4.
	i := uint64(m) * 0x9e3779b97f4a7c15 >> 32
	for {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.mixed == m || s.state == metFree {
			return s
		}
		i++
	}
}

// expect makes room in an empty table, as if each of n rows had an id of its own.
func (t *metTable) expect(n int) {
	if t.slots == nil {
		t.slots = make([]metID, 1<<bits.Len(uint(n+n/3)))
	}
}

// add returns the slot of an id. One that is free counts as taken.
func (t *metTable) add(m placement.Mixed) *metID {
	if 4*(t.n+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]metID, 2*len(old))
		for _, s := range old {
			if s.state != metFree {
				*t.slot(s.mixed) = s
			}
		}
	}
	s := t.slot(m)
	if s.state == metFree {
		t.n++
	}
	return s
}
