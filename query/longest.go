package query

import (
	"context"
	"encoding/json"

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
// It reads each day once, chunk by chunk, and holds two words for each 64 ids of a
// few thousand and each day: 24 KiB at most a day. Its time grows with the number of
// days times the longest streak. [AsOf] and [In] are heeded. Errors that match
// [ErrUsage]: those of the period and of a scope. Others are the context's or the
// store's.
func Longest(ctx context.Context, src Source, event string, over Period, opts ...Option) (*LongestReport, error) {
	s, err := apply(opts)
	if err != nil {
		return nil, err
	}
	r := &LongestReport{Rows: []LongestRow{}}
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
		if err := c.run(ctx, l.frame); err != nil {
			return err
		}
		r.rows(l.atLeast)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// rows fills the rows, given how many ids have a streak of at least k+1 days.
func (r *LongestReport) rows(atLeast []uint64) {
	r.Longest = len(atLeast)
	for k, n := range atLeast {
		exactly := n
		if k+1 < len(atLeast) {
			exactly -= atLeast[k+1]
		}
		r.Rows = append(r.Rows, LongestRow{k + 1, exactly, n})
	}
}

// longest counts streaks, from frames with a column for each stored day.
type longest struct {
	days    []store.DayCount
	atLeast []uint64 // by length less one: ids with such a streak
	lanes   lanes
	union   []uint64
}

// frame adds a frame to the counts. Lane j is at first the ids of day j, and then, a
// day longer each time, those of all days of the streak that begins there.
func (l *longest) frame(f *store.Frames) {
	l.lanes.fill(f, len(l.days))
	for length := 1; ; length++ {
		l.union = zeros(l.union, f.Words())
		for _, set := range l.lanes.sets {
			or(l.union, set)
		}
		n := count(l.union)
		if n == 0 {
			return
		}
		if length > len(l.atLeast) {
			l.atLeast = append(l.atLeast, 0)
		}
		l.atLeast[length-1] += n
		for j, set := range l.lanes.sets {
			switch last := j + length; {
			case set == nil:
			case last < len(l.days) && l.days[last].Day == l.days[j].Day+store.Day(length) && f.Column(last) != nil:
				and(set, f.Column(last))
			default:
				l.lanes.sets[j] = nil
			}
		}
	}
}
