package query

import (
	"context"
	"fmt"
	"strings"

	"cohort/placement"
	"cohort/store"
)

// PageUniques is the estimated number of distinct ids of a brand that visited a
// page, or any page of the site.
type PageUniques struct {
	Page  string // "" of the site
	Brand placement.Brand
	store.Estimate
}

// ErrSketchSets: a set expression where a page is wanted. Sketches can be united,
// over any days, and nothing else. The size of an intersection could only come out
// as a difference of estimates, |A| + |B| − |A ∪ B|, whose error is a fraction of the
// large sets, not of the small one: 1 % of a million visitors is ten thousand, more
// than many an intersection has. Marked as events, the same visits give it exactly.
var ErrSketchSets error = &usageError{"sketches cannot be intersected or subtracted: their error would be that of the sets, not of the result; " +
	"mark the visits as events, and count the expression"}

// Uniques estimates how many distinct ids visited each page on any day of the
// periods together, which may overlap; see [store.DB.Observe]. There is a row for
// each brand that has visited the page, in the order of the pages, then of the
// brands; brands are counted apart. A page never visited has one row, of the nameless
// brand and 0. Open ends and all run over the days on which any page has visits.
// It reads every stored day of the periods unless [AsOf] is given.
//
// The error is a period's, [ErrSketchSets] where a page is a set expression and no
// page has that name, the context's or the store's.
func Uniques(ctx context.Context, src Source, pages []string, periods []Period, opts ...Option) (all []PageUniques, err error) {
	err = askVisits(src, periods, opts, func(v *view, days []store.Period) error {
		for _, name := range pages {
			rows, err := v.pageUniques(ctx, name, days)
			if err != nil {
				return err
			}
			all = append(all, rows...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// SiteUniques estimates how many distinct ids of each brand visited any page on any
// day of the periods together. There is a row for each brand that has visited. The
// store keeps a sketch of each day, week and month, so that its cost does not depend
// on the number of pages: one merge of 16 KiB a month or part of one. The error is a
// period's, the context's or the store's.
func SiteUniques(ctx context.Context, src Source, periods []Period, opts ...Option) (all []PageUniques, err error) {
	err = askVisits(src, periods, opts, func(v *view, days []store.Period) error {
		brands, err := v.snap.SiteBrands()
		if err != nil {
			return err
		}
		for _, b := range brands {
			if err := ctx.Err(); err != nil {
				return err
			}
			e, err := v.snap.SiteUniques(b, days...)
			if err != nil {
				return err
			}
			all = append(all, PageUniques{Brand: b, Estimate: e})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// TopPages returns the n pages with the most distinct ids on any day of the periods
// together, n ≥ 1, largest first, then in the order of names and brands. Cost: a walk
// over the numbers that are kept beside the sketches of those days, about 10 ns a
// page and day, and the merging of somewhat more than n pages. Errors are those of
// [SiteUniques], and an n below 1, which matches [ErrUsage].
func TopPages(ctx context.Context, src Source, n int, periods []Period, opts ...Option) (top []PageUniques, err error) {
	if n < 1 {
		return nil, usagef("top %d: must be at least 1", n)
	}
	err = askVisits(src, periods, opts, func(v *view, days []store.Period) error {
		pages, err := v.snap.TopPages(n, days...)
		for _, p := range pages {
			top = append(top, PageUniques{p.Page.Name, p.Page.Brand, p.Estimate})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return top, nil
}

// askVisits takes a view and lets a question read the days of the periods.
func askVisits(src Source, periods []Period, opts []Option, question func(*view, []store.Period) error) error {
	s, err := apply(opts)
	if err != nil {
		return err
	}
	return ask(src, s.asOf, false, func(v *view) error {
		stored, err := v.snap.VisitDays(store.Period{First: store.MinDay, Last: store.MaxDay})
		if err != nil {
			return err
		}
		env := v.env
		env.Stored = noDays
		if n := len(stored); n > 0 {
			env.Stored = store.Period{First: stored[0], Last: stored[n-1]}
		}
		days := make([]store.Period, len(periods))
		for i, p := range periods {
			if days[i], err = p.Resolve(env); err != nil {
				return err
			}
		}
		return question(v, days)
	})
}

// pageUniques returns the rows of one page.
func (v *view) pageUniques(ctx context.Context, name string, days []store.Period) ([]PageUniques, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pages, err := v.snap.Pages(name)
	if err != nil {
		return nil, fmt.Errorf("page %s: %w", quote(name), err)
	}
	if len(pages) == 0 {
		if err := notPage(name); err != nil {
			return nil, fmt.Errorf("%s: %w", quote(name), err)
		}
		e, err := v.snap.Uniques(store.Page{Name: name})
		return []PageUniques{{Page: name, Estimate: e}}, err
	}
	rows := make([]PageUniques, len(pages))
	for i, p := range pages {
		e, err := v.snap.Uniques(p, days...)
		if err != nil {
			return nil, err
		}
		rows[i] = PageUniques{name, p.Brand, e}
	}
	return rows, nil
}

// notPage returns an error for a text that is no page's name but a set expression, or
// meant as one.
func notPage(text string) error {
	for _, operator := range []string{" & ", " - ", " ^ ", " | "} {
		if strings.Contains(text, operator) {
			return ErrSketchSets
		}
	}
	// Addresses have = and & in them, and so parse as comparisons of fields.
	if _, err := Parse(text); err == nil && meantAsSet(text) {
		return oneSetError{}
	}
	return nil
}

// oneSetError is ErrSketchSets where nothing is intersected.
type oneSetError struct{}

func (oneSetError) Error() string {
	return "a set expression, where a page is wanted: give the name of the page alone, and the days as periods; " +
		"or count the expression, which is exact, if the visits are marked as events"
}

func (oneSetError) Is(target error) bool { return target == ErrSketchSets || target == ErrUsage }
