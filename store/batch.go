package store

import (
	"cmp"
	"fmt"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// batch writes the rows of a load in one transaction. Results must be those of
// marking row by row, which at nearly every placement do not depend on the
// order: a bit set once is new, every repeat is already. Only where several
// ids are known at a placement does it matter which came first, so only those
// rows are walked through in order.
type batch struct {
	w    *writer
	days []*loadDay
	keys []dayKey // of days

	// crowded are the placements of each brand at which more than one id is
	// known once the batch is in.
	crowded map[placement.Brand]map[uint32]*crowd
}

// crowd is a placement with several ids: those known before the row that is
// being looked at.
type crowd struct {
	known []placement.Mixed
}

// write merges everything and returns what became of the rows.
func (b *batch) write() (Tally, error) {
	if err := b.bind(); err != nil {
		return Tally{}, err
	}
	b.crowded = make(map[placement.Brand]map[uint32]*crowd)
	if err := b.register(); err != nil {
		return Tally{}, err
	}
	shared, err := b.countShared()
	if err != nil {
		return Tally{}, err
	}
	var t Tally
	rows := uint64(0)
	for i, d := range b.days {
		added, err := b.writeDay(b.keys[i], d)
		if err != nil {
			return Tally{}, fmt.Errorf("event %q, day %s: %w", d.key.event.name, d.key.day, err)
		}
		t.New += added
		rows += uint64(len(d.mixed))
	}
	t.Shared = shared
	t.Already = rows - t.New - t.Shared
	return t, nil
}

// bind creates the events that are new. Between Add and here another caller may
// have bound one to another brand.
func (b *batch) bind() error {
	for _, d := range b.days {
		ev := d.key.event
		e, err := b.w.bindEvent(ev.name, "", ev.brand)
		if err != nil {
			return err
		}
		b.keys = append(b.keys, makeDayKey(e.number, d.key.day))
	}
	return nil
}

// register adds the batch's new ids to the registry, brand by brand.
func (b *batch) register() error {
	byBrand := make(map[placement.Brand][]*loadDay)
	for _, d := range b.days {
		byBrand[d.key.event.brand] = append(byBrand[d.key.event.brand], d)
	}
	brands := make([]placement.Brand, 0, len(byBrand))
	for brand := range byBrand {
		brands = append(brands, brand)
	}
	slices.SortFunc(brands, func(x, y placement.Brand) int { return cmp.Compare(brandKey(x), brandKey(y)) })
	for _, brand := range brands {
		if err := b.registerBrand(brand, byBrand[brand]); err != nil {
			return fmt.Errorf("registry of brand %q: %w", brand, err)
		}
	}
	return nil
}

func (b *batch) registerBrand(brand placement.Brand, days []*loadDay) error {
	ids := b.distinct(days)
	b.crowded[brand] = make(map[uint32]*crowd)
	bits := b.w.set.registryBits()
	for len(ids) > 0 {
		number := ids[0].mixed.Placement() >> bits
		end, _ := slices.BinarySearchFunc(ids, number, func(e idEntry, n uint32) int {
			if e.mixed.Placement()>>bits <= n {
				return -1
			}
			return 1
		})
		if err := b.registerChunk(brand, number, ids[:end]); err != nil {
			return err
		}
		ids = ids[end:]
	}
	return nil
}

// distinct returns the ids of the rows, ascending, each once.
func (b *batch) distinct(days []*loadDay) []idEntry {
	n := 0
	for _, d := range days {
		n += len(d.mixed)
	}
	if b.w.set.keepStrings() {
		ids := make([]idEntry, 0, n)
		for _, d := range days {
			for i, m := range d.mixed {
				ids = append(ids, idEntry{m, d.ids[i]})
			}
		}
		slices.SortFunc(ids, idEntry.compare)
		return slices.CompactFunc(ids, func(x, y idEntry) bool { return x.mixed == y.mixed })
	}
	keys := make([]uint64, 0, n) // numbers sort faster than entries
	for _, d := range days {
		for _, m := range d.mixed {
			keys = append(keys, sortKey(m))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	ids := make([]idEntry, len(keys))
	for i, k := range keys {
		ids[i].mixed = mixedOf(k)
	}
	return ids
}

// registerChunk adds to one registry chunk those of the ids, ascending, that
// are not known, and notes where ids are crowded.
func (b *batch) registerChunk(brand placement.Brand, number uint32, ids []idEntry) error {
	if b.w.set.ids == placement.Number {
		return b.registerNumbers(brand, number, ids)
	}
	var folded idsValue
	if value := b.w.idsValue(brand, number); value != nil {
		var err error
		if folded, err = b.w.openIDs(brand, number, value); err != nil {
			return err
		}
	}
	pending := b.w.view.idsOf(brand, number)
	add := make([]idEntry, 0, len(ids))
	at := 0
	for len(ids) > 0 {
		p := ids[0].mixed.Placement()
		n := 1
		for n < len(ids) && ids[n].mixed.Placement() == p {
			n++
		}
		at = folded.lowerBound(firstAt(p), at)
		i, _ := slices.BinarySearchFunc(pending, firstEntry(p), idEntry.compare)
		here := knownAt(folded, at, pending[i:], p)
		first := len(add)
		for _, e := range ids[:n] {
			if !slices.Contains(here, e.mixed) {
				add = append(add, e)
			}
		}
		if len(here)+len(add)-first > 1 {
			b.crowded[brand][p] = &crowd{known: here}
		}
		ids = ids[n:]
	}
	_, err := b.w.writeIDs(brand, number, add)
	return err
}

// knownAt lists the ids known at a placement, given where it would be found. It
// returns nil, without allocating, where there are none.
func knownAt(folded idsValue, at int, pending []idEntry, p uint32) []placement.Mixed {
	var known []placement.Mixed
	for i := range folded.count(at, p) {
		known = append(known, folded.mixed(at+i))
	}
	for i := 0; i < len(pending) && pending[i].mixed.Placement() == p; i++ {
		known = append(known, pending[i].mixed)
	}
	return known
}

// registerNumbers is registerChunk of a store of numbers: no two share a
// placement.
func (b *batch) registerNumbers(brand placement.Brand, number uint32, ids []idEntry) error {
	pending := b.w.view.idsOf(brand, number)
	known := roaring.New()
	if value := b.w.idsValue(brand, number); value != nil {
		c, err := b.w.openIDSet(brand, number, value)
		if err != nil {
			return err
		}
		if known, err = c.bitmap(); err != nil {
			return err
		}
	}
	for _, e := range pending {
		known.Add(e.mixed.Placement())
	}
	add := slices.DeleteFunc(ids, func(e idEntry) bool { return known.Contains(e.mixed.Placement()) })
	_, err := b.w.writeIDs(brand, number, add)
	return err
}

// countShared walks the rows at crowded placements in order and returns how
// many found the bit set and another id known.
func (b *batch) countShared() (uint64, error) {
	type row struct {
		at    uint32
		key   dayKey
		crowd *crowd
		mixed placement.Mixed
	}
	var rows []row
	for i, d := range b.days {
		crowded := b.crowded[d.key.event.brand]
		if len(crowded) == 0 {
			continue
		}
		for j, m := range d.mixed {
			if c := crowded[m.Placement()]; c != nil {
				rows = append(rows, row{d.row[j], b.keys[i], c, m})
			}
		}
	}
	slices.SortFunc(rows, func(x, y row) int { return cmp.Compare(x.at, y.at) })
	type bit struct {
		key dayKey
		pos uint32
	}
	isSet := make(map[bit]bool)
	shared := uint64(0)
	for _, r := range rows {
		at := bit{r.key, r.mixed.Placement()}
		set, met := isSet[at]
		if !met {
			var err error
			if set, _, err = b.w.bit(at.key, at.pos); err != nil {
				return 0, err
			}
		}
		others := slices.ContainsFunc(r.crowd.known, func(m placement.Mixed) bool { return m != r.mixed })
		if set && others {
			shared++
		}
		isSet[at] = true
		if !slices.Contains(r.crowd.known, r.mixed) {
			r.crowd.known = append(r.crowd.known, r.mixed)
		}
	}
	return shared, nil
}

// writeDay merges the rows of one (event, day), and what the journal holds for
// it, into its chunks. It returns how many bits were not set before.
func (b *batch) writeDay(k dayKey, d *loadDay) (added uint64, err error) {
	positions := make([]uint32, len(d.mixed))
	for i, m := range d.mixed {
		positions[i] = m.Placement()
	}
	slices.Sort(positions)
	positions = slices.Compact(positions)
	w := b.w
	bucket, err := w.days().CreateBucketIfNotExists(k.bytes())
	if err != nil {
		return 0, err
	}
	var total dayTotal
	for _, number := range b.chunksOf(k, positions) {
		end, _ := slices.BinarySearchFunc(positions, number, func(p, n uint32) int {
			if p>>w.set.chunkBits() <= n {
				return -1
			}
			return 1
		})
		_, n, err := w.writeChunk(bucket, k, number, positions[:end], &total)
		if err != nil {
			return 0, err
		}
		added += uint64(n)
		positions = positions[end:]
	}
	if err := w.addTotal(k, total); err != nil {
		return 0, err
	}
	if w.view.records == 0 {
		return added, nil
	}
	return added, w.markFolded(k)
}

// chunksOf returns the chunks, ascending, that the positions or the journal
// touch.
func (b *batch) chunksOf(k dayKey, positions []uint32) []uint32 {
	var numbers []uint32
	for _, p := range positions {
		n := p >> b.w.set.chunkBits()
		if len(numbers) == 0 || numbers[len(numbers)-1] != n {
			numbers = append(numbers, n)
		}
	}
	if ops, ok := b.w.view.days.Get(k); ok {
		for _, c := range ops.chunks {
			numbers = append(numbers, c.number)
		}
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
	}
	return numbers
}
