package query

import (
	"context"
	"encoding/json"
	"strings"

	"cohort/store"
)

// Step is one step of a funnel: an event, which is read over the period of the
// funnel, or a set expression, which names its own periods.
type Step struct {
	text string // as the report shows it
	form stepForm
	set  Expr // of stepSet
}

type stepForm uint8

const (
	stepText  stepForm = iota // an event, or the text of an expression
	stepEvent                 // an event
	stepSet                   // an expression
)

// EventStep is a step that is an event.
func EventStep(event string) Step { return Step{event, stepEvent, nil} }

// SetStep is a step that is a set expression.
func SetStep(x Expr) Step {
	if x == nil {
		return Step{form: stepSet}
	}
	return Step{x.String(), stepSet, x}
}

// TextStep is a step as a person writes it: the event of that name if one is
// stored; else, with a [ or @ in it, a set expression; else an event that was
// never written.
func TextStep(text string) Step { return Step{text, stepText, nil} }

// String returns the step as it was given, an expression in its canonical text.
func (s Step) String() string { return s.text }

// Events lists the events of the step, as the snapshot's events decide what it
// is. The error is that of [Parse], or the store's.
func (s Step) Events(snap *store.Snapshot) ([]string, error) {
	x, err := s.expr(&view{snap: snap}, All())
	if err != nil {
		return nil, err
	}
	return Events(x), nil
}

// expr returns the expression of a step of a funnel over a period.
func (s Step) expr(v *view, over Period) (Expr, error) {
	switch s.form {
	case stepSet:
		return s.set, nil
	case stepText:
		_, ok, err := v.event(s.text)
		if err != nil {
			return nil, err
		}
		if !ok && strings.ContainsAny(s.text, "[@") {
			return Parse(s.text)
		}
	}
	return Of(s.text, over), nil
}

// FunnelOptions say how a funnel is read. The zero value is ready for use.
type FunnelOptions struct {
	// Over is the period in which the events of the steps lie. Default: all of
	// each event's stored days.
	Over Period
	// AsOf is the today of the report: no later mark is read. Default: the
	// store's current day.
	AsOf *store.Day
	// Scope chooses the ids that enter the funnel. Default: all.
	Scope Scope
}

// FunnelReport is what became of the ids of a funnel's first step.
type FunnelReport struct {
	AsOf store.Day `json:"as_of"`
	// Open counts ids whose window to go on has not ended; without a window
	// it is 0.
	Open uint64 `json:"open"`
	// ExpectedFalseOverlap bounds how many ids a step over-counts for sharing
	// a placement by accident: the largest a·b/2³² of two sets that the report
	// intersects. It is 0 where ids do not collide.
	ExpectedFalseOverlap float64      `json:"expected_false_overlap"`
	Steps                []FunnelStep `json:"steps"`
	// Breakdown is the report of each part that the scope asks for.
	Breakdown []Part[FunnelReport] `json:"breakdown,omitempty"`
}

// FunnelStep is one step of a report.
type FunnelStep struct {
	Event      string  `json:"event"`       // the step, as it was given
	Reached    uint64  `json:"reached"`     // ids in this step and all before
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

// Funnel returns how many ids are in all of the first k steps, for each k from 1:
// the intersections of the first k sets, whatever the order of days. The first
// step has OfFirst 1 and no OfPrevious and Dropped.
//
// It reads each step's set once, chunk by chunk, and holds two of them at a time.
// Errors that match [ErrUsage]: no steps, a step or period that does not parse,
// [ErrTwoBrands], [ErrManyBrands], [ErrUnknownSet]. Others are the context's or
// the store's.
func Funnel(ctx context.Context, src Source, steps []Step, o FunnelOptions) (*FunnelReport, error) {
	if len(steps) == 0 {
		return nil, usagef("a funnel has at least one step")
	}
	var report *FunnelReport
	err := ask(src, o.AsOf, true, func(v *view) error {
		p := planner{view: v}
		nodes := make([]node, len(steps))
		for i, s := range steps {
			x, err := s.expr(v, o.Over)
			if err != nil {
				return err
			}
			if nodes[i], err = p.plan(x); err != nil {
				return err
			}
		}
		whole, parts, err := breakdown(&p, o.Scope, func(r restriction) (FunnelReport, error) {
			entered := append([]node{r.of(nodes[0])}, nodes[1:]...)
			reached, sizes, err := v.prefixes(ctx, entered)
			return v.funnelReport(steps, reached, sizes), err
		})
		whole.Breakdown, report = parts, &whole
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
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
	err = eachChunk(ctx, chunks, func(c uint32) error {
		prefix, err := chunkSet(v.snap, nodes[0], c)
		if err != nil {
			return err
		}
		reached[0] += prefix.GetCardinality()
		for k := 1; k < len(nodes); k++ {
			if v.exact && prefix.IsEmpty() {
				break
			}
			set, err := chunkSet(v.snap, nodes[k], c)
			if err != nil {
				return err
			}
			sizes[k] += set.GetCardinality()
			prefix.And(set)
			reached[k] += prefix.GetCardinality()
		}
		return nil
	})
	sizes[0] = reached[0]
	return reached, sizes, err
}

// funnelReport works out the rates of a funnel.
func (v *view) funnelReport(steps []Step, reached, sizes []uint64) FunnelReport {
	r := FunnelReport{AsOf: v.env.AsOf, Steps: make([]FunnelStep, len(steps))}
	for k, s := range steps {
		step := FunnelStep{Event: s.text, Reached: reached[k], OfFirst: Ratio(reached[k], reached[0])}
		if k > 0 {
			dropped := reached[k-1] - reached[k]
			step.Dropped = &dropped
			step.OfPrevious = Ratio(reached[k], reached[k-1])
			r.ExpectedFalseOverlap = max(r.ExpectedFalseOverlap, v.overlap(reached[k-1], sizes[k]))
		}
		r.Steps[k] = step
	}
	return r
}
