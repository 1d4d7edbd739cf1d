package store

import (
	"slices"

	"cohort/placement"
)

// metIDs are the ordinals of ids that a load into a dense store has met: most of
// its rows name ids of rows before. To find them in a table takes a fourth
// of the time that it takes to sort the rows and to walk them through the registry. An
// id keeps its ordinal until it is erased.
type metIDs struct {
	brands   map[placement.Brand]*metTable
	n        int
	erasures uint64 // of the store, when they were met
}

// metMost bounds the ids that a load remembers: they take up to 64 MiB. Others are
// looked up batch after batch.
const metMost = 3 << 20

// forgetErased forgets all ids where one was erased since.
func (m *metIDs) forgetErased(erasures uint64) {
	if m.erasures != erasures {
		*m = metIDs{erasures: erasures}
	}
}

// add remembers ids of a brand, as long as there is room.
func (m *metIDs) add(b placement.Brand, rows []sighting, at *places) {
	if m.brands == nil {
		m.brands = make(map[placement.Brand]*metTable)
	}
	ids := m.brands[b]
	if ids == nil {
		ids = new(metTable)
		m.brands[b] = ids
	}
	before := ids.n
	for _, s := range rows {
		if m.n+ids.n-before >= metMost {
			break
		}
		ids.add(s.mixed, at.positions[s.row])
	}
	m.n += ids.n - before
}

// metTable has ids where their numbers lead, or in the next free slot behind: mostly one
// look into memory. A quarter of the slots or more is free.
type metTable struct {
	slots []metID // a power of two
	n     int
}

type metID struct {
	mixed   placement.Mixed
	ordinal uint32
	used    bool
}

// slot returns where an id is, or would be.
func (t *metTable) slot(m placement.Mixed) *metID {
	// Fibonacci hashing: Knuth, The Art of Computer Programming, volume 3, 6.4.
	i := uint64(m) * 0x9e3779b97f4a7c15 >> 32
	for {
		s := &t.slots[i&uint64(len(t.slots)-1)]
		if s.mixed == m || !s.used {
			return s
		}
		i++
	}
}

// get returns the ordinal of an id; ok is false where the table, which may be nil, does
// not have it.
func (t *metTable) get(m placement.Mixed) (ordinal uint32, ok bool) {
	if t == nil || t.n == 0 {
		return 0, false
	}
	s := t.slot(m)
	return s.ordinal, s.used
}

func (t *metTable) add(m placement.Mixed, ordinal uint32) {
	if 4*(t.n+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]metID, max(1<<10, 2*len(old)))
		for _, s := range old {
			if s.used {
				*t.slot(s.mixed) = s
			}
		}
	}
	s := t.slot(m)
	if !s.used {
		t.n++
	}
	*s = metID{m, ordinal, true}
}

// placeBrand finds the positions of the rows of a brand: those of ids that the load
// has met without the registry.
func (b *batch) placeBrand(brand placement.Brand, days []*loadDay) error {
	rows, err := b.notMet(brand, days)
	if err == nil {
		err = b.w.placeAll(brand, rows, &b.at)
	}
	if err == nil && b.met != nil {
		b.met.add(brand, rows, &b.at)
	}
	return err
}

// notMet sets the positions of rows whose ids the load has met, and returns the
// others.
func (b *batch) notMet(brand placement.Brand, days []*loadDay) ([]sighting, error) {
	var ids *metTable
	if b.met != nil {
		ids = b.met.brands[brand]
	}
	const most = 1 << 16 // rows that a goroutine does at once
	type piece struct {
		day      *loadDay
		from, to int
		rows     []sighting
	}
	var pieces []piece
	for _, d := range days {
		for from := 0; from < len(d.mixed); from += most {
			pieces = append(pieces, piece{day: d, from: from, to: min(from+most, len(d.mixed))})
		}
	}
	err := inParallel(len(pieces), func(i int) error {
		p := &pieces[i]
		if ids == nil { // none is met yet
			p.rows = make([]sighting, 0, p.to-p.from)
		}
		for j := p.from; j < p.to; j++ {
			m, row := p.day.mixed[j], p.day.row[j]
			if pos, ok := ids.get(m); ok {
				b.at.positions[row] = pos
			} else {
				p.rows = append(p.rows, sighting{m, row})
			}
		}
		return nil
	})
	all := make([][]sighting, len(pieces))
	for i, p := range pieces {
		all[i] = p.rows
	}
	return slices.Concat(all...), err
}
