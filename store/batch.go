package store

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"cohort/placement"
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

	at  places // of the rows, in a dense store
	met *metIDs
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
	if b.w.set.dense() {
		b.makePlaces()
	}
	for _, brand := range brands {
		if err := b.registerBrand(brand, byBrand[brand]); err != nil {
			return fmt.Errorf("registry of brand %q: %w", brand, err)
		}
	}
	return nil
}

func (b *batch) registerBrand(brand placement.Brand, days []*loadDay) error {
	if b.w.set.dense() {
		return b.placeBrand(brand, days)
	}
	changes, err := b.w.registerAll(brand, countRows(days), idsOf(days))
	if err != nil {
		return err
	}
	b.crowded[brand] = make(map[uint32]*crowd)
	for _, c := range changes {
		maps.Copy(b.crowded[brand], c.crowds)
	}
	return nil
}

// makePlaces makes room for the places of all rows.
func (b *batch) makePlaces() {
	n := countRows(b.days)
	b.at.positions = make([]uint32, n)
	if !b.w.set.keepStrings() {
		return
	}
	b.at.texts = make([]string, n)
	for _, d := range b.days {
		for i, row := range d.row {
			b.at.texts[row] = d.ids[i]
		}
	}
}

// countRows returns how many rows some days have.
func countRows(days []*loadDay) (n int) {
	for _, d := range days {
		n += len(d.mixed)
	}
	return n
}

// idsOf yields the ids of the days' rows.
func idsOf(days []*loadDay) iter.Seq[idEntry] {
	return func(yield func(idEntry) bool) {
		for _, d := range days {
			for i, m := range d.mixed {
				e := idEntry{mixed: m}
				if d.ids != nil {
					e.id = d.ids[i]
				}
				if !yield(e) {
					return
				}
			}
		}
	}
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
	w := b.w
	bits := w.set.chunkBits()
	positions := make([]uint32, len(d.mixed))
	for i, m := range d.mixed {
		if b.w.set.dense() {
			positions[i] = b.at.positions[d.row[i]]
		} else {
			positions[i] = m.Placement()
		}
	}
	positions, ends := partition(positions, 1<<(32-bits), func(p uint32) uint32 { return p >> bits })
	bucket, err := w.createDay(k)
	if err != nil {
		return 0, err
	}
	var changes []*chunkChange
	start := 0
	for number, end := range ends {
		ops := w.view.opsOf(k, uint32(number))
		if end > start || ops != nil {
			c, err := w.newChunkChange(bucket, k, uint32(number), positions[start:end])
			if err != nil {
				return 0, err
			}
			changes = append(changes, c)
		}
		start = end
	}
	if err := inParallel(len(changes), func(i int) error { return w.mergeChunk(changes[i]) }); err != nil {
		return 0, err
	}
	var total dayTotal
	for _, c := range changes {
		if err := w.putChunk(bucket, c, &total); err != nil {
			return 0, err
		}
		added += c.added
	}
	if err := w.addTotal(k, total); err != nil {
		return 0, err
	}
	if w.view.records() == 0 {
		return added, nil
	}
	return added, w.markFolded(k)
}
