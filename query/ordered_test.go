package query_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"cohort/query"
	"cohort/store"
)

// attempts is an ordered funnel in the oracle.
type attempts struct {
	asking
	events      []string
	first, last []store.Day // by step: of the period
	within      int
	firstEntry  bool
}

// entries lists the days on which an id enters.
func (f attempts) entries(pos uint32) []store.Day {
	days := f.daysOf(f.events[0], pos, f.first[0], f.last[0])
	if f.firstEntry && f.within > 0 && len(days) > 1 {
		days = days[:1]
	}
	return days
}

// daysOf lists the days of an id in a period.
func (m *model) daysOf(event string, pos uint32, first, last store.Day) []store.Day {
	var days []store.Day
	for d := first; d <= last; d++ {
		if m.marks[event][d][pos] {
			days = append(days, d)
		}
	}
	return days
}

// reached returns how many steps an id comes: it tries every entry, and keeps every
// day on which a step can be taken, early or late.
func (f attempts) reached(pos uint32, strict bool) int {
	best := 0
	for _, entry := range f.entries(pos) {
		ends := []store.Day{entry}
		level := 1
		for level < len(f.events) {
			first, last := f.first[level], f.last[level]
			if f.within > 0 {
				first, last = entry, min(entry+store.Day(f.within), f.asOf)
			}
			later := strict || f.events[level] == f.events[level-1]
			var next []store.Day
			for _, d := range f.daysOf(f.events[level], pos, first, last) {
				if slices.ContainsFunc(ends, func(end store.Day) bool { return end < d || end == d && !later }) {
					next = append(next, d)
				}
			}
			if len(next) == 0 {
				break
			}
			ends = next
			level++
		}
		best = max(best, level)
	}
	return best
}

// report is the JSON of the funnel of those that keep lets enter.
func (f attempts) report(order query.Order, keep func(set) set) map[string]any {
	open, overlap := 0, 0.0
	ids := keep(f.union(f.events[0], f.first[0], f.last[0]))
	reached := map[bool][]int{false: make([]int, len(f.events)), true: make([]int, len(f.events))}
	for pos := range ids {
		for strict, counts := range reached {
			for k := range f.reached(pos, strict) {
				counts[k]++
			}
		}
		if f.within > 0 && slices.ContainsFunc(f.entries(pos), func(d store.Day) bool { return !f.ended(d + store.Day(f.within)) }) {
			open++
		}
	}
	for k := 1; k < len(f.events); k++ {
		first, last := f.first[k], f.last[k]
		if f.within > 0 {
			first, last = f.first[0], min(f.last[0]+store.Day(f.within), f.asOf)
		}
		overlap = max(overlap, f.overlap(reached[order == query.Strict][k-1], len(keep(f.union(f.events[k], first, last)))))
	}
	out := map[string]any{"as_of": f.asOf.String(), "open": float64(open), "expected_false_overlap": overlap}
	switch order {
	case query.BothOrders:
		out["loose"], out["strict"] = f.steps(reached[false]), f.steps(reached[true])
	default:
		out["steps"] = f.steps(reached[order == query.Strict])
	}
	return out
}

func (f attempts) steps(reached []int) []any {
	var rows []any
	for k, n := range reached {
		row := map[string]any{"event": f.events[k], "reached": float64(n), "of_first": jsonRate(n, reached[0]), "of_previous": nil, "dropped": nil}
		if k > 0 {
			row["of_previous"], row["dropped"] = jsonRate(n, reached[k-1]), float64(reached[k-1]-n)
		}
		rows = append(rows, row)
	}
	return rows
}

func (w *world) askOrdered(t *testing.T, src query.Source) {
	b, asOf, over := w.anyBrand(), w.asOf(), w.period()
	f := attempts{asking: w.ask(asOf, true), firstEntry: w.rng.IntN(2) == 0}
	if w.rng.IntN(3) > 0 {
		f.within = 1 + w.rng.IntN(12)
	}
	order := query.Order(1 + w.rng.IntN(3))
	var steps []query.Step
	for range 1 + w.rng.IntN(4) {
		event := w.event(b)
		if len(steps) > 0 && w.rng.IntN(4) == 0 {
			event = f.events[len(steps)-1]
		}
		first, last := over.read(f.asking, event)
		if storedFirst, storedLast, ok := f.stored(event); ok { // sizes are of stored days
			first, last = max(first, storedFirst), min(last, storedLast)
		} else {
			first, last = 1, 0
		}
		f.events, f.first, f.last = append(f.events, event), append(f.first, first), append(f.last, last)
		steps = append(steps, []query.Step{query.EventStep(event), query.TextStep(event)}[w.rng.IntN(2)])
	}
	if f.within > 0 && f.first[0] > f.last[0] {
		f.last[0] = f.first[0] - 1000 // a window of no entry holds nothing
	}
	scope := w.scope(b)
	o := query.FunnelOptions{Over: over.Period, Order: order, Within: f.within, FirstEntry: f.firstEntry, AsOf: asOf, Scope: scope.Scope}
	got, err := query.Funnel(t.Context(), src, steps, o)
	want := scope.report(f.asking, func(keep func(set) set) map[string]any { return f.report(order, keep) })
	w.compareJSON(t, got, err, want, "funnel %v, %+v, as of %s", steps, o, asOfText(asOf))
}

// TestOrderedAttempts compares funnels of a few days with a search that chooses a
// mark for each step in every way there is.
func TestOrderedAttempts(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 1))
	for round := range 12 {
		db := numbers(t, "2026-02-10")
		begin := day("2026-02-01")
		days := map[string]map[int][]store.Day{}
		var all []store.Mark
		for _, event := range []string{"a", "b", "c"} {
			days[event] = map[int][]store.Day{}
			for id := range 12 {
				for d := begin; d < begin+10; d++ {
					if rng.IntN(3) == 0 {
						days[event][id] = append(days[event][id], d)
						all = append(all, store.Mark{Event: event, ID: strconv.Itoa(id << 18), Day: d})
					}
				}
			}
		}
		if _, err := db.MarkMany(t.Context(), slices.Values(all)); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			var events []string
			var steps []query.Step
			for range 1 + rng.IntN(5) {
				events = append(events, string("abc"[rng.IntN(3)]))
				steps = append(steps, query.EventStep(events[len(events)-1]))
			}
			within := 1 + rng.IntN(9)
			last := begin + store.Day(rng.IntN(10))
			for _, order := range []query.Order{query.Loose, query.Strict} {
				want := make([]uint64, len(steps))
				for id := range 12 {
					var deepest func(k int, entry, before store.Day) int
					deepest = func(k int, entry, before store.Day) int {
						if k == len(events) {
							return k
						}
						best := k
						for _, d := range days[events[k]][id] {
							later := order == query.Strict || k > 0 && events[k] == events[k-1]
							switch {
							case k == 0 && d <= last:
								best = max(best, deepest(1, d, d))
							case k > 0 && d-entry <= store.Day(within) && (d > before || d == before && !later):
								best = max(best, deepest(k+1, entry, d))
							}
						}
						return best
					}
					for k := range deepest(0, 0, 0) {
						want[k]++
					}
				}
				got, err := query.Funnel(t.Context(), db, steps, query.FunnelOptions{
					Over: query.Between(query.Day(begin), query.Day(last)), Order: order, Within: within})
				if err != nil || !slices.Equal(reached(got), want) {
					t.Fatalf("seed %d, round %d: %v, %v, entry to %v, within %d: got %v, %v, want %v",
						seed, round, order, events, last, within, reached(got), err, want)
				}
			}
		}
	}
}

func TestOrder(t *testing.T) {
	for _, o := range []query.Order{query.AnyOrder, query.Loose, query.Strict, query.BothOrders} {
		if got, err := query.ParseOrder(o.String()); err != nil || got != o {
			t.Errorf("%v is read as %v, %v", o, got, err)
		}
	}
	if got := fmt.Sprint(query.Order(9)); got != "Order(9)" {
		t.Errorf("got %s", got)
	}
}
