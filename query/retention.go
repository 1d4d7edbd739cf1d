package query

import (
	"context"
	"encoding/json"
	"fmt"

	"cohort/store"
)

// CohortOf says which ids the cohort of a period is.
type CohortOf uint8

const (
	// CohortFirst is the ids whose first stored day of the event lies in the
	// period: each id is in one cohort.
	CohortFirst CohortOf = iota
	// CohortEach is all ids active in the period: an id can be in many.
	CohortEach
)

// ParseCohortOf reads "first" or "each". Any other text is an error that matches
// [ErrUsage].
func ParseCohortOf(s string) (CohortOf, error) {
	switch s {
	case "first":
		return CohortFirst, nil
	case "each":
		return CohortEach, nil
	}
	return 0, usagef("cohort %s: must be first or each", quote(s))
}

// String returns the name that ParseCohortOf reads.
func (c CohortOf) String() string {
	switch c {
	case CohortFirst:
		return "first"
	case CohortEach:
		return "each"
	}
	return fmt.Sprintf("CohortOf(%d)", uint8(c))
}

// RetentionOptions say how retention is read. The zero value is ready for use.
type RetentionOptions struct {
	// Return is the event of coming back. Default: the event itself.
	Return string
	// From and To choose the cohorts: from the period that holds the first day
	// of From to the one that holds the last day of To. Cells are read past To.
	// Default: the event's first and last stored day.
	From, To Period
	// By is the length of the periods. Default ByDay.
	By By
	// Periods is the number of cells of each cohort: offsets 0 to Periods-1.
	// Default: up to the period that holds as-of, counted from the first
	// cohort, at most 31 and at least 1; none where there is no cohort. It means
	// nothing to ModeBracket.
	Periods int
	// Mode says what a cell counts. Default ModeOn.
	Mode Mode
	// Brackets are, with ModeBracket, the cells after that of offset 0: at least
	// one.
	Brackets []Bracket
	// FromOwnStart counts blocks of 7 days (ByWeek) or 30 (ByMonth) from each
	// id's own first day, instead of periods of the calendar from that of its
	// cohort. Other lengths, and other cohorts than those of first days, are
	// refused.
	FromOwnStart bool
	// AsOf is the today of the report: no later mark is read. Default: the
	// store's current day.
	AsOf *store.Day
	// Cohort says which ids make a cohort. Default CohortFirst.
	Cohort CohortOf
	// CohortSet makes each cohort the whole of a set, which has nothing to do
	// with the period, instead of what Cohort says.
	CohortSet Expr
	// SimpleMean makes each cohort weigh the same in the mean row. Default:
	// a cohort weighs as many as its ids.
	SimpleMean bool
	// Scope chooses the ids that are counted, in cohorts and coming back.
	// Default: all. An id's first day does not depend on it.
	Scope Scope
}

// check returns an error if the options do not go together.
func (o RetentionOptions) check() error {
	switch {
	case o.Periods < 0:
		return usagef("periods %d: must be at least 1", o.Periods)
	case o.Cohort > CohortEach:
		return usagef("%v is not a kind of cohort", o.Cohort)
	case o.Mode > ModeBracket:
		return usagef("%v is not a mode of retention", o.Mode)
	case o.CohortSet != nil && o.Cohort != CohortFirst:
		return usagef("the cohorts are a set, so they cannot be those of %v", o.Cohort)
	case o.Mode == ModeBracket && len(o.Brackets) == 0:
		return usagef("retention by bracket needs at least one, such as 1-7")
	case o.Mode != ModeBracket && len(o.Brackets) > 0:
		return usagef("brackets go with mode bracket, not with %v", o.Mode)
	case o.FromOwnStart && (o.Cohort != CohortFirst || o.CohortSet != nil):
		return usagef("from own start: only ids of a first day have one, so the cohorts must be first")
	case o.FromOwnStart && ownBlock(o.By) == 0:
		return usagef("from own start by %v: must be week (7 days) or month (30 days)", o.By)
	}
	for _, b := range o.Brackets {
		if err := b.check(); err != nil {
			return err
		}
	}
	return nil
}

// ownBlock returns the days of a block from own start, 0 for none.
func ownBlock(by By) int {
	switch by {
	case ByWeek:
		return 7
	case ByMonth:
		return 30
	}
	return 0
}

// defaultPeriods is the largest number of cells that is not asked for.
const defaultPeriods = 31

// RetentionReport is a triangle: a row for each cohort, a cell for each offset.
type RetentionReport struct {
	AsOf store.Day `json:"as_of"`
	// ExpectedFalseOverlap bounds how many ids a cell over-counts for sharing
	// a placement by accident: the largest a·b/2³² of two sets that the report
	// intersects. It is 0 where ids do not collide.
	ExpectedFalseOverlap float64     `json:"expected_false_overlap"`
	Cohorts              []CohortRow `json:"cohorts"`
	// Mean is the mean of each offset.
	Mean []MeanCell `json:"mean"`
	// Brackets are those of ModeBracket: that of cell k, from 1, is Brackets[k-1].
	Brackets []Bracket `json:"brackets,omitempty"`
	// Breakdown is the report of each part that the scope asks for.
	Breakdown []Part[RetentionReport] `json:"breakdown,omitempty"`
}

// CohortRow is one cohort.
type CohortRow struct {
	Period Period `json:"period"`
	// Size is the number of ids in the cohort, so far where the period has not
	// ended.
	Size  uint64 `json:"size"`
	Cells []Cell `json:"cells"` // by offset, or that of offset 0 and by bracket
}

// Cell tells how many ids of a cohort came back in a later period.
type Cell struct {
	Count uint64 // 0 where Incomplete
	Rate  Rate   // Count of the cohort's size; none where that is 0, or Incomplete
	// Incomplete tells that the period has not ended: there is no answer yet.
	Incomplete bool
}

// MeanCell is the mean of an offset over the cohorts whose cell has ended. Cells
// of 0 % count.
type MeanCell struct {
	Rate    Rate `json:"rate"`
	Cohorts int  `json:"cohorts"` // of at least one id, with an ended cell
}

// MarshalJSON writes the keys count, rate and incomplete; count and rate are null
// where the cell is incomplete.
func (c Cell) MarshalJSON() ([]byte, error) {
	out := struct {
		Count      *uint64 `json:"count"`
		Rate       Rate    `json:"rate"`
		Incomplete bool    `json:"incomplete"`
	}{Incomplete: c.Incomplete}
	if !c.Incomplete {
		out.Count, out.Rate = &c.Count, c.Rate
	}
	return json.Marshal(out)
}

// MarshalJSON writes as_of as a date.
func (r RetentionReport) MarshalJSON() ([]byte, error) {
	type plain RetentionReport
	return json.Marshal(struct {
		AsOf string `json:"as_of"`
		plain
	}{r.AsOf.String(), plain(r)})
}

// Retention returns, for the cohort of each period of a span and each offset n,
// how many of its ids came back in the n-th period after, or in those that the
// mode says. A rate may rise with n, in mode on. Where the event of coming back is
// another, offset 0 is not 100 %.
//
// It reads each day of either event once, chunk by chunk; cohorts of first days
// also read all days before the span. Memory is up to 32 KiB for each period.
// Errors that match [ErrUsage]: a period that does not exist, From after To,
// options that are out of range or do not go together, [ErrTwoBrands], more than
// 100,000 rows or 4,194,304 cells; from own start each day has its cells. Others
// are the context's or the store's.
func Retention(ctx context.Context, src Source, event string, o RetentionOptions) (*RetentionReport, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Return == "" {
		o.Return = event
	}
	var report *RetentionReport
	err := ask(src, o.AsOf, true, func(v *view) error {
		p := planner{view: v}
		t, err := p.triangle(event, o)
		if err != nil {
			return err
		}
		whole, parts, err := breakdown(&p, o.Scope, func(r restriction) (RetentionReport, error) {
			err := t.fill(ctx, r)
			return t.report(o), err
		})
		whole.Breakdown, report = parts, &whole
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// report works out the rates of a filled triangle.
func (t *triangle) report(o RetentionOptions) RetentionReport {
	r := RetentionReport{
		AsOf:     t.view.env.AsOf,
		Cohorts:  make([]CohortRow, t.rows.len()),
		Mean:     make([]MeanCell, len(t.cells)),
		Brackets: o.Brackets,
	}
	for i := range r.Cohorts {
		first, end := t.cohortsOf(i)
		row := CohortRow{Period: t.rows.Period(t.rows.first + i), Size: sum(t.size[first:end]), Cells: make([]Cell, len(t.cells))}
		for n, c := range t.cells {
			if !t.view.ended(t.end(end-1, c)) {
				row.Cells[n].Incomplete = true
				continue
			}
			for _, counts := range t.count[first:end] {
				row.Cells[n].Count += counts[n]
			}
			row.Cells[n].Rate = Ratio(row.Cells[n].Count, row.Size)
			r.ExpectedFalseOverlap = max(r.ExpectedFalseOverlap, t.overlap(first, end, n))
		}
		r.Cohorts[i] = row
	}
	for n := range r.Mean {
		r.Mean[n] = meanCell(r.Cohorts, n, o.SimpleMean)
	}
	return r
}

// sum returns the sum of some counts.
func sum(counts []uint64) (total uint64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// meanCell returns the mean of the ended cells of offset n.
func meanCell(cohorts []CohortRow, n int, simple bool) MeanCell {
	var m MeanCell
	var count, size uint64
	var rates []Rate
	for _, c := range cohorts {
		if c.Size == 0 || c.Cells[n].Incomplete {
			continue
		}
		m.Cohorts++
		count += c.Cells[n].Count
		size += c.Size
		rates = append(rates, c.Cells[n].Rate)
	}
	if m.Rate = Ratio(count, size); simple {
		m.Rate = meanRate(rates)
	}
	return m
}
