package query

import (
	"context"
	"encoding/json"

	"cohort/store"
)

// CalendarReport tells on which days one id was active.
type CalendarReport struct {
	Days []store.Day // ascending
	// Shared tells that another known id stands at the placement of the id: the
	// days are those on which either was active.
	Shared bool
}

// MarshalJSON writes the keys days, count and shared.
func (r CalendarReport) MarshalJSON() ([]byte, error) {
	out := struct {
		Days   []string `json:"days"`
		Count  int      `json:"count"`
		Shared bool     `json:"shared"`
	}{make([]string, len(r.Days)), len(r.Days), r.Shared}
	for i, d := range r.Days {
		out.Days[i] = d.String()
	}
	return json.Marshal(out)
}

// Calendar returns the days of a period, such as a month or a year, on which an id
// is marked with an event. It reads every stored day of the period, unless [AsOf]
// is given. For an event never written there are none.
//
// It looks up one bit a stored day, and checks the context between some thousands of
// them. The error is the period's, the context's or the store's, among them that of
// an id that does not parse or is of another brand.
func Calendar(ctx context.Context, src Source, event, id string, over Period, opts ...Option) (CalendarReport, error) {
	s, err := apply(opts)
	if err != nil {
		return CalendarReport{}, err
	}
	var r CalendarReport
	err = ask(src, s.asOf, false, func(v *view) error {
		e, _, err := v.event(event)
		if err != nil {
			return err
		}
		days, err := v.resolve(over, e)
		if err != nil {
			return err
		}
		r.Days, r.Shared, err = v.activeDays(ctx, event, id, days.Intersect(stored(e)))
		return err
	})
	if err != nil {
		return CalendarReport{}, err
	}
	return r, nil
}

// daysAtOnce is how many days of an id are looked up before the context is checked:
// some milliseconds.
const daysAtOnce = 4096

// activeDays lists the days of a period on which an id has its bit.
func (v *view) activeDays(ctx context.Context, event, id string, p store.Period) (days []store.Day, shared bool, err error) {
	for piece := p; ; piece.First += daysAtOnce {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		piece.Last = min(piece.First+daysAtOnce-1, p.Last)
		var more []store.Day
		if more, shared, err = v.snap.ActiveDays(event, id, piece); err != nil {
			return nil, false, err
		}
		days = append(days, more...)
		if piece.Last == p.Last {
			return days, shared, nil
		}
	}
}
