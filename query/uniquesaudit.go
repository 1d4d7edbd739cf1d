package query

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"cohort/store"
)

// UniquesAudit compares sketches with exact counts.
type UniquesAudit struct {
	// Pages are the pages compared, over the periods together.
	Pages []PageAudit
	// Errors is how the errors are distributed over all sets compared: each page on
	// each of the days, and each page over the periods; nil where none was.
	Errors *ErrorDistribution
}

// PageAudit is one estimate beside the truth.
type PageAudit struct {
	PageUniques
	Truth uint64 // ids marked with the event of the page's name
	Error float64
	// Days with both visits and marks, which are those compared, and days with one
	// of them only.
	Days, DaysApart int
}

// ErrorDistribution is how errors are distributed, as fractions of the truth. The
// standard error is 1.04/√m of m registers (Flajolet, Fusy, Gandouet and Meunier,
// HyperLogLog, 2007), from which the three shares are counted.
type ErrorDistribution struct {
	Sets     int     `json:"sets"`
	StdError float64 `json:"std_error"` // what dense sketches should have
	RMS      float64 `json:"rms"`       // root mean square
	Mean     float64 `json:"mean"`      // the bias
	Median   float64 `json:"median"`    // of what is off, either way, as all below
	P95      float64 `json:"p95"`
	Worst    float64 `json:"worst"`
	Within1  float64 `json:"within_1_std"` // share of the sets; a normal distribution has 0.68
	Within2  float64 `json:"within_2_std"` // 0.95
	Within3  float64 `json:"within_3_std"` // 0.997
}

// AuditUniques compares the estimates of pages with the exact counts of the events
// of the same names and brands, on the days that have both visits and marks: it is
// for pages that are observed and marked alike. No pages are all pages of which
// there is such an event. The truth is a count of placements, see [Count].
//
// It reads one sketch and one count a page and day, and the union of the days of each
// page. Errors are those of [Uniques], and that of a page named that has no visits or no
// such event.
func AuditUniques(ctx context.Context, src Source, pages []string, periods []Period, opts ...Option) (UniquesAudit, error) {
	a := UniquesAudit{Pages: []PageAudit{}}
	var errs []float64
	err := askVisits(src, periods, opts, func(v *view, days []store.Period) error {
		audited, err := v.auditedPages(pages)
		if err != nil {
			return err
		}
		for _, p := range audited {
			row, all, err := v.auditPage(ctx, p, days)
			if err != nil {
				return fmt.Errorf("page %s: %w", quote(p.Name), err)
			}
			a.Pages = append(a.Pages, row)
			errs = append(errs, all...)
		}
		a.Errors = distribution(errs, float64(v.snap.Config().SketchPrecision))
		return nil
	})
	if err != nil {
		return UniquesAudit{}, err
	}
	return a, nil
}

// auditedPages returns the pages of some names, or all of them, of which there is an
// event of the same brand. A name that has none is an error where it was given.
func (v *view) auditedPages(names []string) (audited []store.Page, err error) {
	add := func(pages []store.Page) (added bool, err error) {
		for _, p := range pages {
			e, ok, err := v.snap.Event(p.Name)
			if err != nil {
				return false, err
			}
			if ok && e.Brand == p.Brand {
				audited, added = append(audited, p), true
			}
		}
		return added, nil
	}
	if len(names) == 0 {
		pages, err := v.snap.AllPages()
		if err == nil {
			_, err = add(pages)
		}
		return audited, err
	}
	for _, name := range names {
		pages, err := v.snap.Pages(name)
		if err != nil {
			return nil, err
		}
		added, err := add(pages)
		if err != nil {
			return nil, err
		}
		if !added {
			return nil, fmt.Errorf("page %s: to be audited, it must have visits, and marks of an event of its name and brand", quote(name))
		}
	}
	return audited, nil
}

// auditPage compares one page, and returns the errors of all its sets.
func (v *view) auditPage(ctx context.Context, p store.Page, periods []store.Period) (row PageAudit, errs []float64, err error) {
	row.PageUniques = PageUniques{Page: p.Name, Brand: p.Brand}
	e, _, err := v.event(p.Name)
	if err != nil {
		return row, nil, err
	}
	days, marks, err := v.auditDays(e, periods)
	if err != nil {
		return row, nil, err
	}
	var both []store.Period
	var union Expr
	for _, day := range days {
		if err := ctx.Err(); err != nil {
			return row, nil, err
		}
		of := store.Period{First: day, Last: day}
		estimate, err := v.snap.Uniques(p, of)
		if err != nil {
			return row, nil, err
		}
		if estimate.Count == 0 || marks[day] == 0 {
			if estimate.Count+marks[day] > 0 {
				row.DaysApart++
			}
			continue
		}
		errs = append(errs, relative(estimate.Count, marks[day]))
		both = append(both, of)
		if set := Of(p.Name, Day(day)); union == nil {
			union = set
		} else {
			union = Or(union, set)
		}
	}
	if row.Days = len(both); row.Days == 0 {
		return row, nil, nil
	}
	if row.Estimate, err = v.snap.Uniques(p, both...); err != nil {
		return row, nil, err
	}
	truth, err := Size(ctx, v.snap, union)
	if err != nil {
		return row, nil, err
	}
	row.Truth = truth.Count
	row.Error = relative(row.Count, row.Truth)
	return row, append(errs, row.Error), nil
}

// auditDays lists, ascending, the days of some periods that have visits or marks of an
// event, and how many ids are marked on each.
func (v *view) auditDays(e store.Event, periods []store.Period) (days []store.Day, marks map[store.Day]uint64, err error) {
	marks = make(map[store.Day]uint64)
	for _, period := range periods {
		marked, err := v.snap.Days(e, period)
		if err != nil {
			return nil, nil, err
		}
		for _, d := range marked {
			marks[d.Day] = d.Count
		}
		visited, err := v.snap.VisitDays(period)
		if err != nil {
			return nil, nil, err
		}
		days = append(days, visited...)
	}
	days = slices.AppendSeq(days, maps.Keys(marks))
	slices.Sort(days)
	return slices.Compact(days), marks, nil
}

func relative(estimate, truth uint64) float64 { return float64(estimate)/float64(truth) - 1 }

// distribution describes errors of sketches of a precision.
func distribution(errs []float64, precision float64) *ErrorDistribution {
	if len(errs) == 0 {
		return nil
	}
	d := &ErrorDistribution{Sets: len(errs), StdError: 1.04 / math.Sqrt(math.Exp2(precision))}
	n := float64(len(errs))
	off := make([]float64, len(errs))
	for i, e := range errs {
		d.Mean += e / n
		d.RMS += e * e / n
		off[i] = math.Abs(e)
		for k, share := range []*float64{&d.Within1, &d.Within2, &d.Within3} {
			if off[i] <= float64(k+1)*d.StdError {
				*share += 1 / n
			}
		}
	}
	d.RMS = math.Sqrt(d.RMS)
	slices.Sort(off)
	at := func(q float64) float64 { return off[int(q*(n-1)+0.5)] }
	d.Median, d.P95, d.Worst = at(0.5), at(0.95), off[len(off)-1]
	return d
}
