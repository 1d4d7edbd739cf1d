package main

import (
	"fmt"
	"math"
	"slices"

	"cohort/query"
	"cohort/store"

	"github.com/agext/levenshtein"
)

// A question about what there is not has an answer all the same, that of nothing,
// which a slip of the pen looks like too: so each name that is not known gives a
// warning, with the nearest that is.

// warnf writes a line of a warning, unless --quiet, and each line once.
func (a *app) warnf(format string, args ...any) {
	line := fmt.Sprintf("warning: "+format, args...)
	if a.quiet || a.warned[line] {
		return
	}
	if a.warned == nil {
		a.warned = make(map[string]bool)
	}
	a.warned[line] = true
	a.errorf("%s", line)
}

// warnMissing warns that a name is none of some. The text is what there is to say
// of it, none what there is to say of a store without any.
func (a *app) warnMissing(text, none, name string, names []string) {
	if near := nearest(name, names); near != "" {
		a.warnf("%s; the nearest name is %q", text, near)
	} else {
		a.warnf("%s; %s", text, none)
	}
}

// warnUnknown warns of events that were never written.
func (a *app) warnUnknown(snap *store.Snapshot, events ...string) error {
	for _, name := range events {
		if _, ok, err := snap.Event(name); ok || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		all, err := snap.Events("")
		if err != nil {
			return err
		}
		var names []string
		for _, e := range all {
			names = append(names, e.Name)
		}
		a.warnMissing(fmt.Sprintf("no event %q was ever written", name), "the store has no events", name, names)
	}
	return nil
}

// warnUndefined warns of fields that were never defined.
func (a *app) warnUndefined(snap *store.Snapshot, fields ...string) error {
	for _, name := range fields {
		if _, ok, err := snap.Field(name); ok || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		all, err := snap.Fields()
		if err != nil {
			return err
		}
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
		}
		a.warnMissing(fmt.Sprintf("there is no field %q", name), "the store has no fields", name, names)
	}
	return nil
}

// warnUnknownIn warns of the events and fields of expressions that there are not.
func (a *app) warnUnknownIn(snap *store.Snapshot, sets ...query.Expr) error {
	for _, x := range sets {
		if err := a.warnUnknown(snap, query.Events(x)...); err != nil {
			return err
		}
		if err := a.warnUndefined(snap, query.Fields(x)...); err != nil {
			return err
		}
	}
	return nil
}

// warnReport warns of what a report asks for and its scope names that there is not.
func (a *app) warnReport(snap *store.Snapshot, scope *scopeFlags, events ...string) error {
	if err := a.warnUnknown(snap, events...); err != nil {
		return err
	}
	return a.warnUnknownIn(snap, slices.Concat(scope.Except, scope.Breakdown)...)
}

// warnUnvisited warns of pages that nobody visited.
func (a *app) warnUnvisited(snap *store.Snapshot, pages ...string) error {
	for _, name := range pages {
		known, err := snap.Pages(name)
		if err != nil {
			return err
		}
		if len(known) > 0 {
			continue
		}
		all, err := snap.AllPages()
		if err != nil {
			return err
		}
		var names []string
		for _, p := range all[:min(len(all), maxNames)] {
			names = append(names, p.Name)
		}
		a.warnMissing(fmt.Sprintf("nobody has visited a page %q", name), "the store has no visits", name, names)
	}
	return nil
}

// maxNames bounds the names that are looked through for the nearest.
const maxNames = math.MaxUint16

// nearest returns the name that takes the fewest edits to get from name.
func nearest(name string, names []string) string {
	best, distance := "", 0
	for _, n := range names {
		if d := levenshtein.Distance(name, n, nil); best == "" || d < distance {
			best, distance = n, d
		}
	}
	return best
}
