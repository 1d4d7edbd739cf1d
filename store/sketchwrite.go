package store

import (
	"bytes"
	"fmt"

	"cohort/placement"

	bolt "go.etcd.io/bbolt"
)

// pageVisits are visits of one page on one day: the hashes of the ids.
type pageVisits struct {
	page   uint32
	brand  placement.Brand
	hashes []uint64
}

// sketchDay is a day while a transaction adds visits to it.
type sketchDay struct {
	day    Day
	bucket *bolt.Bucket
	sites  map[placement.Brand][]uint64 // hashes that the site sketches are to get

	sketches, bytes int64 // what the day's total is to change by
}

func (w *writer) openSketchDay(day Day) (*sketchDay, error) {
	b, err := w.sketches().CreateBucketIfNotExists(sketchDayKey(day))
	if err != nil {
		return nil, fmt.Errorf("sketches of %s: %w", day, err)
	}
	return &sketchDay{day: day, bucket: b, sites: make(map[placement.Brand][]uint64)}, nil
}

// blockChange is what visits make of one block. mergeBlock may run beside that of
// other blocks; only the rest needs the transaction.
type blockChange struct {
	day   Day
	block uint32
	add   []pageVisits // ascending by page

	old    []byte            // the sealed block, or nil
	larges map[uint32][]byte // sealed large sketches of the pages: before, then after

	value           []byte // the new sealed block
	sketches, bytes int64
	changed         uint64 // visits that changed a sketch
	err             *sketchFault
}

// sketchFault says that a sketch could not be read.
type sketchFault struct {
	day    Day
	page   uint32
	reason string
}

func (f *sketchFault) Error() string { return f.reason }

// fault names a sketch that could not be read by its page and day.
func (r *reader) fault(f *sketchFault) error {
	return corruptf("the sketch of page %s on %s: %s", r.pageName(f.page), f.day, f.reason)
}

// Why a sketch cannot be read.
const (
	blockChecksum  = "the checksum of its block does not hold"
	blockLengths   = "the lengths of its block do not hold together"
	sketchMissing  = "it is missing"
	sketchChecksum = "its checksum does not hold"
	sketchState    = "it is no state of a sketch"
)

// newBlockChange reads what a change of a block starts from.
func (w *writer) newBlockChange(d *sketchDay, add []pageVisits) (*blockChange, error) {
	c := &blockChange{day: d.day, block: blockOf(add[0].page), add: add, larges: make(map[uint32][]byte)}
	var err error
	if c.old, err = w.sketchEntry(d.bucket, d.day, blockKey(c.block)); err != nil || c.old == nil {
		return c, err
	}
	payload, ok := w.verified.unseal(tagSketchBlock, daySealKey(d.day, blockKey(c.block)), c.old)
	if !ok {
		return nil, w.fault(&sketchFault{d.day, add[0].page, blockChecksum})
	}
	entries := openBlock(c.block, payload)
	for e, ok := entries.next(); ok && len(add) > 0; e, ok = entries.next() {
		for len(add) > 0 && add[0].page < e.page {
			add = add[1:]
		}
		if !e.large || len(add) == 0 || add[0].page != e.page {
			continue
		}
		if c.larges[e.page], err = w.sketchEntry(d.bucket, d.day, pageKey(e.page)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// sketchEntry returns a sealed value from a day's bucket, or nil.
func (r *reader) sketchEntry(b *bolt.Bucket, day Day, key []byte) ([]byte, error) {
	return lookup(b, key, func(key, value []byte) bool {
		t := tagSketchBlock
		if len(key) == 4 {
			t = tagSketch
		}
		_, ok := r.verified.unseal(t, daySealKey(day, key), value)
		return ok
	})
}

// mergeBlock computes the new block and its large sketches.
func (r *reader) mergeBlock(c *blockChange) error {
	old := blockEntries{last: -1, list: []byte{0, 0}} // none
	if c.old != nil {
		old = openBlock(c.block, c.old[sealSize:])
	}
	before := c.larges
	c.larges = make(map[uint32][]byte)
	c.bytes = -int64(len(c.old))
	var out blockWriter
	e, more := old.next()
	for add := c.add; more || len(add) > 0; {
		switch {
		case len(add) == 0 || more && e.page < add[0].page:
			out.add(e)
			e, more = old.next()
			continue
		case more && e.page == add[0].page:
			if c.err = r.mergeEntry(c, &e, add[0], before[e.page]); c.err == nil {
				out.add(e)
			}
			e, more = old.next()
		default:
			fresh := blockEntry{page: add[0].page}
			if c.err = r.mergeEntry(c, &fresh, add[0], nil); c.err == nil {
				out.add(fresh)
			}
			c.sketches++
		}
		if c.err != nil {
			return c.err
		}
		add = add[1:]
	}
	if old.bad {
		c.err = &sketchFault{c.day, c.add[0].page, blockLengths}
		return c.err
	}
	c.value = out.seal(c.day, c.block)
	c.bytes += int64(len(c.value))
	return nil
}

// mergeEntry adds the visits of one page to its entry.
func (r *reader) mergeEntry(c *blockChange, e *blockEntry, v pageVisits, large []byte) *sketchFault {
	s := &sketch{p: r.precision}
	if e.estimate > 0 { // it was there
		kind, data, reason := r.sketchData(c.day, *e, large)
		if reason == "" {
			var ok bool
			if s, ok = decodeSketch(r.precision, kind, data); !ok {
				reason = sketchState
			}
		}
		if reason != "" {
			return &sketchFault{c.day, e.page, reason}
		}
	}
	changed := s.add(v.hashes)
	if changed == 0 {
		return nil
	}
	c.changed += changed
	e.estimate = s.estimate()
	kind, data := s.encode()
	if e.large = kind == sketchDense || len(data) > smallSketch; !e.large {
		e.data = data
		return nil
	}
	e.data = nil
	value := sealSketch(tagSketch, daySealKey(c.day, pageKey(e.page)), s)
	c.larges[e.page] = value
	c.bytes += int64(len(value) - len(large))
	return nil
}

// sketchData returns the kind and the data of an entry's sketch, or why there are
// none. Large is the sealed value of one that stands by itself.
func (r *reader) sketchData(day Day, e blockEntry, large []byte) (kind byte, data []byte, reason string) {
	if !e.large {
		return sketchSparse, e.data, ""
	}
	if large == nil {
		return 0, nil, sketchMissing
	}
	p, ok := r.verified.unseal(tagSketch, daySealKey(day, pageKey(e.page)), large)
	if !ok || len(p) == 0 {
		return 0, nil, sketchChecksum
	}
	return p[0], p[1:], ""
}

// putBlock writes a merged block. It returns how many bytes that are.
func (d *sketchDay) putBlock(c *blockChange) (written int, err error) {
	if c.changed == 0 {
		return 0, nil
	}
	if err := d.bucket.Put(blockKey(c.block), c.value); err != nil {
		return 0, fmt.Errorf("sketches of %s: %w", d.day, err)
	}
	written = len(c.value)
	for page, value := range c.larges {
		if err := d.bucket.Put(pageKey(page), value); err != nil {
			return 0, fmt.Errorf("sketches of %s: %w", d.day, err)
		}
		written += len(value)
	}
	d.sketches += c.sketches
	d.bytes += c.bytes
	for _, v := range c.add {
		d.sites[v.brand] = append(d.sites[v.brand], v.hashes...)
	}
	return written, nil
}

// addVisits adds visits of pages of one block to a day. It returns how many
// changed a sketch, and the bytes written.
func (w *writer) addVisits(d *sketchDay, blocks ...[]pageVisits) (changed uint64, written int, err error) {
	changes := make([]*blockChange, len(blocks))
	for i, add := range blocks {
		if changes[i], err = w.newBlockChange(d, add); err != nil {
			return 0, 0, err
		}
	}
	err = inParallel(len(changes), func(i int) error { return w.mergeBlock(changes[i]) })
	for _, c := range changes {
		if c.err != nil {
			return 0, 0, w.fault(c.err)
		}
	}
	if err != nil {
		return 0, 0, err
	}
	for _, c := range changes {
		n, err := d.putBlock(c)
		if err != nil {
			return 0, 0, err
		}
		changed += c.changed
		written += n
	}
	return changed, written, nil
}

// close brings the day's total and the site sketches up to date.
func (w *writer) closeSketchDay(d *sketchDay) error {
	if d.sketches != 0 || d.bytes != 0 {
		have, err := w.sketchTotal(d.day)
		if err != nil {
			return err
		}
		sum := pair{have.first + uint64(d.sketches), have.second + uint64(d.bytes)}
		key := sketchDayKey(d.day)
		if err := w.sketchDays().Put(key, sum.seal(tagSketchDay, key)); err != nil {
			return fmt.Errorf("total of sketches of %s: %w", d.day, err)
		}
	}
	for b, hashes := range d.sites {
		for step := siteDay; step <= siteMonth; step++ {
			if err := w.addToSite(b, step, w.siteSpan(step, d.day).First, hashes); err != nil {
				return err
			}
		}
	}
	return nil
}

// addToSite adds hashes to a site sketch.
func (w *writer) addToSite(b placement.Brand, step siteStep, first Day, hashes []uint64) error {
	s, err := w.site(b, step, first)
	if err != nil || s.add(hashes) == 0 {
		return err
	}
	return w.putSite(b, step, first, s)
}

func (w *writer) putSite(b placement.Brand, step siteStep, first Day, s *sketch) error {
	key := siteKey(b, step, first)
	if err := w.sites().Put(key, sealSketch(tagSite, key, s)); err != nil {
		return fmt.Errorf("site sketch of %s: %w", first, err)
	}
	return nil
}

// foldVisits folds units of the first one's day until limit bytes are written. It
// returns how many it folded, and the bytes written.
func (w *writer) foldVisits(work []foldUnit, limit int) (n, written int, err error) {
	day := work[0].day.day()
	var d *sketchDay
	for n < len(work) && work[n].visits && work[n].day.day() == day && written < limit {
		var add []pageVisits
		w.view.blockVisits(day, work[n].number, func(k visitKey, o *visitOps) {
			add = append(add, pageVisits{k.page(), o.brand, w.view.visitsOf(k)})
		})
		w.units = append(w.units, foldedUnit{foldUnit: work[n]})
		n++
		if len(add) == 0 { // deleted meanwhile
			continue
		}
		if d == nil {
			if d, err = w.openSketchDay(day); err != nil {
				return 0, 0, err
			}
		}
		_, size, err := w.addVisits(d, add)
		if err != nil {
			return 0, 0, err
		}
		written += size
		for _, v := range add {
			w.draft.dropVisits(makeVisitKey(day, v.page))
		}
	}
	if d == nil {
		return n, 0, nil
	}
	if err := w.closeSketchDay(d); err != nil {
		return 0, 0, err
	}
	left := false
	w.view.visitsBetween(Period{day, day}, func(visitKey, *visitOps) bool {
		left = true
		return false
	})
	if left {
		return n, written, nil
	}
	return n, written, w.markFolded(foldedSketches(day))
}

// deleteSketches removes the sketches of the days of a period, and what the
// journal has for them. The site sketches of weeks and months that keep some of
// their days are made again from those.
func (w *writer) deleteSketches(p Period) error {
	days, err := w.sketchDaysIn(p)
	if err != nil {
		return err
	}
	gone := make(map[Day]bool)
	for _, d := range days {
		gone[d] = true
	}
	var drop []visitKey
	w.view.visitsBetween(p, func(k visitKey, _ *visitOps) bool {
		drop = append(drop, k)
		gone[k.day()] = true
		return true
	})
	for _, k := range drop {
		w.draft.dropVisits(k)
	}
	for d := range gone {
		key := sketchDayKey(d)
		if err := w.sketchDays().Delete(key); err != nil {
			return fmt.Errorf("total of sketches of %s: %w", d, err)
		}
		if w.sketches().Bucket(key) != nil {
			if err := w.sketches().DeleteBucket(key); err != nil {
				return fmt.Errorf("sketches of %s: %w", d, err)
			}
		}
		if w.view.records() > 0 {
			if err := w.markFolded(foldedSketches(d)); err != nil {
				return err
			}
		}
	}
	return w.deleteSites(gone)
}

// deleteSites removes the site sketches of days, and makes those of their weeks
// and months again.
func (w *writer) deleteSites(gone map[Day]bool) error {
	type site struct {
		brand placement.Brand
		step  siteStep
		first Day
	}
	var sites []site
	var keys [][]byte
	c := w.sites().Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		b, step, first, ok := parseSiteKey(k)
		if !ok {
			return corruptf("site sketches: a key of %d bytes", len(k))
		}
		for d := range w.siteSpan(step, first).Days() {
			if gone[d] {
				sites, keys = append(sites, site{b, step, first}), append(keys, bytes.Clone(k))
				break
			}
		}
	}
	for _, k := range keys {
		if err := w.sites().Delete(k); err != nil {
			return fmt.Errorf("site sketch: %w", err)
		}
	}
	for _, s := range sites {
		if s.step == siteDay {
			continue
		}
		sum := &sketch{p: w.precision}
		for d := range w.siteSpan(s.step, s.first).Days() {
			day, err := w.site(s.brand, siteDay, d)
			if err != nil {
				return err
			}
			sum.merge(day)
		}
		if sum.estimate() == 0 {
			continue
		}
		if err := w.putSite(s.brand, s.step, s.first, sum); err != nil {
			return err
		}
	}
	return nil
}
