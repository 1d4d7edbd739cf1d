package query

import (
	"context"
	"encoding/json"

	"cohort/store"
)

// FunnelOptions say how a funnel is read. The zero value is ready for use.
type FunnelOptions struct {
	// Over is the period in which the events of the steps lie or, with a window,
	// that of the first step. Default: all of each event's stored days.
	Over Period
	// Order says how the days of the steps follow each other. Default AnyOrder.
	// In the others every step is an event.
	Order Order
	// Within is a window: an attempt enters with the first step on a day of
	// Over, and its further steps lie no more than so many days later, past Over
	// too. Default 0: no window, and all steps lie in Over.
	Within int
	// FirstEntry counts, within a window, what an id reached from the first day
	// of Over on which it entered. Default: what its best attempt reached.
	FirstEntry bool
	// AsOf is the today of the report: no later mark is read. Default: the
	// store's current day.
	AsOf *store.Day
	// Scope chooses the ids that enter the funnel. Default: all.
	Scope Scope
}

// check returns an error if the options do not go together.
func (o FunnelOptions) check() error {
	switch {
	case o.Order > BothOrders:
		return usagef("%v is not an order", o.Order)
	case o.Within < 0 || o.Within > maxRun:
		return usagef("within %d: a window has 1 to %d days", o.Within, maxRun)
	case o.Order == AnyOrder && o.Within > 0:
		return usagef("a window does not go with any order: choose loose, strict or both")
	case o.Order == AnyOrder && o.FirstEntry:
		return usagef("the first entry does not go with any order: choose loose, strict or both")
	}
	return nil
}

// FunnelReport is what became of the ids of a funnel's first step.
type FunnelReport struct {
	AsOf store.Day `json:"as_of"`
	// Open counts the ids with an entry whose window has not ended, whatever
	// they reached; without a window it is 0.
	Open uint64 `json:"open"`
	// ExpectedFalseOverlap bounds how many ids a step over-counts for sharing
	// a placement by accident: the largest a·b/2³² of two sets that the report
	// intersects, which are the ids that reached a step and those of the event
	// of the next. It is 0 where ids do not collide.
	ExpectedFalseOverlap float64 `json:"expected_false_overlap"`
	// Steps are the steps; of BothOrders there are Loose and Strict instead.
	Steps  []FunnelStep `json:"steps,omitempty"`
	Loose  []FunnelStep `json:"loose,omitempty"`
	Strict []FunnelStep `json:"strict,omitempty"`
	// Breakdown is the report of each part that the scope asks for.
	Breakdown []Part[FunnelReport] `json:"breakdown,omitempty"`
}

// FunnelStep is one step of a report.
type FunnelStep struct {
	Event      string  `json:"event"`       // the step, as it was given
	Reached    uint64  `json:"reached"`     // ids that reached this step, and so all before
	OfPrevious Rate    `json:"of_previous"` // of those that reached the previous step
	OfFirst    Rate    `json:"of_first"`    // of those that reached the first
	Dropped    *uint64 `json:"dropped"`     // those that reached the previous only; nil in the first step
}

// MarshalJSON writes as_of as a date.
func (r FunnelReport) MarshalJSON() ([]byte, error) {
	type plain FunnelReport
	return json.Marshal(struct {
		AsOf string `json:"as_of"`
		plain
	}{r.AsOf.String(), plain(r)})
}

// AndCount returns the funnel of some events over a period: how many ids are
// marked, on any days of it, with the first event, with the first two, and so on.
// It is [Funnel] with events as its steps.
func AndCount(ctx context.Context, src Source, over Period, events ...string) (*FunnelReport, error) {
	steps := make([]Step, len(events))
	for i, e := range events {
		steps[i] = EventStep(e)
	}
	return Funnel(ctx, src, steps, FunnelOptions{Over: over})
}

// Funnel returns how many ids reach each step. In [AnyOrder] an id reaches step k
// if it is in all of the first k steps, whatever the order of days: the
// intersections of the first k sets. In the other orders it reaches step k if it
// has a mark of each of the first k events, on days that follow each other so. The
// first step has OfFirst 1 and no OfPrevious and Dropped.
//
// In any order it reads each step's set once, chunk by chunk, and holds two of them
// at a time. In the other orders it reads each day of each event once, whatever the
// steps and the window; its memory is 12 KiB at most for each event and day, and 400 KiB
// for each step and order.
//
// Errors that match [ErrUsage]: no steps, a step or period that does not parse,
// options that do not go together, a set expression or more than 32 steps in an
// order other than any, [ErrTwoBrands], [ErrManyBrands], [ErrUnknownSet]. Others are
// the context's or the store's.
func Funnel(ctx context.Context, src Source, steps []Step, o FunnelOptions) (*FunnelReport, error) {
	if len(steps) == 0 {
		return nil, usagef("a funnel has at least one step")
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	var report FunnelReport
	err := ask(src, o.AsOf, true, func(v *view) error {
		p := planner{view: v}
		plan := p.funnel
		if o.Order != AnyOrder {
			plan = p.orderedFunnel
		}
		answer, err := plan(ctx, steps, o)
		if err != nil {
			return err
		}
		var parts []Part[FunnelReport]
		report, parts, err = breakdown(&p, o.Scope, answer)
		report.Breakdown = parts
		return err
	})
	if err != nil {
		return nil, err
	}
	return &report, nil
}

// funnel plans a funnel in any order. It returns what answers about those who
// enter by a restriction.
func (p *planner) funnel(ctx context.Context, steps []Step, o FunnelOptions) (func(restriction) (FunnelReport, error), error) {
	v := p.view
	nodes := make([]node, len(steps))
	for i, s := range steps {
		x, err := s.Expr(v.snap, o.Over)
		if err != nil {
			return nil, err
		}
		if nodes[i], err = p.plan(x); err != nil {
			return nil, err
		}
	}
	return func(r restriction) (FunnelReport, error) {
		reached, sizes, err := v.prefixes(ctx, append([]node{r.of(nodes[0])}, nodes[1:]...))
		return FunnelReport{
			AsOf:                 v.env.AsOf,
			ExpectedFalseOverlap: v.stepOverlap(reached, sizes),
			Steps:                funnelSteps(steps, reached),
		}, err
	}, nil
}

// prefixes returns the sizes of the intersections of the first k sets, and those
// of the sets, which are not counted in full where nothing collides.
func (v *view) prefixes(ctx context.Context, nodes []node) (reached, sizes []uint64, err error) {
	reached, sizes = make([]uint64, len(nodes)), make([]uint64, len(nodes))
	chunks := nodes[0].chunks()
	if !v.exact {
		// Sizes are wanted, so the other sets are read outside the first too.
		lists := make([][]uint32, len(nodes))
		for i, n := range nodes {
			lists[i] = n.chunks()
		}
		chunks = merged(lists...)
	}
	sets := make([]*store.Bits, len(nodes))
	for i, n := range nodes {
		if sets[i], err = bitsOf(v.snap, n); err != nil {
			return nil, nil, err
		}
	}
	parts := make([]struct{ reached, sizes []uint64 }, maxParts())
	err = spread(ctx, chunks, len(parts), func(part int, c uint32) error {
		p := &parts[part]
		if p.reached == nil {
			p.reached = make([]uint64, len(nodes))
			if !v.exact {
				p.sizes = make([]uint64, len(nodes))
			}
		}
		return store.Prefixes(sets, c, p.reached, p.sizes)
	})
	for _, p := range parts {
		for k, n := range p.reached {
			reached[k] += n
		}
		for k, n := range p.sizes {
			sizes[k] += n
		}
	}
	return reached, sizes, err
}

// stepOverlap bounds the false overlap of a funnel: of those that reached a step and
// the set of the next.
func (v *view) stepOverlap(reached, sizes []uint64) float64 {
	var most float64
	for k := 1; k < len(sizes); k++ {
		most = max(most, v.overlap(reached[k-1], sizes[k]))
	}
	return most
}

// funnelSteps works out the rates of a funnel.
func funnelSteps(steps []Step, reached []uint64) []FunnelStep {
	rows := make([]FunnelStep, len(steps))
	for k, s := range steps {
		rows[k] = FunnelStep{Event: s.text, Reached: reached[k], OfFirst: Ratio(reached[k], reached[0])}
		if k > 0 {
			dropped := reached[k-1] - reached[k]
			rows[k].Dropped = &dropped
			rows[k].OfPrevious = Ratio(reached[k], reached[k-1])
		}
	}
	return rows
}
