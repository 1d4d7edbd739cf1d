package query

import (
	"context"

	"cohort/placement"
)

// SetSize is the size of a set.
type SetSize struct {
	// Expr is the canonical text of the set's expression.
	Expr string `json:"expr"`
	// Count is the number of positions in the set: of ids, less those that
	// share a placement with another in it.
	Count uint64 `json:"count"`
	// ExpectedCollisions is how many ids such a count is expected to lose; see
	// [placement.ExpectedColliding]. It is 0 where ids do not collide.
	ExpectedCollisions float64 `json:"expected_collisions"`
}

// Count returns how many ids are marked with an event on any day of a period: a
// union, never a sum of days. An event never written counts 0.
//
// The count of one day, or of a period with marks on one day only, is noted in
// the store and takes some microseconds; a union of days is built chunk by chunk.
// The error is the period's, the context's or the store's.
func Count(ctx context.Context, src Source, event string, p Period, opts ...Option) (uint64, error) {
	size, err := Size(ctx, src, Of(event, p), opts...)
	return size.Count, err
}

// Size returns the number of ids in a set. It reads every day the expression
// names, unless [AsOf] is given. It evaluates chunk by chunk, so that its memory
// is one chunk for each set of the expression.
//
// Errors that match [ErrUsage]: a period that does not exist, [ErrTwoBrands],
// [ErrManyBrands], [ErrUnknownSet]. Others are the context's or the store's.
func Size(ctx context.Context, src Source, x Expr, opts ...Option) (SetSize, error) {
	s, err := apply(opts)
	if err != nil {
		return SetSize{}, err
	}
	var size SetSize
	err = ask(src, s.asOf, false, func(v *view) error {
		var err error
		if size.Count, err = v.count(ctx, x); err != nil {
			return err
		}
		size.Expr = x.String()
		if v.exact {
			return nil
		}
		size.ExpectedCollisions = placement.ExpectedColliding(placement.IDsBehind(float64(size.Count)))
		return nil
	})
	if err != nil {
		return SetSize{}, err
	}
	return size, nil
}

// count returns the number of positions in a set. What the store notes of a day
// answers for one day of an event, in the same time whatever else is stored.
func (v *view) count(ctx context.Context, x Expr) (uint64, error) {
	if e, ok := x.(eventSet); ok {
		if d, ok := e.period.day(); ok {
			if v.env.AsOfGiven && d > v.env.AsOf {
				return 0, nil
			}
			return v.snap.DayCount(e.event, d)
		}
	}
	n, err := (&planner{view: v}).plan(x)
	if err != nil {
		return 0, err
	}
	return v.size(ctx, n)
}
