package store

import (
	"cmp"
	"fmt"
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
	rows *rowBatch
	keys []dayKey // of its days

	// crowded are the placements of each brand at which more than one id is
	// known once the batch is in.
	crowded map[placement.Brand]map[uint32]*crowd

	at  places  // of the rows, in a dense store
	met *metIDs // in a dense store
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
	if b.w.set.dense() {
		b.rows.group(func(i int) uint32 { return b.at.positions[i] })
	} else {
		b.rows.group(func(i int) uint32 { return b.rows.rows[i].mixed.Placement() })
	}
	var t Tally
	for i, d := range b.rows.days {
		added, err := b.writeDay(b.keys[i], d)
		if err != nil {
			return Tally{}, fmt.Errorf("event %q, day %s: %w", d.key.event.name, d.key.day, err)
		}
		t.New += added
	}
	t.Shared = shared
	t.Already = uint64(len(b.rows.rows)) - t.New - t.Shared
	return t, nil
}

// bind creates the events that are new. Between Add and here another caller may
// have bound one to another brand.
func (b *batch) bind() error {
	for _, d := range b.rows.days {
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
	days := make(map[placement.Brand][]bool) // the days of each brand, by number
	for _, d := range b.rows.days {
		brand := d.key.event.brand
		if days[brand] == nil {
			days[brand] = make([]bool, len(b.rows.days))
		}
		days[brand][d.number] = true
	}
	if b.w.set.dense() {
		b.makePlaces()
	}
	brands := slices.SortedFunc(maps.Keys(days), func(x, y placement.Brand) int { return cmp.Compare(brandKey(x), brandKey(y)) })
	for _, brand := range brands {
		if err := b.registerBrand(brand, days[brand]); err != nil {
			return fmt.Errorf("registry of brand %q: %w", brand, err)
		}
	}
	return nil
}

func (b *batch) registerBrand(brand placement.Brand, days []bool) error {
	if b.w.set.dense() {
		return b.w.placeAll(brand, b.met.deal(b.rows, days), &b.at, b.met.of(brand))
	}
	changes, err := b.w.registerAll(brand, len(b.rows.rows), b.rows.idsOf(days))
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
	n := len(b.rows.rows)
	b.met.forgetMany(n)
	b.met.positions = resize(b.met.positions, n)
	b.at = places{positions: b.met.positions}
	if b.w.set.keepStrings() {
		b.at.texts = b.rows.ids
	}
}

// countShared walks the rows at crowded placements in order and returns how
// many found the bit set and another id known.
func (b *batch) countShared() (uint64, error) {
	var crowds []map[uint32]*crowd // by day
	some := false
	for _, d := range b.rows.days {
		crowds = append(crowds, b.crowded[d.key.event.brand])
		some = some || len(crowds[d.number]) > 0
	}
	if !some {
		return 0, nil
	}
	type bit struct {
		key dayKey
		pos uint32
	}
	isSet := make(map[bit]bool)
	shared := uint64(0)
	for _, r := range b.rows.rows {
		c := crowds[r.day][r.mixed.Placement()]
		if c == nil {
			continue
		}
		at := bit{b.keys[r.day], r.mixed.Placement()}
		set, met := isSet[at]
		if !met {
			var err error
			if set, _, err = b.w.bit(at.key, at.pos); err != nil {
				return 0, err
			}
		}
		others := slices.ContainsFunc(c.known, func(m placement.Mixed) bool { return m != r.mixed })
		if set && others {
			shared++
		}
		isSet[at] = true
		if !slices.Contains(c.known, r.mixed) {
			c.known = append(c.known, r.mixed)
		}
	}
	return shared, nil
}

// writeDay merges the rows of one (event, day), and what the journal holds for
// it, into its chunks. It returns how many bits were not set before.
func (b *batch) writeDay(k dayKey, d *loadDay) (added uint64, err error) {
	w := b.w
	bits := w.set.chunkBits()
	positions, ends := partition(d.positions, 1<<(32-bits), func(p uint32) uint32 { return p >> bits })
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
