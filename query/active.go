package query

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cohort/store"
)

// ActiveOptions say how active ids are counted. The zero value is ready for use.
type ActiveOptions struct {
	// From and To choose the rows: from the period that holds the first day of
	// From to the one that holds the last day of To. Default: the event's first
	// and last stored day.
	From, To Period
	// By is the length of the periods. Default ByDay.
	By By
	// Trailing are the lengths, in days, of the windows counted along with each
	// day, 1 to 3660. They are left out where By is longer. Default 7 and 30;
	// an empty slice that is not nil asks for none.
	Trailing []int
	// Histogram asks for the histogram of active periods.
	Histogram bool
	// AsOf is the today of the report: no later mark is read. Default: the
	// store's current day.
	AsOf *store.Day
	// Scope chooses the ids that are counted. Default: all.
	Scope Scope
}

// maxTrailing is the longest window, in days.
const maxTrailing = 3660

// ActiveReport is the number of active ids in each of some periods.
type ActiveReport struct {
	AsOf store.Day   `json:"as_of"`
	Rows []ActiveRow `json:"rows"`
	// MeanStickiness is the mean of the stickiness of the days that have ended,
	// each weighing the same. Only by day.
	MeanStickiness Rate `json:"mean_stickiness"`
	// Histogram tells how many ids were active in how many of the periods up to
	// as-of: its element k-1 is of k periods. Only where it is asked for.
	Histogram []ActiveOn `json:"histogram"`
	// Breakdown is the report of each part that the scope asks for.
	Breakdown []Part[ActiveReport] `json:"breakdown"`
}

// ActiveOn is how many ids were active in a number of periods.
type ActiveOn struct {
	Periods int    `json:"periods"`
	Exactly uint64 `json:"exactly"`  // in so many of the periods
	AtLeast uint64 `json:"at_least"` // in so many or more
}

// ActiveRow is one period of a report.
type ActiveRow struct {
	Period Period
	// Active is the number of ids active on any day of the period.
	Active uint64
	// Trailing are the windows that end on this day, in the order they were
	// asked for. Only by day.
	Trailing []Window
	// Stickiness is Active over the number active in the 30 days that end on
	// this day (DAU/MAU, the window trailing and inclusive); 28 days where a
	// window of 28 was asked for and none of 30. Only by day.
	Stickiness Rate
	// Incomplete tells that the period has not ended: the figures are those so
	// far, and 0 after as-of.
	Incomplete bool
}

// Window is the number of ids active on any of some days.
type Window struct {
	Days   int
	Active uint64
}

// MarshalJSON writes as_of as a date; mean_stickiness is left out unless by day,
// histogram and breakdown where they were not asked for.
func (r ActiveReport) MarshalJSON() ([]byte, error) {
	out := struct {
		AsOf           string               `json:"as_of"`
		Rows           []ActiveRow          `json:"rows"`
		MeanStickiness *Rate                `json:"mean_stickiness,omitempty"`
		Histogram      []ActiveOn           `json:"histogram,omitempty"`
		Breakdown      []Part[ActiveReport] `json:"breakdown,omitempty"`
	}{AsOf: r.AsOf.String(), Rows: r.Rows, Histogram: r.Histogram, Breakdown: r.Breakdown}
	if len(r.Rows) > 0 && r.Rows[0].byDay() {
		out.MeanStickiness = &r.MeanStickiness
	}
	return json.Marshal(out)
}

// byDay reports whether the row is of a day, and so has windows.
func (r ActiveRow) byDay() bool { return r.Period.kind == kindSingle && r.Period.a.by == ByDay }

// MarshalJSON writes the keys period, active, a key such as w7 for each window,
// stickiness and incomplete; windows and stickiness only by day.
func (r ActiveRow) MarshalJSON() ([]byte, error) {
	b := fmt.Appendf(nil, `{"period":%q,"active":%d`, r.Period, r.Active)
	if r.byDay() {
		for _, w := range r.Trailing {
			b = fmt.Appendf(b, `,"w%d":%d`, w.Days, w.Active)
		}
		rate, err := r.Stickiness.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b = fmt.Appendf(b, `,"stickiness":%s`, rate)
	}
	return fmt.Appendf(b, `,"incomplete":%t}`, r.Incomplete), nil
}

// Active returns, for each period of a span, how many ids were active: marked
// with the event on any day of it. By day it also gives trailing windows, each
// ending on the row's day and including it, and the stickiness. Every figure is a
// union of days, never a sum.
//
// It reads each day of the span, and of the windows that reach before it, once,
// chunk by chunk; of a window longer than the span, the days that are in it on all
// days of the span as one union. Memory is up to 16 KiB for each period, 32 with
// windows and 32 more for each that is longer than the span. Errors
// that match [ErrUsage]: a period that does not exist, From after To, an option out
// of range, [ErrTwoBrands], more than 100,000 rows. Others are the context's or the
// store's.
func Active(ctx context.Context, src Source, event string, o ActiveOptions) (*ActiveReport, error) {
	windows, err := o.windows()
	if err != nil {
		return nil, err
	}
	var report *ActiveReport
	err = ask(src, o.AsOf, true, func(v *view) error {
		p := planner{view: v}
		e, err := p.event(event)
		if err != nil {
			return err
		}
		r, err := v.rows(o.By, e, o.From, o.To)
		if err != nil {
			return err
		}
		whole, parts, err := breakdown(&p, o.Scope, func(who restriction) (ActiveReport, error) {
			a := v.actives(e, r, windows, o.Histogram)
			err := a.fill(ctx, who)
			return a.report(), err
		})
		whole.Breakdown, report = parts, &whole
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// activeWindows are the windows of a report by day; none where periods are longer.
type activeWindows struct {
	days  []int // each once: those asked for, then that of stickiness
	shown int   // how many of them were asked for
	month int   // which of them stickiness is over
}

// windows returns the windows to count.
func (o ActiveOptions) windows() (activeWindows, error) {
	asked := o.Trailing
	if asked == nil {
		asked = []int{7, 30}
	}
	var w activeWindows
	for _, n := range asked {
		if n < 1 || n > maxTrailing {
			return w, usagef("trailing %d: windows have 1 to %d days", n, maxTrailing)
		}
		if !slices.Contains(w.days, n) {
			w.days = append(w.days, n)
		}
	}
	if o.By != ByDay {
		return activeWindows{}, nil
	}
	w.shown = len(w.days)
	if w.month = slices.Index(w.days, 30); w.month < 0 {
		w.month = slices.Index(w.days, 28)
	}
	if w.month < 0 {
		w.month = len(w.days)
		w.days = append(w.days, 30)
	}
	return w, nil
}
