package query

import (
	"context"
	"encoding/json"

	"cohort/store"
)

// StreakReport is the streaks of one id: its runs of days in a row.
type StreakReport struct {
	AsOf store.Day
	// Current is the length, in days, of the streak that ends as-of, or the day
	// before while as-of is not marked; else 0.
	Current int
	// Longest is the length of the longest streak in the period.
	Longest int
	// LastDay is the last day on which the id was active; nil for none.
	LastDay *store.Day
	// Shared tells that another known id stands at the placement of the id: the
	// streaks are of the days on which either was active.
	Shared bool
}

// MarshalJSON writes the keys as_of, current, longest, last_day and shared.
func (r StreakReport) MarshalJSON() ([]byte, error) {
	out := struct {
		AsOf    string  `json:"as_of"`
		Current int     `json:"current"`
		Longest int     `json:"longest"`
		LastDay *string `json:"last_day"`
		Shared  bool    `json:"shared"`
	}{AsOf: r.AsOf.String(), Current: r.Current, Longest: r.Longest, Shared: r.Shared}
	if r.LastDay != nil {
		day := r.LastDay.String()
		out.LastDay = &day
	}
	return json.Marshal(out)
}

// Streak returns the current streak of an id, and its longest in a period: of a
// streak that begins before the period or ends after it, the days that lie in it
// count. No mark after as-of is read, which [AsOf] sets; by default it is the
// store's current day. Of an event never written all is 0.
//
// The cost and the errors are those of [Calendar] over all days of the event.
func Streak(ctx context.Context, src Source, event, id string, over Period, opts ...Option) (StreakReport, error) {
	s, err := apply(opts)
	if err != nil {
		return StreakReport{}, err
	}
	var r StreakReport
	err = ask(src, s.asOf, true, func(v *view) error {
		r.AsOf = v.env.AsOf
		e, _, err := v.event(event)
		if err != nil {
			return err
		}
		period, err := v.resolve(over, e)
		if err != nil {
			return err
		}
		days, shared, err := v.activeDays(ctx, event, id, v.read(e))
		if err != nil {
			return err
		}
		r.Shared = shared
		r.take(days, period)
		return nil
	})
	if err != nil {
		return StreakReport{}, err
	}
	return r, nil
}

// take works out the streaks of some days, ascending, none after as-of.
func (r *StreakReport) take(days []store.Day, period store.Period) {
	if len(days) == 0 {
		return
	}
	last := days[len(days)-1]
	r.LastDay = &last
	if last >= r.AsOf-1 {
		r.Current = runEnding(days)
	}
	run := 0
	for i, d := range days {
		if !period.Contains(d) {
			run = 0
			continue
		}
		if run > 0 && days[i-1] == d-1 {
			run++
		} else {
			run = 1
		}
		r.Longest = max(r.Longest, run)
	}
}

// runEnding returns the length of the run that ends on the last of some days.
func runEnding(days []store.Day) int {
	n := 0
	for i := len(days) - 1; i >= 0 && days[i] == days[len(days)-1]-store.Day(n); i-- {
		n++
	}
	return n
}

// Streaking returns how many ids have a current streak of at least n days, n ≥ 1:
// those active on each of the n days that end as-of, and those active on each of the
// n that end the day before. No mark after as-of is read.
//
// It reads the n+1 days once each, chunk by chunk. [AsOf] and [In] are heeded. Errors
// that match [ErrUsage]: n less than 1, those of a scope. Others are the context's or
// the store's.
func Streaking(ctx context.Context, src Source, event string, n int, opts ...Option) (uint64, error) {
	s, err := apply(opts)
	if err != nil {
		return 0, err
	}
	if n < 1 || n > maxRun {
		return 0, usagef("a streak of at least %d days: must be 1 to %d", n, maxRun)
	}
	var count uint64
	err = ask(src, s.asOf, true, func(v *view) error {
		p := planner{view: v}
		e, err := p.event(event)
		if err != nil {
			return err
		}
		who, err := p.scope(s.scope)
		if err != nil {
			return err
		}
		streaking, err := v.streaking(e, n)
		if err != nil {
			return err
		}
		count, err = v.size(ctx, who.of(streaking))
		return err
	})
	return count, err
}

// streaking plans the set of those with a current streak of at least n days. Both
// runs of n days have all but one in common: those, and then either end.
func (v *view) streaking(e store.Event, n int) (node, error) {
	asOf := v.env.AsOf
	today, err := v.union(e, oneDay(asOf))
	if err != nil {
		return nil, err
	}
	first, err := v.union(e, oneDay(asOf-store.Day(n)))
	if err != nil {
		return nil, err
	}
	either := newOperation(opOr, today, first)
	if n == 1 {
		return either, nil
	}
	between, err := v.every(e, store.Period{First: asOf - store.Day(n-1), Last: asOf - 1})
	if err != nil {
		return nil, err
	}
	return newOperation(opAnd, between, either), nil
}
