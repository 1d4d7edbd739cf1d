package query_test

import (
	"fmt"
	"testing"

	"cohort/query"
	"cohort/store"
)

// activeReport is the oracle of one report of actives.
type activeReport struct {
	asking
	o      query.ActiveOptions
	event  string
	spans  []store.Period
	labels []string
	keep   func(set) set
}

func (w *world) askActive(t *testing.T, src query.Source) {
	b, asOf := w.anyBrand(), w.asOf()
	event, scope := w.event(b), w.scope(b)
	o := query.ActiveOptions{
		By: everyBy[w.rng.IntN(3)], AsOf: asOf, Histogram: w.rng.IntN(2) == 0, Scope: scope.Scope,
		Trailing: [][]int{nil, {7, 30}, {28}, {1, 2, 3}, {}, {30, 28}, {60, 7, 400}}[w.rng.IntN(7)],
	}
	var first, last store.Day
	var ok bool
	o.From, o.To, first, last, ok = w.ends(event)
	r := activeReport{asking: w.ask(asOf, true), o: o, event: event}
	if ok {
		r.spans, r.labels = w.eachPeriod(o.By, first, last)
	}
	got, err := query.Active(t.Context(), src, event, o)
	w.compareJSON(t, got, err, scope.report(r.asking, r.report), "active %s, %+v, as of %s", event, o, asOfText(asOf))
}

// report is the JSON of the report of the ids that keep leaves.
func (r activeReport) report(keep func(set) set) map[string]any {
	r.keep = keep
	rows := []any{}
	var sum, n float64
	for i := range r.spans {
		row := r.row(r.spans[i], r.labels[i])
		if s, ok := row["stickiness"].(float64); ok && row["incomplete"] == false {
			sum, n = sum+s, n+1
		}
		rows = append(rows, row)
	}
	report := map[string]any{"as_of": r.asOf.String(), "rows": rows}
	if r.o.By == query.ByDay && len(rows) > 0 {
		report["mean_stickiness"] = nil
		if n > 0 {
			report["mean_stickiness"] = sum / n
		}
	}
	if histogram := r.histogram(); len(histogram) > 0 {
		report["histogram"] = histogram
	}
	return report
}

// count is the number of ids of some days, 0 where the row is after as-of.
func (r activeReport) count(row store.Period, first store.Day) int {
	if row.First > r.asOf {
		return 0
	}
	return len(r.keep(r.union(r.event, first, min(row.Last, r.asOf))))
}

func (r activeReport) row(days store.Period, label string) map[string]any {
	active := r.count(days, days.First)
	row := map[string]any{"period": label, "active": float64(active), "incomplete": !r.ended(days.Last)}
	if r.o.By != query.ByDay {
		return row
	}
	trailing, month := r.o.Trailing, 30
	if trailing == nil {
		trailing = []int{7, 30}
	}
	has := map[int]bool{}
	for _, n := range trailing {
		has[n] = true
		row[fmt.Sprintf("w%d", n)] = float64(r.count(days, days.Last-store.Day(n)+1))
	}
	if has[28] && !has[30] {
		month = 28
	}
	row["stickiness"] = jsonRate(active, r.count(days, days.Last-store.Day(month)+1))
	return row
}

func (r activeReport) histogram() []any {
	times, rows := map[uint32]int{}, 0
	for _, days := range r.spans {
		if days.First > r.asOf || !r.o.Histogram {
			continue
		}
		rows++
		for pos := range r.keep(r.union(r.event, days.First, min(days.Last, r.asOf))) {
			times[pos]++
		}
	}
	all := []any{}
	for k := 1; k <= rows; k++ {
		exactly, atLeast := 0, 0
		for _, n := range times {
			if n == k {
				exactly++
			}
			if n >= k {
				atLeast++
			}
		}
		all = append(all, map[string]any{"periods": float64(k), "exactly": float64(exactly), "at_least": float64(atLeast)})
	}
	return all
}

func (w *world) askLifecycle(t *testing.T, src query.Source) {
	b, by, asOf := w.anyBrand(), everyBy[w.rng.IntN(3)], w.asOf()
	event, scope := w.event(b), w.scope(b)
	from, to, first, last, ok := w.ends(event)
	a := w.ask(asOf, true)
	var spans []store.Period
	var labels []string
	if ok {
		spans, labels = w.eachPeriod(by, first, last)
	}
	want := scope.report(a, func(keep func(set) set) map[string]any {
		rows := []any{}
		for i, days := range spans {
			rows = append(rows, a.lifecycleRow(event, by, days, labels[i], keep))
		}
		return map[string]any{"as_of": a.asOf.String(), "rows": rows}
	})
	got, err := query.Lifecycle(t.Context(), src, event, query.LifecycleOptions{From: from, To: to, By: by, AsOf: asOf, Scope: scope.Scope})
	w.compareJSON(t, got, err, want, "lifecycle %s from %v to %v by %v, as of %s", event, from, to, by, asOfText(asOf))
}

// lifecycleRow tells id by id what it is.
func (a asking) lifecycleRow(event string, by query.By, days store.Period, label string, keep func(set) set) map[string]any {
	var fresh, returning, resurrecting, dormant int
	if days.First <= a.asOf {
		previous, _ := a.span(by, days.First-1)
		was := keep(a.union(event, previous.First, previous.Last))
		now := keep(a.union(event, days.First, min(days.Last, a.asOf)))
		start, _, _ := a.stored(event)
		ever := a.union(event, start, days.First-1)
		for pos := range now {
			switch {
			case was[pos]:
				returning++
			case ever[pos]:
				resurrecting++
			default:
				fresh++
			}
		}
		dormant = len(subtract(was, now))
	}
	return map[string]any{"period": label, "incomplete": !a.ended(days.Last), "new": float64(fresh),
		"returning": float64(returning), "resurrecting": float64(resurrecting), "dormant": float64(dormant)}
}
