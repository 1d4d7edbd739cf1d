package store

import (
	"fmt"
	"iter"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// idsChange is what merging ids makes of one registry chunk. mergeRegistry may run
// beside that of other chunks; only putIDs needs the transaction.
type idsChange struct {
	brand   placement.Brand
	number  uint32
	old     []byte    // the sealed chunk, or nil
	pending []idEntry // of the journal, ascending
	rows    []idEntry // to be known: in any order, repeats allowed
	keys    []uint64  // the same where no strings are kept, as sort keys

	points            []int  // where unknown found that each goes, as idsValue.points; may be nil
	value             []byte // the new sealed chunk, nil where nothing is new
	counts            pair   // ids and placements that are new in it
	pendingPlacements uint64 // of these placements, those of pending ids
	crowds            map[uint32]*crowd
}

// newIDsChange collects what a change of a registry chunk starts from.
func (w *writer) newIDsChange(b placement.Brand, number uint32) (*idsChange, error) {
	old, err := w.idsValue(b, number)
	return &idsChange{brand: b, number: number, old: old, pending: w.view.idsOf(b, number)}, err
}

// mergeRegistry computes the new chunk.
func (r *reader) mergeRegistry(c *idsChange) error {
	c.sort()
	if r.set.ids == placement.Number {
		return r.mergeNumbers(c)
	}
	var v idsValue
	if c.old != nil {
		var err error
		if v, err = r.openIDs(c.brand, c.number, c.old); err != nil {
			return err
		}
	}
	return r.insertIDs(c, v, mergeIDs(c.pending, c.unknown(v)))
}

// insertIDs computes the new chunk from the old one and ids that are not in it,
// the pending ones among them.
func (r *reader) insertIDs(c *idsChange, v idsValue, fresh []idEntry) error {
	if len(fresh) == 0 {
		return nil
	}
	points := c.points
	if points == nil {
		points = v.points(fresh)
	}
	c.counts = pair{uint64(len(fresh)), v.newPlacements(fresh, points)}
	c.pendingPlacements = v.newPlacements(c.pending, v.points(c.pending))
	var err error
	c.value, err = v.insert(r.set, c.brand, c.number, fresh, points)
	return err
}

// sort brings the rows in order, each id once. Without strings they are sorted as
// numbers, in half the time.
func (c *idsChange) sort() {
	if c.keys == nil {
		slices.SortFunc(c.rows, idEntry.compare)
		c.rows = slices.CompactFunc(c.rows, func(x, y idEntry) bool { return x.mixed == y.mixed })
		return
	}
	c.keys = sortSpread(c.keys, func(k uint64) uint64 { return k << (32 - registryChunkBits) }, slices.Sort)
	c.keys = slices.Compact(c.keys)
	c.rows = make([]idEntry, len(c.keys))
	for i, k := range c.keys {
		c.rows[i] = idEntry{mixed: mixedOf(k), pos: mixedOf(k).Placement()}
	}
}

// unknown returns those of the rows that are neither in the chunk nor pending,
// ascending, and notes where ids are crowded, and, where none are pending, the points
// of those it returns.
func (c *idsChange) unknown(v idsValue) []idEntry {
	add := make([]idEntry, 0, len(c.rows))
	if len(c.pending) == 0 {
		c.points = make([]int, 0, len(c.rows)+1)
	}
	at := 0
	for rows := c.rows; len(rows) > 0; {
		p := rows[0].mixed.Placement()
		n := 1
		for n < len(rows) && rows[n].mixed.Placement() == p {
			n++
		}
		at = v.lowerBound(firstAt(p), at)
		known := c.knownAt(v, at, p)
		first := len(add)
		for _, e := range rows[:n] {
			if slices.Contains(known, e.mixed) {
				continue
			}
			add = append(add, e)
			if c.points != nil {
				c.points = append(c.points, v.lowerBound(sortKey(e.mixed), at))
			}
		}
		if len(known)+len(add)-first > 1 {
			if c.crowds == nil {
				c.crowds = make(map[uint32]*crowd)
			}
			c.crowds[p] = &crowd{known: known}
		}
		rows = rows[n:]
	}
	if c.points != nil {
		c.points = append(c.points, v.n)
	}
	return add
}

// knownAt lists the ids known at a placement, given where the chunk would have
// it: nil, without allocating, where there are none.
func (c *idsChange) knownAt(v idsValue, at int, p uint32) []placement.Mixed {
	var known []placement.Mixed
	for i := range v.count(at, p) {
		known = append(known, v.mixed(at+i))
	}
	i, _ := slices.BinarySearchFunc(c.pending, firstEntry(p), idEntry.compare)
	for ; i < len(c.pending) && c.pending[i].mixed.Placement() == p; i++ {
		known = append(known, c.pending[i].mixed)
	}
	return known
}

// mergeNumbers is mergeRegistry in a store of numbers, where no two ids share a
// placement.
func (r *reader) mergeNumbers(c *idsChange) error {
	set := roaring.New()
	if c.old != nil {
		known, err := r.openIDSet(c.brand, c.number, c.old)
		if err != nil {
			return err
		}
		if set, err = known.bitmap(); err != nil {
			return err
		}
	}
	before := set.GetCardinality()
	for _, ids := range [2][]idEntry{c.pending, c.rows} {
		for _, e := range ids {
			set.Add(e.mixed.Placement())
		}
	}
	added := set.GetCardinality() - before
	if added == 0 {
		return nil
	}
	c.counts = pair{added, added}
	c.pendingPlacements = uint64(len(c.pending))
	var err error
	c.value, err = sealChunkAs(tagIDs, idsSealKey(c.brand, c.number), c.number, r.set.registryBits(), set)
	return err
}

// registerAll makes n ids of a brand known, past the journal, with what the journal
// has for their registry chunks.
func (w *writer) registerAll(b placement.Brand, n int, ids iter.Seq[idEntry]) ([]*idsChange, error) {
	bits := w.set.registryBits()
	if w.set.keepStrings() {
		rows := slices.AppendSeq(make([]idEntry, 0, n), ids)
		rows, ends := partition(rows, 1<<(32-bits), func(e idEntry) uint32 { return e.mixed.Placement() >> bits })
		return w.registerParts(b, ends, func(c *idsChange, start, end int) { c.rows = rows[start:end] })
	}
	keys := make([]uint64, 0, n)
	for e := range ids {
		keys = append(keys, sortKey(e.mixed))
	}
	keys, ends := partition(keys, 1<<(32-bits), func(k uint64) uint32 { return uint32(k >> 32 >> bits) })
	return w.registerParts(b, ends, func(c *idsChange, start, end int) { c.keys = keys[start:end] })
}

// registerParts is registerAll of ids in the order of their chunks: take gives a change
// those of its chunk.
func (w *writer) registerParts(b placement.Brand, ends []int, take func(c *idsChange, start, end int)) ([]*idsChange, error) {
	var changes []*idsChange
	start := 0
	for number, end := range ends {
		if end > start {
			c, err := w.newIDsChange(b, uint32(number))
			if err != nil {
				return nil, err
			}
			take(c, start, end)
			changes = append(changes, c)
		}
		start = end
	}
	if err := inParallel(len(changes), func(i int) error { return w.mergeRegistry(changes[i]) }); err != nil {
		return nil, err
	}
	for _, c := range changes {
		if err := w.putIDs(c); err != nil {
			return nil, err
		}
	}
	return changes, nil
}

// positionsOf makes ids of a brand known, past the journal, and returns their
// positions.
func (w *writer) positionsOf(b placement.Brand, ids []idEntry) ([]uint32, error) {
	at := places{positions: make([]uint32, len(ids))}
	if !w.set.dense() {
		for i, e := range ids {
			at.positions[i] = e.mixed.Placement()
		}
		_, err := w.registerAll(b, len(ids), slices.Values(ids))
		return at.positions, err
	}
	rows := make([]sighting, len(ids))
	for i, e := range ids {
		rows[i] = sighting{e.mixed, uint32(i)}
	}
	if w.set.keepStrings() {
		at.texts = make([]string, len(ids))
		for i, e := range ids {
			at.texts[i] = e.id
		}
	}
	rows, ends := partition(rows, hands, func(s sighting) uint32 { return handOf(s.mixed) })
	err := w.placeAll(b, deal{rows, make([]unmetID, len(rows)), ends}, &at, new(metBrand))
	return at.positions, err
}

// putIDs writes a merged registry chunk and counts its new ids.
func (w *writer) putIDs(c *idsChange) error {
	if c.value == nil {
		return nil
	}
	bucket, err := w.registry().CreateBucketIfNotExists(brandBucketKey(c.brand))
	if err == nil {
		err = bucket.Put(chunkKey(c.number), c.value)
	}
	if err != nil {
		return fmt.Errorf("registry of brand %q: %w", c.brand, err)
	}
	w.draft.dropIDs(c.brand, c.number, c.pendingPlacements)
	return w.countIDs(c.brand, c.counts, 0)
}

// putRegistryChunk writes a registry chunk of ids, ascending, or removes it where
// there are none.
func (w *writer) putRegistryChunk(b placement.Brand, number uint32, ids []idEntry) error {
	bucket, err := w.registry().CreateBucketIfNotExists(brandBucketKey(b))
	switch {
	case err != nil:
	case len(ids) == 0:
		err = bucket.Delete(chunkKey(number))
	case w.set.ids == placement.Number:
		set := roaring.New()
		for _, e := range ids {
			set.Add(e.mixed.Placement())
		}
		var value []byte
		value, err = sealChunkAs(tagIDs, idsSealKey(b, number), number, w.set.registryBits(), set)
		if err == nil {
			err = bucket.Put(chunkKey(number), value)
		}
	default:
		err = bucket.Put(chunkKey(number), sealIDs(w.set, b, number, ids))
	}
	if err != nil {
		return fmt.Errorf("registry of brand %q: %w", b, err)
	}
	return nil
}

// countIDs adds to the counts of a brand's ids and placements, modulo 2⁶⁴, and of
// its ordinals. A brand of which no id is left in the registry leaves it; that of a
// dense store keeps its ordinals.
func (w *writer) countIDs(b placement.Brand, add pair, ordinals uint64) error {
	sum, err := w.foldedCounts(b)
	if err != nil {
		return err
	}
	sum.first, sum.second, sum.ordinals = sum.first+add.first, sum.second+add.second, sum.ordinals+ordinals
	if sum.first == 0 {
		if err := w.dropRegistry(b); err != nil {
			return err
		}
	}
	if sum == (brandCounts{}) {
		err = w.brands().Delete(brandBucketKey(b))
	} else {
		err = w.brands().Put(brandBucketKey(b), sum.seal(brandBucketKey(b), w.set.dense()))
	}
	if err != nil {
		return fmt.Errorf("counts of brand %q: %w", b, err)
	}
	return nil
}

// dropRegistry removes the chunks of a brand of which the registry has no id.
func (w *writer) dropRegistry(b placement.Brand) error {
	if w.registry().Bucket(brandBucketKey(b)) == nil {
		return nil
	}
	if err := w.registry().DeleteBucket(brandBucketKey(b)); err != nil {
		return fmt.Errorf("registry of brand %q: %w", b, err)
	}
	return nil
}
