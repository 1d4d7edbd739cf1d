package store

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"cohort/placement"
)

// In a dense store the rows of a load need their positions before they can be
// sorted by chunk, and new ids get theirs in the order of the rows. So the rows of a
// brand are dealt out by their placements, as cards are, into hands. Each hand has a
// table of the ids that the load has met:
//
//  1. A row whose id was met has its position from the table. Other ids are unmet.
//  2. Unmet ids are looked up in the registry, chunk by chunk. Those that it lacks are
//     fresh.
//  3. Fresh ids get ordinals in order of their first rows, and their chunks are written.
//  4. Unmet ids are met from now on, and their rows have positions.
//
// Hands and chunks are worked on side by side. Decision 20 tells why.

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

// hands are what the rows of a brand are dealt out to: by the top bits of placements,
// so that a registry chunk is in one, and so many that a hand's table fits a cache.
const (
	handBits = 6
	hands    = 1 << handBits
)

func handOf(m placement.Mixed) uint32 { return m.Placement() >> (32 - handBits) }

// deal is rows in the order of their hands, each up to one of ends.
type deal struct {
	rows  []sighting
	unmet []unmetID // room for as many
	ends  []int
}

// hand is some of the rows.
type hand struct {
	rows  []sighting // after meet: those whose ids are unmet, but for the first of each
	met   *metTable
	unmet []unmetID // ordered by key
}

// unmetID is an id that the load has not met before.
type unmetID struct {
	key uint64 // its sortKey
	row uint32 // its first
	pos uint32 // where it stands, once that is known
}

func (a unmetID) compare(b unmetID) int { return cmp.Compare(a.key, b.key) }

// unmetIDs are those of one registry chunk.
type unmetIDs struct {
	*idsChange
	value idsValue
	ids   []unmetID
	fresh []*unmetID // those that the registry and the journal lack
}

// placeAll finds the positions of rows of a brand, given tables of ids that were met,
// which it adds to. It makes the ids known, past the journal, with what the journal has
// for their registry chunks and for the table of ordinals.
func (w *writer) placeAll(b placement.Brand, rows deal, at *places, met *metBrand) error {
	var dealt []*hand
	start := 0
	for i, end := range rows.ends {
		if end > start {
			dealt = append(dealt, &hand{rows: rows.rows[start:end], met: &met[i], unmet: rows.unmet[start:start:end]})
		}
		start = end
	}
	if err := inParallel(len(dealt), func(i int) error { dealt[i].meet(at); return nil }); err != nil {
		return err
	}
	all, err := w.unmetChunks(b, dealt)
	if err != nil {
		return err
	}
	if err := inParallel(len(all), func(i int) error { return w.lookUp(all[i]) }); err != nil {
		return err
	}
	firsts, n := newFirstRows(len(at.positions), all)
	next := w.view.ordinalsOf(b).next
	if next+uint64(n) > ordinalsMax {
		return fmt.Errorf("%d new ids: %w", n, errNoOrdinal)
	}
	placements := make([]uint32, n) // in the order of ordinals
	err = inParallel(len(all), func(i int) error {
		for _, u := range all[i].fresh {
			rank := firsts.rank(u.row)
			u.pos, placements[rank] = uint32(next)+rank, uint32(u.key>>32)
		}
		return w.registerFresh(all[i], at)
	})
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := w.putIDs(c.idsChange); err != nil {
			return err
		}
	}
	if _, err := w.foldOrdinals(b, placements); err != nil {
		return err
	}
	return inParallel(len(dealt), func(i int) error { dealt[i].settle(at); return nil })
}

// meet sets the positions of rows whose ids were met, and lists the others' ids.
func (h *hand) meet(at *places) {
	h.met.expect(len(h.rows))
	rest := h.rows[:0]
	for _, r := range h.rows {
		switch id := h.met.add(r.mixed); id.state {
		case metPlaced:
			at.positions[r.row] = id.ordinal
		case metUnplaced:
			rest = append(rest, r)
		default:
			*id = metID{r.mixed, 0, metUnplaced}
			h.unmet = append(h.unmet, unmetID{key: sortKey(r.mixed), row: r.row})
		}
	}
	h.rows = rest
	h.unmet = sortSpread(h.unmet, func(u unmetID) uint64 { return u.key << handBits }, func(ids []unmetID) { slices.SortFunc(ids, unmetID.compare) })
}

// settle sets the positions of the rows of ids that were not met, which are now.
func (h *hand) settle(at *places) {
	for _, u := range h.unmet {
		id := h.met.slot(mixedOf(u.key))
		id.ordinal, id.state = u.pos, metPlaced
		at.positions[u.row] = u.pos
	}
	for _, r := range h.rows {
		at.positions[r.row] = h.met.slot(r.mixed).ordinal
	}
}

// unmetChunks begins the changes of registry chunks that have ids that were not met.
func (w *writer) unmetChunks(b placement.Brand, dealt []*hand) ([]*unmetIDs, error) {
	width := w.set.registryBits()
	var all []*unmetIDs
	for _, h := range dealt {
		for rest := h.unmet; len(rest) > 0; {
			number := uint32(rest[0].key>>32) >> width
			n := sort.Search(len(rest), func(i int) bool { return uint32(rest[i].key>>32)>>width > number })
			c, err := w.newIDsChange(b, number)
			if err != nil {
				return nil, err
			}
			all, rest = append(all, &unmetIDs{idsChange: c, ids: rest[:n]}), rest[n:]
		}
	}
	return all, nil
}

// lookUp finds the positions of ids that are known, and lists the others.
func (r *reader) lookUp(c *unmetIDs) error {
	if c.old != nil {
		var err error
		if c.value, err = r.openIDs(c.brand, c.number, c.old); err != nil {
			return err
		}
	}
	at := 0
	for i := range c.ids {
		u := &c.ids[i]
		m := mixedOf(u.key)
		at = c.value.lowerBound(u.key, at)
		if at < c.value.n && c.value.mixed(at) == m {
			u.pos = c.value.pos(at)
		} else if j, ok := slices.BinarySearchFunc(c.pending, idEntry{mixed: m}, idEntry.compare); ok {
			u.pos = c.pending[j].pos
		} else {
			c.fresh = append(c.fresh, u)
		}
	}
	return nil
}

// firstRows are rows of a load by which new ids get their ordinals, in their order. It
// is a set of bits, with the number of those before each word.
type firstRows struct {
	words  []uint64
	before []uint32
}

func newFirstRows(rows int, all []*unmetIDs) (f firstRows, n int) {
	f.words = make([]uint64, (rows+63)/64)
	f.before = make([]uint32, len(f.words))
	for _, c := range all {
		for _, u := range c.fresh {
			f.words[u.row/64] |= 1 << (u.row % 64)
		}
	}
	for i, word := range f.words {
		f.before[i] = uint32(n)
		n += bits.OnesCount64(word)
	}
	return f, n
}

// rank returns how many of the rows come before one.
func (f firstRows) rank(row uint32) uint32 {
	return f.before[row/64] + uint32(bits.OnesCount64(f.words[row/64]&(1<<(row%64)-1)))
}

// registerFresh computes the registry chunk that has the new ids.
func (r *reader) registerFresh(c *unmetIDs, at *places) error {
	fresh := make([]idEntry, len(c.fresh))
	for i, u := range c.fresh {
		fresh[i] = idEntry{mixed: mixedOf(u.key), pos: u.pos}
		if at.texts != nil {
			fresh[i].id = at.texts[u.row]
		}
	}
	if len(c.pending) > 0 {
		fresh = mergeIDs(c.pending, fresh)
	}
	return r.insertIDs(c.idsChange, c.value, fresh)
}
