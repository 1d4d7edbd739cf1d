package store

import (
	"cmp"
	"fmt"
	"slices"

	"cohort/placement"
)

// In a dense store the rows of a load need their positions before they can be
// sorted by chunk, and new ids get theirs in the order of the rows. So the rows
// of a brand are looked up chunk by chunk of the registry, side by side; the ids
// that are in none are given their ordinals in order of their first rows; then
// the chunks are written with them.

// places are where the rows of a load stand, by their place among all rows.
type places struct {
	positions []uint32
	texts     []string // their ids, where strings are kept
}

// sighting is a row of a load: which id it names, and its place among all rows.
type sighting struct {
	mixed placement.Mixed
	row   uint32
}

func (a sighting) compare(b sighting) int {
	if c := compareMixed(a.mixed, b.mixed); c != 0 {
		return c
	}
	return cmp.Compare(a.row, b.row)
}

// sightings are those of one registry chunk.
type sightings struct {
	*idsChange
	at    *places
	value idsValue
	seen  []sighting // in order of ids, then rows, once they are looked up
	fresh []freshID  // in order of ids
}

// freshID is an id that was not known, and its rows: seen[first:end].
type freshID struct {
	first, end int
	pos        uint32
}

// placeAll finds the positions of rows of a brand. It makes their ids known, past
// the journal, with what the journal has for their registry chunks and for the
// table of ordinals.
func (w *writer) placeAll(b placement.Brand, rows []sighting, at *places) error {
	bits := w.set.registryBits()
	parts, ends := partition(rows, 1<<(32-bits), func(s sighting) uint32 { return s.mixed.Placement() >> bits })
	var all []*sightings
	start := 0
	for number, end := range ends {
		if end > start {
			c, err := w.newIDsChange(b, uint32(number))
			if err != nil {
				return err
			}
			all = append(all, &sightings{idsChange: c, at: at, seen: parts[start:end]})
		}
		start = end
	}
	if err := inParallel(len(all), func(i int) error { return w.lookUp(all[i]) }); err != nil {
		return err
	}
	placements, err := w.giveOrdinals(b, all)
	if err != nil {
		return err
	}
	if err := inParallel(len(all), func(i int) error { return w.registerFresh(all[i]) }); err != nil {
		return err
	}
	for _, s := range all {
		if err := w.putIDs(s.idsChange); err != nil {
			return err
		}
	}
	_, err = w.foldOrdinals(b, placements)
	return err
}

// lookUp sets the positions of the rows whose ids are known, and notes the ids
// that are not.
func (r *reader) lookUp(s *sightings) error {
	if s.old != nil {
		var err error
		if s.value, err = r.openIDs(s.brand, s.number, s.old); err != nil {
			return err
		}
	}
	slices.SortFunc(s.seen, sighting.compare)
	at := 0
	for first := 0; first < len(s.seen); {
		m := s.seen[first].mixed
		end := first + 1
		for end < len(s.seen) && s.seen[end].mixed == m {
			end++
		}
		at = s.value.lowerBound(sortKey(m), at)
		if at < s.value.n && s.value.mixed(at) == m {
			s.at.set(s.seen[first:end], s.value.pos(at))
		} else if i, ok := slices.BinarySearchFunc(s.pending, idEntry{mixed: m}, idEntry.compare); ok {
			s.at.set(s.seen[first:end], s.pending[i].pos)
		} else {
			s.fresh = append(s.fresh, freshID{first: first, end: end})
		}
		first = end
	}
	return nil
}

// set sets the position of some rows. No two goroutines have the same row.
func (p *places) set(rows []sighting, pos uint32) {
	for _, s := range rows {
		p.positions[s.row] = pos
	}
}

// giveOrdinals gives the new ids of a brand their positions, in the order of their
// first rows, and returns their placements in that order.
func (w *writer) giveOrdinals(b placement.Brand, all []*sightings) ([]uint32, error) {
	var order []uint64 // first row, then index of the id below
	var ids []*freshID
	var placements []uint32
	for _, s := range all {
		for i := range s.fresh {
			id := &s.fresh[i]
			order = append(order, uint64(s.seen[id.first].row)<<32|uint64(len(ids)))
			ids = append(ids, id)
			placements = append(placements, s.seen[id.first].mixed.Placement())
		}
	}
	next := w.view.ordinalsOf(b).next
	if next+uint64(len(ids)) > ordinalsMax {
		return nil, fmt.Errorf("%d new ids: %w", len(ids), errNoOrdinal)
	}
	slices.Sort(order)
	sorted := make([]uint32, len(order))
	for i, o := range order {
		ids[uint32(o)].pos = uint32(next + uint64(i))
		sorted[i] = placements[uint32(o)]
	}
	return sorted, nil
}

// registerFresh sets the positions of the rows of new ids, and computes the
// registry chunk that has them.
func (r *reader) registerFresh(s *sightings) error {
	fresh := make([]idEntry, len(s.fresh))
	for i, id := range s.fresh {
		rows := s.seen[id.first:id.end]
		s.at.set(rows, id.pos)
		fresh[i] = idEntry{mixed: rows[0].mixed, pos: id.pos}
		if s.at.texts != nil {
			fresh[i].id = s.at.texts[rows[0].row]
		}
	}
	return r.insertIDs(s.idsChange, s.value, mergeIDs(s.pending, fresh))
}
