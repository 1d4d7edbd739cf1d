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
	// cohort, at most 31 and at least 1; none where there is no cohort.
	Periods int
	// AsOf is the today of the report: no later mark is read. Default: the
	// store's current day.
	AsOf *store.Day
	// Cohort says which ids make a cohort. Default CohortFirst.
	Cohort CohortOf
	// SimpleMean makes each cohort weigh the same in the mean row. Default:
	// a cohort weighs as many as its ids.
	SimpleMean bool
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
}

// CohortRow is one cohort.
type CohortRow struct {
	Period Period `json:"period"`
	// Size is the number of ids in the cohort, so far where the period has not
	// ended.
	Size  uint64 `json:"size"`
	Cells []Cell `json:"cells"` // by offset
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
// how many of its ids came back in the n-th period after. A rate may rise with n.
// Where the event of coming back is another, offset 0 is not 100 %.
//
// It reads each period of either event once, chunk by chunk, and holds as many
// cohorts of one chunk as there are offsets; cohorts of first days also read all
// days before the span. Errors that match [ErrUsage]: a period that does not
// exist, From after To, an option out of range, [ErrTwoBrands], more than 100,000
// cohorts or 4,194,304 cells. Others are the context's or the store's.
func Retention(ctx context.Context, src Source, event string, o RetentionOptions) (*RetentionReport, error) {
	if o.Periods < 0 {
		return nil, usagef("periods %d: must be at least 1", o.Periods)
	}
	if o.Cohort > CohortEach {
		return nil, usagef("%v is not a kind of cohort", o.Cohort)
	}
	if o.Return == "" {
		o.Return = event
	}
	var report *RetentionReport
	err := ask(src, o.AsOf, true, func(v *view) error {
		t, err := v.triangle(event, o)
		if err != nil {
			return err
		}
		if err := t.fill(ctx); err != nil {
			return err
		}
		report = t.report(o.SimpleMean)
		return nil
	})
	return report, err
}

// report works out the rates of a filled triangle.
func (t *triangle) report(simpleMean bool) *RetentionReport {
	r := &RetentionReport{
		AsOf:    t.view.env.AsOf,
		Cohorts: make([]CohortRow, t.rows.len()),
		Mean:    make([]MeanCell, t.offsets),
	}
	for i := range r.Cohorts {
		row := CohortRow{Period: t.rows.Period(t.rows.first + i), Size: t.size[i], Cells: make([]Cell, t.offsets)}
		for n := range row.Cells {
			if !t.view.ended(t.rows.Days(t.rows.first + i + n).Last) {
				row.Cells[n].Incomplete = true
				continue
			}
			row.Cells[n].Count = t.count[i][n]
			row.Cells[n].Rate = Ratio(t.count[i][n], t.size[i])
			r.ExpectedFalseOverlap = max(r.ExpectedFalseOverlap, t.view.overlap(t.size[i], t.returned[i+n]))
		}
		r.Cohorts[i] = row
	}
	for n := range r.Mean {
		r.Mean[n] = meanCell(r.Cohorts, n, simpleMean)
	}
	return r
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
