package store

import (
	"bytes"
	"fmt"

	"cohort/placement"
	"cohort/store/internal/hll"

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
	if err == nil {
		err = w.isWholeSketches(b, day)
	}
	if err != nil {
		return nil, fmt.Errorf("sketches of %s: %w", day, err)
	}
	return &sketchDay{day: day, bucket: b, sites: make(map[placement.Brand][]uint64)}, nil
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
	if err != nil || s.Add(hashes) == 0 {
		return err
	}
	return w.putSite(b, step, first, s)
}

func (w *writer) putSite(b placement.Brand, step siteStep, first Day, s *hll.Sketch) error {
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
		sum := hll.New(w.precision)
		for d := range w.siteSpan(s.step, s.first).Days() {
			day, err := w.site(s.brand, siteDay, d)
			if err != nil {
				return err
			}
			sum.Merge(day)
		}
		if sum.Estimate() == 0 {
			continue
		}
		if err := w.putSite(s.brand, s.step, s.first, sum); err != nil {
			return err
		}
	}
	return nil
}
