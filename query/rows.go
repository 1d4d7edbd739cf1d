package query

import (
	"cohort/store"
)

const (
	// maxRows is how many periods a report may have: 100,000 days are 273
	// years.
	maxRows = 100_000
	// maxCells is how many cells a triangle may have, 40 bytes each.
	maxCells = 1 << 22
)

// rows are the periods of a report: those numbered first to last, none where last
// is before first.
type rows struct {
	Stepping
	first, last int
}

// len returns the number of periods.
func (r rows) len() int { return max(0, r.last-r.first+1) }

// rows returns the whole periods that hold the days from the first of from to the
// last of to, either of which is that of the stored days where it is left out.
// These name rows, so they may lie after as-of. There are none where an end is
// left out and that of the other lies beyond it.
func (v *view) rows(by By, e store.Event, from, to Period) (rows, error) {
	r := rows{Stepping: Stepping{by, v.env.WeekStart}, first: 0, last: -1}
	if err := by.check(); err != nil {
		return r, err
	}
	start, err := v.resolveUnbounded(from, e)
	if err != nil {
		return r, err
	}
	end, err := v.resolveUnbounded(to, e)
	if err != nil {
		return r, err
	}
	if start.Empty() || end.Empty() {
		return r, nil
	}
	if start.First > end.Last {
		if from == All() || to == All() {
			return r, nil
		}
		return r, &PeriodError{from.String() + ".." + to.String(), reversedReason}
	}
	r.first, r.last = r.Widen(store.Period{First: start.First, Last: end.Last})
	if r.len() > maxRows {
		return r, usagef("the report has %d rows, at most %d are possible: choose a shorter span or longer periods", r.len(), maxRows)
	}
	return r, nil
}
