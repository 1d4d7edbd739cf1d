package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"cohort/placement"
	"cohort/store/internal/hll"

	bolt "go.etcd.io/bbolt"
)

// sketchTotal returns how many sketches a day has, and the bytes they take.
func (r *reader) sketchTotal(d Day) (pair, error) {
	b := r.sketchDays()
	if b == nil {
		return pair{}, nil
	}
	v, err := lookup(b, sketchDayKey(d), sketchDayHolds)
	if v == nil || err != nil {
		return pair{}, err
	}
	return openSketchTotal(d, v)
}

func openSketchTotal(d Day, v []byte) (pair, error) {
	t, ok := unsealPair(tagSketchDay, sketchDayKey(d), v)
	if !ok {
		return t, corruptf("the total of the sketches of %s: checksum does not hold", d)
	}
	return t, nil
}

func sketchDayHolds(key, value []byte) bool {
	_, ok := unsealPair(tagSketchDay, key, value)
	return ok && len(key) == 4
}

// sketchDaysIn lists the days of a period with folded sketches, ascending.
func (r *reader) sketchDaysIn(p Period) (days []Day, err error) {
	b := r.sketchDays()
	if p = p.Intersect(Period{MinDay, MaxDay}); b == nil || p.Empty() {
		return nil, nil
	}
	c := b.Cursor()
	k, _ := c.Seek(sketchDayKey(p.First))
	if before, v := previous(c, k); before != nil && !sketchDayHolds(before, v) {
		return nil, corruptf("days of sketches: key %x does not hold", before)
	}
	for k, v := c.Seek(sketchDayKey(p.First)); k != nil; k, v = c.Next() {
		if !sketchDayHolds(k, v) { // the one behind the period too
			return nil, corruptf("days of sketches: key %x does not hold", k)
		}
		d, _ := parseSketchDayKey(k)
		if d > p.Last {
			break
		}
		days = append(days, d)
	}
	return days, nil
}

// sketchBucket returns the bucket of a day's sketches, or nil where none is folded.
func (r *reader) sketchBucket(d Day) (*bolt.Bucket, error) {
	b := r.sketches()
	if b == nil {
		return nil, nil
	}
	if b = b.Bucket(sketchDayKey(d)); b != nil {
		return b, nil
	}
	t, err := r.sketchTotal(d)
	if err == nil && t.first > 0 {
		err = corruptf("the sketches of %s are missing", d)
	}
	return nil, err
}

// block returns the entries of a block; ok is false where there is none.
func (r *reader) block(b *bolt.Bucket, d Day, page uint32) (entries blockEntries, ok bool, err error) {
	block := blockOf(page)
	v, err := r.sketchEntry(b, d, blockKey(block))
	if v == nil && err == nil {
		err = r.isWholeSketches(b, d)
	}
	if v == nil || err != nil {
		return entries, false, err
	}
	p, ok := r.verified.unseal(tagSketchBlock, daySealKey(d, blockKey(block)), v)
	if !ok {
		return entries, false, r.fault(&sketchFault{d, page, blockChecksum})
	}
	return openBlock(block, p), true, nil
}

// foldedSketch returns the kind and the data of a page's sketch of a day, which
// alias the file; kind is 0 where there is none.
func (r *reader) foldedSketch(d Day, page uint32) (kind byte, data []byte, err error) {
	b, err := r.sketchBucket(d)
	if b == nil || err != nil {
		return 0, nil, err
	}
	entries, ok, err := r.block(b, d, page)
	if !ok || err != nil {
		return 0, nil, err
	}
	for e, ok := entries.next(); ok && e.page <= page; e, ok = entries.next() {
		if e.page == page {
			return r.openEntry(b, d, e)
		}
	}
	if entries.bad {
		return 0, nil, r.fault(&sketchFault{d, page, blockLengths})
	}
	return 0, nil, nil
}

// openEntry returns the kind and the data of an entry's sketch.
func (r *reader) openEntry(b *bolt.Bucket, d Day, e blockEntry) (kind byte, data []byte, err error) {
	var large []byte
	if e.large {
		if large, err = r.sketchEntry(b, d, pageKey(e.page)); err != nil {
			return 0, nil, fmt.Errorf("%w: %w", r.fault(&sketchFault{d, e.page, sketchMissing}), err)
		}
	}
	kind, data, reason := r.sketchData(d, e, large)
	if reason != "" {
		return 0, nil, r.fault(&sketchFault{d, e.page, reason})
	}
	return kind, data, nil
}

// mergeDay adds a page's visits of a day, folded or not, to a sketch.
func (r *reader) mergeDay(to *hll.Sketch, d Day, page uint32) error {
	kind, data, err := r.foldedSketch(d, page)
	if err != nil {
		return err
	}
	if kind != 0 {
		s, ok := hll.Decode(r.precision, kind, data)
		if !ok {
			return r.fault(&sketchFault{d, page, sketchState})
		}
		to.Merge(s)
	}
	if hashes := r.view.visitsOf(makeVisitKey(d, page)); len(hashes) > 0 {
		to.Add(hashes)
	}
	return nil
}

// visitHeld reports whether a visit would change nothing: neither the sketch nor
// what the journal has for it.
func (r *reader) visitHeld(k visitKey, hash uint64) (bool, error) {
	kind, data, err := r.foldedSketch(k.day(), k.page())
	if kind == 0 || err != nil {
		return false, err
	}
	return hll.HoldsEncoded(r.precision, kind, data, hash), nil
}

// eachSketch calls fn with the sketches of a day that are folded, in the order of
// their pages' numbers, and checks that they are all. Data aliases the file; it is
// nil, and not read, of large ones unless open is set.
func (r *reader) eachSketch(d Day, open bool, fn func(e blockEntry, kind byte, data []byte) error) error {
	total, err := r.sketchTotal(d)
	if err != nil {
		return err
	}
	b, err := r.sketchBucket(d)
	if b == nil || err != nil {
		return err
	}
	n, size := uint64(0), uint64(0)
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		size += uint64(len(v))
		if len(k) != 3 {
			continue
		}
		page := binary.BigEndian.Uint32(append(k[:3:3], 0))
		payload, ok := r.verified.unseal(tagSketchBlock, daySealKey(d, k), v)
		if !ok {
			return r.fault(&sketchFault{d, page, blockChecksum})
		}
		entries := openBlock(blockOf(page), payload)
		for e, ok := entries.next(); ok; e, ok = entries.next() {
			n++
			kind, data := byte(hll.Sparse), e.data
			if e.large && open {
				if kind, data, err = r.openEntry(b, d, e); err != nil {
					return err
				}
			}
			if err := fn(e, kind, data); err != nil {
				return err
			}
		}
		if entries.bad {
			return r.fault(&sketchFault{d, page, blockLengths})
		}
	}
	if n != total.first || size != total.second {
		return corruptf("the sketches of %s are %d in %d bytes, not %d in %d", d, n, size, total.first, total.second)
	}
	return nil
}

// site returns the sketch of all pages of a brand, as far as it is folded. It is
// empty, never nil, where there is none.
func (r *reader) site(b placement.Brand, step siteStep, first Day) (*hll.Sketch, error) {
	s := hll.New(r.precision)
	if r.sites() == nil {
		return s, nil
	}
	key := siteKey(b, step, first)
	v, err := lookup(r.sites(), key, r.siteHolds)
	if v == nil || err != nil {
		return s, err
	}
	p, ok := r.verified.unseal(tagSite, key, v)
	if ok && len(p) > 0 {
		s, ok = hll.Decode(r.precision, p[0], p[1:])
	}
	if !ok || len(p) == 0 {
		return nil, corruptf("the site sketch of brand %q from %s on: checksum does not hold", b, first)
	}
	return s, nil
}

func (r *reader) siteHolds(key, value []byte) bool {
	_, ok := r.verified.unseal(tagSite, key, value)
	return ok && len(key) == 8
}

// siteSpan returns the days of the step that a day is in.
func (r *reader) siteSpan(step siteStep, d Day) Period {
	switch step {
	case siteWeek:
		start := time.Monday
		if r.set.weekStart == Sunday {
			start = time.Sunday
		}
		first := d - Day(d.Weekday()-start+7)%7
		return Period{first, first + 6}
	case siteMonth:
		y, m, _ := d.Date()
		return Period{Date(y, m, 1), Date(y, m+1, 1) - 1}
	}
	return Period{d, d}
}

// mergeSite adds the visits of all pages of a brand in a period to a sketch: of
// whole months, then whole weeks, then days.
func (r *reader) mergeSite(to *hll.Sketch, b placement.Brand, p Period) error {
	for d := p.First; d <= p.Last; {
		step, span := siteDay, Period{d, d}
		for _, longer := range []siteStep{siteMonth, siteWeek} {
			if s := r.siteSpan(longer, d); s.First == d && s.Last <= p.Last {
				step, span = longer, s
				break
			}
		}
		s, err := r.site(b, step, span.First)
		if err != nil {
			return err
		}
		to.Merge(s)
		d = span.Last + 1
	}
	return nil
}
