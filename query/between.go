package query

import (
	"context"
	"encoding/json"

	"cohort/store"
)

// DayRetention tells how many ids of one day were back on another.
type DayRetention struct {
	From, To store.Day
	// Size is the number of ids active on From, so far where it has not ended.
	Size uint64
	// Cell is how many of them were active on To. It is incomplete where either
	// day has not ended.
	Cell Cell
	// ExpectedFalseOverlap is how many ids the cell is expected to over-count
	// if those of either day were unrelated. It is 0 where ids do not collide.
	ExpectedFalseOverlap float64
}

// MarshalJSON writes the keys from, to, size, count, rate, incomplete and
// expected_false_overlap.
func (r DayRetention) MarshalJSON() ([]byte, error) {
	out := struct {
		From       string  `json:"from"`
		To         string  `json:"to"`
		Size       uint64  `json:"size"`
		Count      *uint64 `json:"count"`
		Rate       Rate    `json:"rate"`
		Incomplete bool    `json:"incomplete"`
		Overlap    float64 `json:"expected_false_overlap"`
	}{From: r.From.String(), To: r.To.String(), Size: r.Size, Incomplete: r.Cell.Incomplete, Overlap: r.ExpectedFalseOverlap}
	if !r.Cell.Incomplete {
		out.Count, out.Rate = &r.Cell.Count, r.Cell.Rate
	}
	return json.Marshal(out)
}

// RetentionBetween returns how many of the ids active on day a were active on day
// b, which may be any two days. An event never written gives 0 and no rate.
//
// It reads the two days, chunk by chunk. [AsOf] sets the today of the report, by
// default the store's current day. An invalid day is an error that matches
// [ErrUsage]; others are the context's or the store's.
func RetentionBetween(ctx context.Context, src Source, event string, a, b store.Day, opts ...Option) (DayRetention, error) {
	s, err := apply(opts)
	if err != nil {
		return DayRetention{}, err
	}
	r := DayRetention{From: a, To: b}
	err = ask(src, s.asOf, true, func(v *view) error {
		p := planner{view: v}
		nodes := make([]node, 2)
		sizes := make([]uint64, 2)
		for i, d := range []store.Day{a, b} {
			var err error
			if nodes[i], err = p.planIn(s.scope, Of(event, Day(d))); err != nil {
				return err
			}
			if sizes[i], err = v.size(ctx, nodes[i]); err != nil {
				return err
			}
		}
		r.Size = sizes[0]
		if !v.ended(a) || !v.ended(b) {
			r.Cell.Incomplete = true
			return nil
		}
		if r.Cell.Count, err = v.size(ctx, newOperation(opAnd, nodes[0], nodes[1])); err != nil {
			return err
		}
		r.Cell.Rate = Ratio(r.Cell.Count, r.Size)
		r.ExpectedFalseOverlap = v.overlap(sizes[0], sizes[1])
		return nil
	})
	if err != nil {
		return DayRetention{}, err
	}
	return r, nil
}
