package query

import (
	"errors"
	"fmt"

	"cohort/placement"
	"cohort/store"
)

// Source is what questions are asked of: a *store.DB or a *store.Snapshot. Each
// question takes one snapshot and closes it before it returns, so its answer is
// consistent; several questions asked of one *store.Snapshot see the same marks.
type Source interface {
	Snapshot() (*store.Snapshot, error)
}

var (
	_ Source = (*store.DB)(nil)
	_ Source = (*store.Snapshot)(nil)
)

// Option changes how the questions that take options read: [Count], [Size], [Members],
// [Bitmap], [Save], [RetentionBetween], [Top], and those about streaks, calendars, fields
// and visitors. Of an option given twice the last counts.
type Option func(*settings)

// settings are what the options set.
type settings struct {
	scope   Scope
	asOf    *store.Day
	limit   int
	limited bool
}

// AsOf makes a day the today of the question, and keeps it from reading any
// later day. Without it, today is the store's current day and every stored day
// may be read.
func AsOf(d store.Day) Option { return func(s *settings) { s.asOf = &d } }

// In makes the question one of the ids of a scope; only [Size] heeds its Breakdown.
// Questions about one id, about visitors, and [Top] do not heed it.
func In(scope Scope) Option { return func(s *settings) { s.scope = scope } }

// Limit makes [Members] yield no more than n ids, n ≥ 1. Counts do not heed it.
func Limit(n int) Option { return func(s *settings) { s.limit, s.limited = n, true } }

// apply returns what the options set.
func apply(opts []Option) (settings, error) {
	var s settings
	for _, o := range opts {
		o(&s)
	}
	if s.limited && s.limit < 1 {
		return s, usagef("limit %d: must be at least 1", s.limit)
	}
	return s, nil
}

// view is a snapshot, and how one question reads it.
type view struct {
	snap  *store.Snapshot
	env   Env       // its Stored is that of the event at hand
	today store.Day // the store's current day
	exact bool      // positions stand for single ids: nothing collides
	dense bool      // positions are not in the order of placements
}

// ask takes a snapshot, lets a question read it, and closes it. A report never
// reads a day after as-of, which is today unless it is given.
func ask(src Source, asOf *store.Day, report bool, question func(*view) error) (err error) {
	snap, err := src.Snapshot()
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := snap.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
	}()
	v, err := newView(snap, asOf, report)
	if err != nil {
		return err
	}
	return question(v)
}

// newView says how a question reads a snapshot.
func newView(snap *store.Snapshot, asOf *store.Day, report bool) (*view, error) {
	if asOf != nil && !asOf.Valid() {
		return nil, usagef("as of %v: not a day of the years 1 to 9999", *asOf)
	}
	config := snap.Config()
	v := &view{
		snap:  snap,
		today: snap.Today(),
		exact: config.Positions != store.Hashed,
		dense: config.Positions == store.Dense,
		env:   Env{AsOf: snap.Today(), Report: report, WeekStart: config.WeekStart},
	}
	if asOf != nil {
		v.env.AsOf, v.env.AsOfGiven = *asOf, true
	}
	return v, nil
}

// NewEnv returns what the periods of a question about an event are resolved
// against: as of a day, or, where that is nil, of the store's current day. It is
// for questions that are asked of the store itself, such as whether one id has a
// mark within a period. The error is that of a day outside the years 1 to 9999, or
// the store's.
func NewEnv(snap *store.Snapshot, event string, asOf *store.Day) (Env, error) {
	v, err := newView(snap, asOf, false)
	if err != nil {
		return Env{}, err
	}
	e, _, err := v.event(event)
	if err != nil {
		return Env{}, err
	}
	v.env.Stored = stored(e)
	return v.env, nil
}

// event returns an event; one never written is the zero Event, with no days. The name
// must be one that can be written.
func (v *view) event(name string) (e store.Event, ok bool, err error) {
	e, ok, err = v.snap.Event(name)
	switch {
	case err != nil:
		return store.Event{}, false, fmt.Errorf("event %s: %w", quote(name), err)
	case !ok:
		return store.Event{}, false, checkEvent(name)
	}
	return e, true, nil
}

// checkEvent returns an error for a name that no event can have.
func checkEvent(name string) error {
	if err := store.CheckEvent(name); err != nil {
		return fmt.Errorf("event %s: %w", quote(name), err)
	}
	return nil
}

// resolve returns the days of a period of an event that the question reads.
func (v *view) resolve(p Period, e store.Event) (store.Period, error) {
	env := v.env
	env.Stored = stored(e)
	return p.Resolve(env)
}

// resolveUnbounded is resolve where the days name rows rather than what is read:
// they may lie after as-of.
func (v *view) resolveUnbounded(p Period, e store.Event) (store.Period, error) {
	env := v.env
	env.Stored, env.AsOfGiven, env.Report = stored(e), false, false
	return p.Resolve(env)
}

// stored returns an event's first to last stored day, or no days.
func stored(e store.Event) store.Period {
	if e.Days == 0 {
		return noDays
	}
	return store.Period{First: e.First, Last: e.Last}
}

// ended reports whether a period that ends on a day has ended.
func (v *view) ended(last store.Day) bool { return last <= v.env.AsOf && last < v.today }

// read returns the days that may be read, of an event's stored ones.
func (v *view) read(e store.Event) store.Period {
	days := stored(e)
	if v.env.AsOfGiven || v.env.Report {
		days.Last = min(days.Last, v.env.AsOf)
	}
	return days
}

// overlap returns how many ids two unrelated sets of a and b ids seem to share.
func (v *view) overlap(a, b uint64) float64 {
	if v.exact {
		return 0
	}
	return placement.ExpectedFalseOverlap(float64(a), float64(b))
}
