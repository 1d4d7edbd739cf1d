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

// TextStep is a step as a person writes it; [EventOrSet] says what it means.
func TextStep(text string) Step { return Step{text, stepText, nil} }

// String returns the step as it was given, an expression in its canonical text.
func (s Step) String() string { return s.text }

// Expr returns the set of the step, that of an event being its marks over a period.
// The error is that of [EventOrSet].
func (s Step) Expr(snap *store.Snapshot, over Period) (Expr, error) {
	if x, err := s.expr(snap); x != nil || err != nil || s.form == stepSet {
		return x, err
	}
	return Of(s.text, over), nil
}

// expr returns the set expression that the step is, nil for an event.
func (s Step) expr(snap *store.Snapshot) (Expr, error) {
	if s.form == stepText {
		return EventOrSet(snap, s.text)
	}
	return s.set, nil
}

// EventOrSet says what a text means where an event is wanted and a set is possible:
// the event of that name if one is stored; else the set expression that it is, such as
// level>=10 or seen - paid[all]; else an event that was never written, for which the
// expression is nil. A text that is none of these but has a [ or @ in it, or begins as
// every(…) or seen(…) do, is meant to be an expression: the error is that of [Parse].
// Others are store.ErrInvalidEvent and the store's. Cost: that of
// [store.Snapshot.Event].
func EventOrSet(snap *store.Snapshot, text string) (Expr, error) {
	if _, ok, err := snap.Event(text); ok || err != nil {
		return nil, err
	}
	x, err := Parse(text)
	if err == nil {
		return x, nil
	}
	if meantAsSet(text) {
		return nil, err
	}
	return nil, checkEvent(text)
}

// meantAsSet reports whether a text that is no event is meant to be an expression,
// right or wrong.
func meantAsSet(text string) bool {
	return strings.ContainsAny(text, "[@") || strings.HasPrefix(text, "every(") || strings.HasPrefix(text, "seen(")
}
