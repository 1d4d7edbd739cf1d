package store

import (
	"slices"

	"cohort/placement"
)

// metIDs are the ordinals of ids that a load into a dense store has met: most of
// its rows name ids of rows before. To find them in a map takes a fifth of the
// time that it takes to sort the rows and to walk them through the registry. An id
// keeps its ordinal until it is erased.
type metIDs struct {
	brands   map[placement.Brand]map[placement.Mixed]uint32
	n        int
	erasures uint64 // of the store, when they were met
}

// metMost bounds the ids that a load remembers: about 100 MB. Others are looked up
// batch after batch.
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
		m.brands = make(map[placement.Brand]map[placement.Mixed]uint32)
	}
	ids := m.brands[b]
	if ids == nil {
		ids = make(map[placement.Mixed]uint32)
		m.brands[b] = ids
	}
	before := len(ids)
	for _, s := range rows {
		if m.n+len(ids)-before >= metMost {
			break
		}
		ids[s.mixed] = at.positions[s.row]
	}
	m.n += len(ids) - before
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
	var ids map[placement.Mixed]uint32
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
		for j := p.from; j < p.to; j++ {
			m, row := p.day.mixed[j], p.day.row[j]
			if pos, ok := ids[m]; ok {
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
