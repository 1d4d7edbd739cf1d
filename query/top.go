package query

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"cohort/placement"
	"cohort/store"
)

// TopEvent is an event with what is noted of its days in a period.
type TopEvent struct {
	Event string
	Brand placement.Brand
	// Days is the number of days of the period on which it has marks.
	Days int
	// Marks is the sum of the counts of these days: an id is counted on each.
	Marks uint64
	// Best is the count of the day with the most, BestDay, the first of several.
	Best    uint64
	BestDay store.Day
	// IDs is the number of ids active on any of the days, where it is noted: of one
	// day, and of a week, month, quarter or year whose union is remembered. Otherwise
	// it is nil; it lies between Best and Marks, and Count tells it.
	IDs *uint64
}

// MarshalJSON writes the keys event, brand, days, marks, best_day, best and ids.
func (e TopEvent) MarshalJSON() ([]byte, error) {
	out := struct {
		Event   string  `json:"event"`
		Brand   *string `json:"brand"`
		Days    int     `json:"days"`
		Marks   uint64  `json:"marks"`
		BestDay string  `json:"best_day"`
		Best    uint64  `json:"best"`
		IDs     *uint64 `json:"ids"`
	}{e.Event, nil, e.Days, e.Marks, e.BestDay.String(), e.Best, e.IDs}
	if !e.Brand.IsZero() {
		brand := e.Brand.String()
		out.Brand = &brand
	}
	return json.Marshal(out)
}

// Top lists the n events with the most marks in a period, of those whose names begin
// with a prefix, the most first, then by name; events without any are left out.
//
// It reads small records alone, one a stored day, and no bitmap, so that the number
// of ids active in a period of several days is there only where it is noted. It reads
// the days that [Size] reads. An n below 1 is an error that matches [ErrUsage], and so
// is a period that does not exist; others are the context's or the store's.
func Top(ctx context.Context, src Source, prefix string, p Period, n int, opts ...Option) ([]TopEvent, error) {
	s, err := apply(opts)
	if err != nil {
		return nil, err
	}
	if n < 1 {
		return nil, usagef("top %d: must be at least 1", n)
	}
	var top []TopEvent
	err = ask(src, s.asOf, false, func(v *view) error {
		events, err := v.snap.Events(prefix)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := ctx.Err(); err != nil {
				return err
			}
			t, err := v.topEvent(e, p)
			if err != nil {
				return err
			}
			if t.Days > 0 {
				top = append(top, t)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(top, func(a, b TopEvent) int {
		return cmp.Or(cmp.Compare(b.Marks, a.Marks), strings.Compare(a.Event, b.Event))
	})
	return top[:min(n, len(top))], nil
}

func (v *view) topEvent(e store.Event, p Period) (TopEvent, error) {
	t := TopEvent{Event: e.Name, Brand: e.Brand}
	days, err := v.resolve(p, e)
	if err != nil {
		return t, err
	}
	counts, err := v.snap.Days(e, days)
	if err != nil {
		return t, err
	}
	t.Days = len(counts)
	for _, c := range counts {
		t.Marks += c.Count
		if c.Count > t.Best {
			t.Best, t.BestDay = c.Count, c.Day
		}
	}
	ids, ok, err := v.snap.PeriodCount(e, days)
	if ok {
		t.IDs = &ids
	}
	return t, err
}
