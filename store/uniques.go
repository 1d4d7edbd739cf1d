package store

import (
	"cmp"
	"fmt"
	"slices"

	"cohort/placement"
	"cohort/store/internal/hll"

	"github.com/axiomhq/hyperloglog"
)

// Estimate is an estimated number of distinct ids.
type Estimate struct {
	Count uint64
	// StdError is the standard error, one sigma, as a fraction of the count, of
	// sketches that are dense, from some five thousand ids on at precision 14. Smaller
	// ones are far closer, and exact at 0 and 1.
	StdError float64
}

// PageEstimate is the estimate of a page.
type PageEstimate struct {
	Page Page
	Estimate
}

// VisitDays lists the days of a period on which any page has visits, ascending.
// Cost: one small record a day.
func (s *Snapshot) VisitDays(p Period) (days []Day, err error) {
	err = s.do("days of visits", func() error {
		days, err = s.visitDays(p)
		return err
	})
	return days, err
}

func (r *reader) visitDays(p Period) ([]Day, error) {
	days, err := r.sketchDaysIn(p)
	r.view.visitsBetween(p, func(k visitKey, _ *visitOps) bool {
		if i, ok := slices.BinarySearch(days, k.day()); !ok {
			days = slices.Insert(days, i, k.day())
		}
		return true
	})
	return days, err
}

// Uniques estimates how many ids visited the page on any day of the periods, which
// may overlap. Cost: some microseconds a day with visits, ten where its sketch is
// dense.
func (s *Snapshot) Uniques(p Page, periods ...Period) (Estimate, error) {
	return s.estimated("uniques of page "+p.Name, func(to *hll.Sketch) error { return s.mergePage(to, p, periods) })
}

// Sketch returns the merged sketch of a page, which is the caller's: to be merged
// with others of its precision, of this store or not. The hash of an id in it is
// [placement.Mixed.Hash].
func (s *Snapshot) Sketch(p Page, periods ...Period) (l *hyperloglog.Sketch, err error) {
	err = s.do("sketch of page "+p.Name, func() error {
		to := hll.New(s.precision)
		if err := s.mergePage(to, p, periods); err != nil {
			return err
		}
		l = to.Library()
		return nil
	})
	return l, err
}

// SiteBrands lists the brands whose ids have visited any page.
func (s *Snapshot) SiteBrands() (brands []placement.Brand, err error) {
	err = s.do("brands of visits", func() error {
		brands, err = s.siteBrands()
		return err
	})
	return brands, err
}

// SiteUniques estimates how many ids of a brand visited any page on any day of the
// periods, which may overlap. Cost: one sketch a whole calendar month, week or day,
// 20 microseconds each, and what is not folded.
func (s *Snapshot) SiteUniques(b placement.Brand, periods ...Period) (Estimate, error) {
	return s.estimated(fmt.Sprintf("uniques of brand %q", b), func(to *hll.Sketch) error {
		for _, p := range disjoint(periods) {
			days, err := s.sketchDaysIn(p)
			if err != nil {
				return err
			}
			if len(days) > 0 { // outside of their months there is nothing
				first, last := s.siteSpan(siteMonth, days[0]).First, s.siteSpan(siteMonth, days[len(days)-1]).Last
				if err := s.mergeSite(to, b, p.Intersect(Period{first, last})); err != nil {
					return err
				}
			}
			s.view.visitsBetween(p, func(k visitKey, o *visitOps) bool {
				if o.brand == b {
					to.Add(s.view.visitsOf(k))
				}
				return true
			})
		}
		return nil
	})
}

// TopPages returns the n pages with the largest estimates over the periods, largest
// first, then by name and brand. A page without visits is none of them. Cost: the
// lists of all blocks of the days, and the sketches of somewhat more than n pages.
func (s *Snapshot) TopPages(n int, periods ...Period) (top []PageEstimate, err error) {
	err = s.do("top pages", func() error {
		top, err = s.topPages(n, disjoint(periods))
		return err
	})
	return top, err
}

// PageDay is one page on one day.
type PageDay struct {
	Page Page
	Day  Day
}

// VisitsHolding lists the pages and days whose sketches may hold a visit of the id:
// those that it would not change. A sketch keeps no ids, so most of what is listed
// of full sketches is there by chance, and none can be made to forget the id. Cost:
// it reads every sketch.
func (s *Snapshot) VisitsHolding(id string) (held []PageDay, err error) {
	brand, mixed, err := s.set.ids.Parse(id)
	if err != nil {
		return nil, err
	}
	err = s.do("visits of id "+id, func() error {
		held, err = s.visitsHolding(brand, mixed.Hash())
		return err
	})
	return held, err
}

func (s *Snapshot) estimated(what string, merge func(to *hll.Sketch) error) (e Estimate, err error) {
	err = s.do(what, func() error {
		to := hll.New(s.precision)
		if err := merge(to); err != nil {
			return err
		}
		e = Estimate{to.Estimate(), hll.StdError(s.precision)}
		return nil
	})
	return e, err
}

// disjoint returns periods that hold the same days, ascending and apart.
func disjoint(periods []Period) []Period {
	var out []Period
	sorted := slices.SortedFunc(slices.Values(periods), func(a, b Period) int { return cmp.Compare(a.First, b.First) })
	for _, p := range sorted {
		p = p.Intersect(Period{MinDay, MaxDay})
		if p.Empty() {
			continue
		}
		if n := len(out); n > 0 && p.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, p.Last)
			continue
		}
		out = append(out, p)
	}
	return out
}

// mergePage adds a page's visits in the periods to a sketch.
func (r *reader) mergePage(to *hll.Sketch, p Page, periods []Period) error {
	for _, period := range disjoint(periods) {
		days, err := r.visitDays(period)
		if err != nil {
			return err
		}
		for _, d := range days {
			if err := r.mergeDay(to, d, p.number); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) siteBrands() (brands []placement.Brand, err error) {
	if r.sites() != nil {
		c := r.sites().Cursor()
		for k, v := c.First(); k != nil; {
			b, _, _, ok := parseSiteKey(k)
			if !ok || !r.siteHolds(k, v) {
				return nil, corruptf("site sketches: key %x does not hold", k)
			}
			brands = append(brands, b)
			k, v = c.Seek(append(b[:], 0xff))
		}
	}
	r.view.visits.Scan(func(_ visitKey, o *visitOps) bool {
		if !slices.Contains(brands, o.brand) {
			brands = append(brands, o.brand)
		}
		return true
	})
	slices.SortFunc(brands, func(a, b placement.Brand) int { return cmp.Compare(brandKey(a), brandKey(b)) })
	return brands, nil
}

func (r *reader) visitsHolding(b placement.Brand, hash uint64) (held []PageDay, err error) {
	names, err := r.pageNames()
	if err != nil {
		return nil, err
	}
	days, err := r.visitDays(Period{MinDay, MaxDay})
	if err != nil {
		return nil, err
	}
	for _, d := range days {
		var pages []uint32
		err := r.eachSketch(d, true, func(e blockEntry, kind byte, data []byte) error {
			if names[e.page].Brand == b && hll.HoldsEncoded(r.precision, kind, data, hash) {
				pages = append(pages, e.page)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		r.view.visitsBetween(Period{d, d}, func(k visitKey, o *visitOps) bool {
			if o.brand == b && r.view.visited(k, hash) && !slices.Contains(pages, k.page()) {
				pages = append(pages, k.page())
			}
			return true
		})
		for _, n := range pages {
			held = append(held, PageDay{names[n], d})
		}
	}
	slices.SortFunc(held, func(a, b PageDay) int {
		return cmp.Or(cmp.Compare(a.Page.Name, b.Page.Name), cmp.Compare(a.Day, b.Day))
	})
	return held, nil
}
