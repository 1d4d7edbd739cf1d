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
	// Breakdown is the sizes of the parts of the set, where a [Scope] asks for
	// them.
	Breakdown []Part[SetSize] `json:"breakdown,omitempty"`
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
		p := planner{view: v}
		var err error
		size, size.Breakdown, err = breakdown(&p, s.scope, func(r restriction) (SetSize, error) {
			count, err := p.count(ctx, x, r)
			if err != nil {
				return SetSize{}, err
			}
			return v.setSize(x, count), nil
		})
		return err
	})
	if err != nil {
		return SetSize{}, err
	}
	return size, nil
}

// setSize returns the size of a set that has a count.
func (v *view) setSize(x Expr, count uint64) SetSize {
	size := SetSize{Expr: x.String(), Count: count}
	if !v.exact {
		size.ExpectedCollisions = placement.ExpectedColliding(placement.IDsBehind(float64(count)))
	}
	return size
}

// count returns the number of positions in a set that a restriction leaves. What
// the store notes of a day answers for one day of an event, in the same time
// whatever else is stored.
func (p *planner) count(ctx context.Context, x Expr, r restriction) (uint64, error) {
	if e, ok := x.(eventSet); ok && p.named == "" && r.all() {
		if d, ok := e.period.day(); ok {
			if p.view.env.AsOfGiven && d > p.view.env.AsOf {
				return 0, nil
			}
			if err := checkEvent(e.event); err != nil {
				return 0, err
			}
			return p.view.snap.DayCount(e.event, d)
		}
	}
	n, err := p.plan(x)
	if err != nil {
		return 0, err
	}
	return p.view.size(ctx, r.of(n))
}
