package query

import (
	"context"
	"encoding/json"
	"math/bits"

	"cohort/store"
)

// LifecycleOptions say how lifecycles are read. The zero value is ready for use.
type LifecycleOptions struct {
	// From and To choose the rows: from the period that holds the first day of
	// From to the one that holds the last day of To. Default: the event's first
	// and last stored day.
	From, To Period
	// By is the length of the periods. Default ByDay.
	By By
	// AsOf is the today of the report: no later mark is read. Default: the
	// store's current day.
	AsOf *store.Day
	// Scope chooses the ids that are counted. Default: all.
	Scope Scope
}

// LifecycleReport tells, for each of some periods, who is new and who was lost.
type LifecycleReport struct {
	AsOf store.Day      `json:"as_of"`
	Rows []LifecycleRow `json:"rows"`
	// Breakdown is the report of each part that the scope asks for.
	Breakdown []Part[LifecycleReport] `json:"breakdown,omitempty"`
}

// LifecycleRow is one period. The active of the period are its new, returning and
// resurrecting ids; those of the period before are its returning and dormant ones.
type LifecycleRow struct {
	Period       Period `json:"period"`
	New          uint64 `json:"new"`          // active, and never before
	Returning    uint64 `json:"returning"`    // active, and in the period before
	Resurrecting uint64 `json:"resurrecting"` // active, not in the period before, but earlier
	Dormant      uint64 `json:"dormant"`      // active in the period before, not in this one
	// Incomplete tells that the period has not ended: the figures are those so
	// far, and 0 where all of it is after as-of.
	Incomplete bool `json:"incomplete"`
}

// MarshalJSON writes as_of as a date.
func (r LifecycleReport) MarshalJSON() ([]byte, error) {
	type plain LifecycleReport
	return json.Marshal(struct {
		AsOf string `json:"as_of"`
		plain
	}{r.AsOf.String(), plain(r)})
}

// Lifecycle returns, for each period of a span, how many of an event's ids are new
// in it, returning from the period before, resurrecting from an earlier one, and
// how many of the period before are dormant.
//
// It reads each day of the event up to the end of the span once, chunk by chunk.
// Memory is up to 16 KiB for each period. Errors that match [ErrUsage]: a period
// that does not exist, From after To, an option out of range, [ErrTwoBrands], more
// than 100,000 rows. Others are the context's or the store's.
func Lifecycle(ctx context.Context, src Source, event string, o LifecycleOptions) (*LifecycleReport, error) {
	var report *LifecycleReport
	err := ask(src, o.AsOf, true, func(v *view) error {
		p := planner{view: v}
		e, err := p.event(event)
		if err != nil {
			return err
		}
		r, err := v.rows(o.By, e, o.From, o.To)
		if err != nil {
			return err
		}
		whole, parts, err := breakdown(&p, o.Scope, func(who restriction) (LifecycleReport, error) {
			return v.lifecycle(ctx, e, r, who)
		})
		whole.Breakdown, report = parts, &whole
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// lifecycle reports about the ids of a restriction. Column 0 is the period before
// the first row, then come those of the rows, and last the days before them all.
func (v *view) lifecycle(ctx context.Context, e store.Event, r rows, who restriction) (LifecycleReport, error) {
	report := LifecycleReport{AsOf: v.env.AsOf, Rows: make([]LifecycleRow, r.len())}
	live := 0 // rows that do not lie wholly after as-of
	for i := range report.Rows {
		days := r.Days(r.first + i)
		if report.Rows[i] = (LifecycleRow{Period: r.Period(r.first + i), Incomplete: !v.ended(days.Last)}); days.First <= v.env.AsOf {
			live++
		}
	}
	if live == 0 {
		return report, nil
	}
	c := v.columns(live+2, who)
	for i := range live + 1 {
		if err := c.add(i, e, r.Days(r.first-1+i)); err != nil {
			return report, err
		}
	}
	if err := c.addBefore(live+1, e, r.Days(r.first-1).First); err != nil {
		return report, err
	}
	var before []uint64
	err := c.run(ctx, func(f *store.Frames) {
		before = append(before[:0], make([]uint64, f.Words())...)
		or(before, f.Column(live+1))
		for i := range live {
			report.Rows[i].add(f.Column(i), f.Column(i+1), before)
		}
	})
	return report, err
}

// add adds the ids of a period, given those of the one before, and those of all
// before that, to which it adds these.
func (r *LifecycleRow) add(previous, active, before []uint64) {
	word := func(x []uint64, i int) uint64 {
		if x == nil {
			return 0
		}
		return x[i]
	}
	for i, b := range before {
		p, a := word(previous, i), word(active, i)
		r.New += uint64(bits.OnesCount64(a &^ p &^ b))
		r.Returning += uint64(bits.OnesCount64(a & p))
		r.Resurrecting += uint64(bits.OnesCount64(a & b &^ p))
		r.Dormant += uint64(bits.OnesCount64(p &^ a))
		before[i] |= p
	}
}
