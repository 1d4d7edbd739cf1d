package store

import (
	"bytes"
	"context"
	"fmt"

	"cohort/placement"
	"cohort/store/internal/hll"
)

// visits checks the pages and their sketches, and that the sketches of all pages of a
// brand are those of its pages and days.
func (v *verifier) visits(ctx context.Context) error {
	var names map[uint32]Page
	v.check("pages", func() (err error) {
		names, err = v.pageNames()
		for number, p := range names {
			if uint64(number) > v.reader.pages().Sequence() {
				v.fault(fmt.Sprintf("page %q", p.Name), corruptf("its number %d will be used again", number))
			}
		}
		return err
	})
	days := make(map[Day]bool)
	v.eachEntry("days of sketches", v.sketchDays(), func(key, value []byte) error {
		d, _ := parseSketchDayKey(key)
		if !sketchDayHolds(key, value) {
			return corruptf("key %x does not hold", key)
		}
		days[d] = true
		return nil
	})
	v.eachEntry("sketches", v.sketches(), func(key, _ []byte) error {
		if d, ok := parseSketchDayKey(key); !ok || !days[d] {
			return corruptf("key %x: sketches without a total", key)
		}
		return nil
	})
	union := make(map[string]*hll.Sketch) // by key of a site
	for d := range days {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !v.isBroken(bucketSketches, sketchDayKey(d)) {
			v.check(fmt.Sprintf("sketches of %s", d), func() error { return v.sketchesOf(d, names, union) })
		}
	}
	v.eachEntry("sketches of sites", v.sites(), func(key, _ []byte) error {
		b, step, first, ok := parseSiteKey(key)
		if !ok {
			return corruptf("key %x is that of no site", key)
		}
		got, err := v.site(b, step, first)
		if err != nil {
			return err
		}
		want := union[string(key)]
		delete(union, string(key))
		if want == nil || !sameSketch(got, want) {
			return corruptf("the sketch of %s from %s on is not that of its pages", brandName(b[:]), first)
		}
		return nil
	})
	for key := range union {
		v.fault("sketches of sites", corruptf("the sketch of key %x is missing", key))
	}
	return nil
}

// sketchesOf checks the sketches of a day, and adds them to the sites they are part of.
func (v *verifier) sketchesOf(d Day, names map[uint32]Page, union map[string]*hll.Sketch) error {
	return v.eachSketch(d, true, func(e blockEntry, kind byte, data []byte) error {
		where := fmt.Sprintf("page %d, sketch of %s", e.page, d)
		p, ok := names[e.page]
		if !ok {
			v.fault(where, corruptf("no page has the number"))
			return nil
		}
		s, ok := hll.Decode(v.precision, kind, data)
		if !ok {
			v.fault(where, corruptf("it does not hold together"))
			return nil
		}
		if got := s.Estimate(); got != e.estimate {
			v.fault(where, corruptf("it is of %d, where %d is noted", got, e.estimate))
		}
		for _, step := range []siteStep{siteDay, siteWeek, siteMonth} {
			addTo(union, p.Brand, step, v.siteSpan(step, d).First, s)
		}
		return nil
	})
}

func addTo(union map[string]*hll.Sketch, b placement.Brand, step siteStep, first Day, s *hll.Sketch) {
	key := string(siteKey(b, step, first))
	if union[key] == nil {
		union[key] = hll.New(s.Precision())
	}
	union[key].Merge(s)
}

func sameSketch(a, b *hll.Sketch) bool {
	kindA, dataA := a.Encode()
	kindB, dataB := b.Encode()
	return kindA == kindB && bytes.Equal(dataA, dataB)
}
