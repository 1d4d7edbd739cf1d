package query

import (
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
	isEvent, err := s.isEvent(v)
	switch {
	case err != nil:
		return nil, err
	case isEvent:
		return Of(s.text, over), nil
	case s.form == stepText:
		return Parse(s.text)
	}
	return s.set, nil
}

// isEvent reports whether the step is an event, and not a set expression.
func (s Step) isEvent(v *view) (bool, error) {
	if s.form != stepText || !strings.ContainsAny(s.text, "[@") {
		return s.form != stepSet, nil
	}
	_, ok, err := v.event(s.text)
	return ok, err
}
