package query

import (
	"context"
	"encoding/json"
	"math/bits"

	"cohort/store"
)

// LongestReport tells how long the longest streaks of an event's ids are.
type LongestReport struct {
	AsOf store.Day `json:"as_of"`
	// Longest is the length, in days, of the longest streak of any id.
	Longest int `json:"longest"`
	// Rows tell how many ids have a longest streak of how many days: element k-1 is
	// of k days, up to Longest.
	Rows []LongestRow `json:"rows"`
}

// LongestRow is the ids whose longest streak has a number of days.
type LongestRow struct {
	Days    int    `json:"days"`
	Exactly uint64 `json:"exactly"`
	AtLeast uint64 `json:"at_least"`
}

// MarshalJSON writes as_of as a date.
func (r LongestReport) MarshalJSON() ([]byte, error) {
	type plain LongestReport
	return json.Marshal(struct {
		AsOf string `json:"as_of"`
		plain
	}{r.AsOf.String(), plain(r)})
}

// Longest returns how many ids have a streak of how many days in a period: a row for
// each length up to that of the longest. Of a streak that begins before the period or
// ends after it, the days that lie in it count. No mark after as-of is read.
//
// It reads each day once, chunk by chunk, in some ns a mark. Its memory is 12 KiB at
// most for each day, and 1.2 MiB. [AsOf] and [In] are heeded. Errors that match
// [ErrUsage]: those of the period and of a scope. Others are the context's or the
// store's.
func Longest(ctx context.Context, src Source, event string, over Period, opts ...Option) (*LongestReport, error) {
	s, err := apply(opts)
	if err != nil {
		return nil, err
	}
	r := &LongestReport{}
	err = ask(src, s.asOf, true, func(v *view) error {
		r.AsOf = v.env.AsOf
		p := planner{view: v}
		e, err := p.event(event)
		if err != nil {
			return err
		}
		who, err := p.scope(s.scope)
		if err != nil {
			return err
		}
		period, err := v.resolve(over, e)
		if err != nil {
			return err
		}
		l := longest{}
		if l.days, err = v.daysOf(e, period); err != nil {
			return err
		}
		c := v.columns(len(l.days), who)
		for i, d := range l.days {
			if err := c.add(i, e, oneDay(d.Day)); err != nil {
				return err
			}
		}
		l.ids = make([]uint64, len(l.days)+1)
		if err := c.run(ctx, l.frame); err != nil {
			return err
		}
		r.fill(l.ids)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// fill fills the rows, given how many ids have a longest streak of how many days.
func (r *LongestReport) fill(ids []uint64) {
	r.Longest = len(ids) - 1
	for r.Longest > 0 && ids[r.Longest] == 0 {
		r.Longest--
	}
	r.Rows = make([]LongestRow, r.Longest)
	atLeast := uint64(0)
	for k := r.Longest; k > 0; k-- {
		atLeast += ids[k]
		r.Rows[k-1] = LongestRow{k, ids[k], atLeast}
	}
}

// longest counts streaks, from frames with a column for each stored day.
type longest struct {
	days []store.DayCount
	runs []run    // by place in the frame
	ids  []uint64 // by the length of their longest streak
}

// run is the streaks of an id up to a day.
type run struct {
	last         store.Day // the last day it was active
	length, best int32     // of the streak that ends on it, and of the longest
}

// frame adds a frame to the counts.
func (l *longest) frame(f *store.Frames) {
	l.runs = zeros(l.runs, 64*f.Words())
	for i, d := range l.days {
		for at, m := range f.Column(i) {
			for ; m != 0; m &= m - 1 {
				r := &l.runs[64*at+bits.TrailingZeros64(m)]
				if r.last != d.Day-1 {
					r.length = 0
				}
				r.length++
				r.last, r.best = d.Day, max(r.best, r.length)
			}
		}
	}
	for _, r := range l.runs {
		l.ids[r.best]++
	}
}
