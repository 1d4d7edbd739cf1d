package query_test

import (
	"maps"
	"testing"

	"cohort/placement"
	"cohort/query"
)

// testScope is a scope and what sets it means.
type testScope struct {
	query.Scope
	among         *testExpr
	except, parts []testExpr
}

// scope returns a scope, often that of all ids.
func (w *world) scope(b placement.Brand) testScope {
	var s testScope
	if w.rng.IntN(3) == 0 {
		x := w.expr(b, w.rng.IntN(3))
		s.among, s.Among = &x, x.Expr
	}
	for range w.rng.IntN(9) / 6 {
		x := w.expr(b, w.rng.IntN(2))
		s.except, s.Except = append(s.except, x), append(s.Except, x.Expr)
	}
	if w.rng.IntN(3) == 0 {
		for range 1 + w.rng.IntN(2) {
			x := w.expr(b, w.rng.IntN(2))
			s.parts, s.Breakdown = append(s.parts, x), append(s.Breakdown, x.Expr)
		}
	}
	return s
}

// of returns the ids of a set that are in the scope.
func (s testScope) of(a asking, x set) set {
	if s.among != nil {
		x = intersect(x, s.among.set(a))
	}
	for _, y := range s.except {
		x = subtract(x, y.set(a))
	}
	return x
}

// report is the JSON of a report with its breakdown, given what makes it of the
// ids that a function keeps of any set.
func (s testScope) report(a asking, of func(keep func(set) set) map[string]any) map[string]any {
	whole := of(func(x set) set { return s.of(a, x) })
	if len(s.parts) == 0 {
		return whole
	}
	none := func(x set) set { return s.of(a, x) }
	parts := []any{}
	for _, part := range s.parts {
		ids, before := part.set(a), none
		none = func(x set) set { return subtract(before(x), ids) }
		report := of(func(x set) set { return intersect(s.of(a, x), ids) })
		report["set"] = part.String()
		parts = append(parts, report)
	}
	last := of(none)
	last["set"] = query.None
	whole = maps.Clone(whole)
	whole["breakdown"] = append(parts, last)
	return whole
}

func TestScopeJSON(t *testing.T) {
	db := numbers(t, "2026-02-10")
	marks(t, db, "played", "2026-01-05", "1 2 3 4 5")
	marks(t, db, "paid", "2026-01-06", "1 2 9")
	marks(t, db, "staff", "2026-02-10", "2")
	marks(t, db, "staff", "2026-02-11", "1")
	scope := query.Scope{
		Among:     parse(t, "seen - played[2026-01-05] | played[all]"),
		Except:    []query.Expr{parse(t, "staff[all]")},
		Breakdown: []query.Expr{parse(t, "paid[all]"), parse(t, `every("paid"[2026-01-06])`), parse(t, "never[all]")},
	}
	// A count reads every stored day, a report none after as-of.
	size, err := query.Size(t.Context(), db, parse(t, "played[all]"), query.In(scope))
	wantJSON(t, size, err, `{"expr":"played[all]","count":3,"expected_collisions":0,"breakdown":[
		{"set":"paid[all]","expr":"played[all]","count":0,"expected_collisions":0},
		{"set":"every(paid[2026-01-06])","expr":"played[all]","count":0,"expected_collisions":0},
		{"set":"never[all]","expr":"played[all]","count":0,"expected_collisions":0},
		{"set":"(none)","expr":"played[all]","count":3,"expected_collisions":0}]}`)
	f, err := query.Funnel(t.Context(), db, []query.Step{query.EventStep("played")}, query.FunnelOptions{Scope: scope})
	wantJSON(t, f, err, `{"as_of":"2026-02-10","open":0,"expected_false_overlap":0,"steps":[
		{"event":"played","reached":4,"of_previous":null,"of_first":1,"dropped":null}],"breakdown":[
		{"set":"paid[all]","as_of":"2026-02-10","open":0,"expected_false_overlap":0,"steps":[
			{"event":"played","reached":1,"of_previous":null,"of_first":1,"dropped":null}]},
		{"set":"every(paid[2026-01-06])","as_of":"2026-02-10","open":0,"expected_false_overlap":0,"steps":[
			{"event":"played","reached":1,"of_previous":null,"of_first":1,"dropped":null}]},
		{"set":"never[all]","as_of":"2026-02-10","open":0,"expected_false_overlap":0,"steps":[
			{"event":"played","reached":0,"of_previous":null,"of_first":null,"dropped":null}]},
		{"set":"(none)","as_of":"2026-02-10","open":0,"expected_false_overlap":0,"steps":[
			{"event":"played","reached":3,"of_previous":null,"of_first":1,"dropped":null}]}]}`)
}
