package query_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

func asOfText(asOf *store.Day) string {
	if asOf == nil {
		return "today"
	}
	return asOf.String()
}

func options(asOf *store.Day) []query.Option {
	if asOf == nil {
		return nil
	}
	return []query.Option{query.AsOf(*asOf)}
}

func (w *world) askAll(t *testing.T) {
	snap, err := w.db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := snap.Close(); err != nil {
			t.Error(err)
		}
	}()
	src := []query.Source{w.db, snap}[w.rng.IntN(2)]
	for range 3 {
		w.askCount(t, src)
		w.askExpr(t, src)
	}
	for _, ask := range []func(*testing.T, query.Source){
		w.askTop, w.askFunnel, w.askOrdered, w.askID, w.askStreaking, w.askLongest, w.askActive, w.askLifecycle,
		w.askRetention, w.askBetween, w.askField, w.askUniques,
	} {
		ask(t, src)
	}
}

func (w *world) askCount(t *testing.T, src query.Source) {
	event, p, asOf := w.event(w.anyBrand()), w.period(), w.asOf()
	got, err := query.Count(t.Context(), src, event, p.Period, options(asOf)...)
	first, last := p.read(w.ask(asOf, false), event)
	if want := len(w.union(event, first, last)); err != nil || got != uint64(want) {
		t.Errorf("count %s[%v] as of %s: got %d, %v, want %d", event, p, asOfText(asOf), got, err, want)
	}
}

func (w *world) askExpr(t *testing.T, src query.Source) {
	b, asOf := w.anyBrand(), w.asOf()
	x := w.expr(b, w.rng.IntN(5))
	parsed, err := query.Parse(x.String())
	if err != nil || parsed != x.Expr {
		t.Fatalf("%v is read as %v, %v", x, parsed, err)
	}
	a, scope := w.ask(asOf, false), w.scope(b)
	want := scope.of(a, x.set(a))
	opts := append(options(asOf), query.In(scope.Scope))
	got, err := query.Size(t.Context(), src, parsed, opts...)
	w.comparePartSizes(t, got, scope, a, x)
	if err != nil || got.Count != uint64(len(want)) || got.Expr != x.String() {
		t.Errorf("size of %v as of %s: got %v, %v, want %d", x, asOfText(asOf), got, err, len(want))
	}
	if collide := float64(got.Count) * float64(got.Count) / (1 << 33); (w.kind == placement.Number || w.dense) && got.ExpectedCollisions != 0 ||
		got.ExpectedCollisions > collide {
		t.Errorf("%d ids are expected to collide %g times", got.Count, got.ExpectedCollisions)
	}

	bitmap, err := query.Bitmap(t.Context(), src, parsed, opts...)
	if placements := w.placements(b, want); err != nil || !slices.Equal(bitmap.ToArray(), placements) {
		t.Errorf("bitmap of %v as of %s: got %v, %v, want %v", x, asOfText(asOf), bitmap, err, placements)
	}

	members := w.members(b, want)
	if w.rng.IntN(2) == 0 {
		limit := 1 + w.rng.IntN(10)
		opts = append(opts, query.Limit(limit))
		members = members[:min(limit, len(members))]
	}
	ids := []string{}
	for id, err := range query.Members(t.Context(), src, x.Expr, opts...) {
		if err != nil {
			t.Fatalf("members of %v: %v", x, err)
		}
		ids = append(ids, id)
	}
	if !slices.Equal(ids, members) {
		t.Errorf("members of %v as of %s: got %q, want %q", x, asOfText(asOf), ids, members)
	}
}

// comparePartSizes compares the breakdown of a size.
func (w *world) comparePartSizes(t *testing.T, got query.SetSize, scope testScope, a asking, x testExpr) {
	report := scope.report(a, func(keep func(set) set) map[string]any {
		return map[string]any{"count": len(keep(x.set(a)))}
	})
	parts, _ := report["breakdown"].([]any)
	if len(parts) != len(got.Breakdown) {
		t.Errorf("%v in %v has %d parts", x, scope.Scope, len(got.Breakdown))
		return
	}
	for i, part := range parts {
		want := part.(map[string]any)
		if p := got.Breakdown[i]; p.Set != want["set"] || p.Report.Count != uint64(want["count"].(int)) || p.Report.Expr != x.String() {
			t.Errorf("%v in %v: got %v, want %v", x, scope.Scope, p, want)
		}
	}
}

func (w *world) askFunnel(t *testing.T, src query.Source) {
	b, asOf, over := w.anyBrand(), w.asOf(), w.period()
	a := w.ask(asOf, true)
	var steps []query.Step
	var sets []set
	var events []string
	for range 1 + w.rng.IntN(4) {
		if w.rng.IntN(3) == 0 {
			x := w.expr(b, w.rng.IntN(3))
			sets = append(sets, x.set(a))
			if text := query.TextStep(x.String()); w.rng.IntN(2) == 0 {
				steps = append(steps, text)
			} else {
				steps = append(steps, query.SetStep(x.Expr))
			}
			continue
		}
		event := w.event(b)
		first, last := over.read(a, event)
		sets = append(sets, a.union(event, first, last))
		steps = append(steps, []query.Step{query.EventStep(event), query.TextStep(event)}[w.rng.IntN(2)])
		events = append(events, event)
	}
	scope := w.scope(b)
	want := scope.report(a, func(keep func(set) set) map[string]any {
		return w.funnel(a, steps, append([]set{keep(sets[0])}, sets[1:]...))
	})
	got, err := query.Funnel(t.Context(), src, steps, query.FunnelOptions{Over: over.Period, AsOf: asOf, Scope: scope.Scope})
	w.compareJSON(t, got, err, want, "funnel %v over %v as of %s in %v", steps, over, asOfText(asOf), scope.Scope)

	if len(events) == len(steps) && asOf == nil {
		got, err := query.AndCount(t.Context(), src, over.Period, events...)
		w.compareJSON(t, got, err, w.funnel(a, steps, sets), "and-count of %q over %v", events, over)
	}
}

// funnel is the JSON of a funnel of sets.
func (w *world) funnel(a asking, steps []query.Step, sets []set) map[string]any {
	rows, overlap := []any{}, 0.0
	prefix, first := sets[0], len(sets[0])
	for k, s := range sets {
		row := map[string]any{"event": steps[k].String(), "of_previous": nil, "dropped": nil}
		if k > 0 {
			overlap = max(overlap, w.overlap(len(prefix), len(s)))
			next := intersect(prefix, s)
			row["of_previous"] = jsonRate(len(next), len(prefix))
			row["dropped"] = float64(len(prefix) - len(next))
			prefix = next
		}
		row["reached"] = float64(len(prefix))
		row["of_first"] = jsonRate(len(prefix), first)
		rows = append(rows, row)
	}
	return map[string]any{"as_of": a.asOf.String(), "open": 0.0, "expected_false_overlap": overlap, "steps": rows}
}

// jsonRate is a rate as JSON gives it back.
func jsonRate(part, whole int) any {
	if f := fraction(part, whole); f != nil {
		return *f
	}
	return nil
}

// compareJSON compares a report with the JSON it should have.
func (w *world) compareJSON(t *testing.T, report any, err error, want any, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	data, err := json.Marshal(report)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	var got any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if !near(got, want) {
		text, _ := json.Marshal(want)
		t.Errorf("%s, today %v:\ngot  %s\nwant %s", what, w.today, data, text)
	}
}

// near is DeepEqual but for the last digits of numbers.
func near(x, y any) bool {
	switch x := x.(type) {
	case float64:
		y, ok := y.(float64)
		return ok && math.Abs(x-y) <= 1e-12*math.Abs(y)
	case []any:
		y, ok := y.([]any)
		return ok && slices.EqualFunc(x, y, near)
	case map[string]any:
		y, ok := y.(map[string]any)
		return ok && maps.EqualFunc(x, y, near)
	}
	return reflect.DeepEqual(x, y)
}

// ends returns the ends of a report, left out or not, and the days they mean; ok
// is false for no rows.
func (w *world) ends(event string) (from, to query.Period, first, last store.Day, ok bool) {
	first, last, ok = w.stored(event)
	if w.rng.IntN(3) > 0 {
		p := w.single()
		from = p.Period
		first, _, _ = p.days(asking{}, "")
	}
	if w.rng.IntN(3) > 0 {
		p := w.single()
		_, pLast, _ := p.days(asking{}, "")
		if from == query.All() || first <= pLast {
			to, last = p.Period, pLast
			ok = ok || from != query.All()
		}
	}
	return from, to, first, last, ok && first <= last
}

func (w *world) askBetween(t *testing.T, src query.Source) {
	event, from, to, asOf := w.event(w.anyBrand()), w.day(), w.day(), w.asOf()
	a := w.ask(asOf, true)
	x, y := a.union(event, from, a.bound(from)), a.union(event, to, a.bound(to))
	want := map[string]any{"from": from.String(), "to": to.String(), "size": float64(len(x)), "count": nil, "rate": nil,
		"incomplete": true, "expected_false_overlap": 0.0}
	if a.ended(from) && a.ended(to) {
		both := len(intersect(x, y))
		want["count"], want["rate"], want["incomplete"] = float64(both), jsonRate(both, len(x)), false
		want["expected_false_overlap"] = w.overlap(len(x), len(y))
	}
	got, err := query.RetentionBetween(t.Context(), src, event, from, to, options(asOf)...)
	w.compareJSON(t, got, err, want, "retention of %s from %v to %v as of %s", event, from, to, asOfText(asOf))
}
