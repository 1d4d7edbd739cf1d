package query_test

import (
	"errors"
	"testing"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// retentionOptions returns options of retention that go together, but for the ends.
func (w *world) retentionOptions(b placement.Brand) (o query.RetentionOptions, set *testExpr) {
	o = query.RetentionOptions{
		By: everyBy[w.rng.IntN(3)], AsOf: w.asOf(), Cohort: query.CohortOf(w.rng.IntN(2)),
		Mode: query.Mode(w.rng.IntN(4)), SimpleMean: w.rng.IntN(2) == 0,
	}
	if w.rng.IntN(2) == 0 {
		o.Return = w.event(b)
	}
	if w.rng.IntN(2) == 0 {
		o.Periods = 1 + w.rng.IntN(10)
	}
	if o.Mode == query.ModeBracket {
		for range 1 + w.rng.IntN(3) {
			from := w.rng.IntN(8)
			o.Brackets = append(o.Brackets, query.Bracket{From: from, To: from + w.rng.IntN(6)})
		}
	}
	switch w.rng.IntN(6) {
	case 0:
		x := w.expr(b, w.rng.IntN(3))
		set, o.CohortSet, o.Cohort = &x, x.Expr, query.CohortFirst
	case 1, 2:
		o.Cohort, o.FromOwnStart, o.By = query.CohortFirst, true, []query.By{query.ByWeek, query.ByMonth}[w.rng.IntN(2)]
	}
	return o, set
}

func (w *world) askRetention(t *testing.T, src query.Source) {
	b := w.anyBrand()
	event := w.event(b)
	o, set := w.retentionOptions(b)
	scope := w.scope(b)
	o.Scope = scope.Scope
	var first, last store.Day
	var ok bool
	o.From, o.To, first, last, ok = w.ends(event)
	a := w.ask(o.AsOf, true)
	r := retention{asking: a, o: o, event: event, back: o.Return, set: set}
	if r.back == "" {
		r.back = event
	}
	if ok {
		r.spans, r.labels = w.eachPeriod(o.By, first, last)
	}
	got, err := query.Retention(t.Context(), src, event, o)
	w.compareJSON(t, got, err, scope.report(a, r.report), "retention of %s, %+v, as of %s", event, o, asOfText(o.AsOf))
}

// retention is the oracle of one report.
type retention struct {
	asking
	o           query.RetentionOptions
	event, back string
	set         *testExpr
	spans       []store.Period
	labels      []string
	keep        func(set) set
}

// period returns period n after the one of days.
func (r retention) period(days store.Period, n int) store.Period {
	for range n {
		days, _ = r.span(r.o.By, days.Last+1)
	}
	return days
}

// offsets lists the offsets that each cell is about, first and last.
func (r retention) offsets() [][2]int {
	if r.o.Mode == query.ModeBracket {
		all := [][2]int{{0, 0}}
		for _, b := range r.o.Brackets {
			all = append(all, [2]int{b.From, b.To})
		}
		return all
	}
	n := r.o.Periods
	if n == 0 && len(r.spans) > 0 {
		for days := r.spans[0]; days.First <= r.asOf; n++ {
			days = r.period(days, 1)
		}
		n = max(1, min(31, n))
	}
	all := make([][2]int, n)
	for i := range all {
		all[i] = [2]int{i, i}
	}
	return all
}

// block returns the days of period, or block, n of an id's cohort.
func (r retention) block(days store.Period, pos uint32, n int) store.Period {
	if !r.o.FromOwnStart {
		return r.period(days, n)
	}
	length := store.Day(7)
	if r.o.By == query.ByMonth {
		length = 30
	}
	first, _, _ := r.stored(r.event)
	for !r.marks[r.event][first][pos] {
		first++
	}
	return store.Period{First: first + store.Day(n)*length, Last: first + store.Day(n+1)*length - 1}
}

// ids is a cohort.
func (r retention) ids(days store.Period) set {
	if r.set != nil {
		return r.keep(r.set.set(r.asking))
	}
	return r.keep(r.cohort(r.event, days, r.o.Cohort))
}

// isBack reports whether an id of a cohort is counted in a cell.
func (r retention) isBack(days store.Period, pos uint32, offsets [2]int) bool {
	active := func(p store.Period) bool {
		for d := p.First; d <= min(p.Last, r.asOf); d++ {
			if r.marks[r.back][d][pos] {
				return true
			}
		}
		return false
	}
	first := r.block(days, pos, offsets[0])
	switch r.o.Mode {
	case query.ModeOnOrAfter:
		return active(store.Period{First: first.First, Last: r.asOf})
	case query.ModeEvery:
		for n := range offsets[1] + 1 {
			if !active(r.block(days, pos, n)) {
				return false
			}
		}
		return true
	}
	return active(store.Period{First: first.First, Last: r.block(days, pos, offsets[1]).Last})
}

// hasEnded reports whether a cell has an answer.
func (r retention) hasEnded(days store.Period, offsets [2]int) bool {
	if !r.o.FromOwnStart {
		return r.ended(r.period(days, offsets[1]).Last)
	}
	length := map[query.By]int{query.ByWeek: 7, query.ByMonth: 30}[r.o.By]
	return r.ended(days.Last + store.Day((offsets[1]+1)*length-1))
}

// report is the JSON of the report of the ids that keep leaves.
func (r retention) report(keep func(set) set) map[string]any {
	r.keep = keep
	offsets := r.offsets()
	cohorts, overlap := []any{}, 0.0
	counts, sizes, rates, cells := make([]int, len(offsets)), make([]int, len(offsets)), make([]float64, len(offsets)), make([]int, len(offsets))
	for i, days := range r.spans {
		ids := r.ids(days)
		row := []any{}
		for n, o := range offsets {
			if !r.hasEnded(days, o) {
				row = append(row, map[string]any{"count": nil, "rate": nil, "incomplete": true})
				continue
			}
			back := 0
			for pos := range ids {
				if r.isBack(days, pos, o) {
					back++
				}
			}
			row = append(row, map[string]any{"count": float64(back), "rate": jsonRate(back, len(ids)), "incomplete": false})
			overlap = max(overlap, r.falseOverlap(days, ids, n, o))
			if len(ids) > 0 {
				counts[n], sizes[n], cells[n] = counts[n]+back, sizes[n]+len(ids), cells[n]+1
				rates[n] += float64(back) / float64(len(ids))
			}
		}
		cohorts = append(cohorts, map[string]any{"period": r.labels[i], "size": float64(len(ids)), "cells": row})
	}
	mean := []any{}
	for n := range offsets {
		rate := jsonRate(counts[n], sizes[n])
		if r.o.SimpleMean && cells[n] > 0 {
			rate = rates[n] / float64(cells[n])
		}
		mean = append(mean, map[string]any{"rate": rate, "cohorts": float64(cells[n])})
	}
	report := map[string]any{"as_of": r.asOf.String(), "expected_false_overlap": overlap, "cohorts": cohorts, "mean": mean}
	if len(r.o.Brackets) > 0 {
		brackets := []any{}
		for _, b := range r.o.Brackets {
			brackets = append(brackets, b.String())
		}
		report["brackets"] = brackets
	}
	return report
}

// falseOverlap is the largest a·b/2³² of the sets that a cell meets: those of each
// day of own start, else of the cohort.
func (r retention) falseOverlap(days store.Period, ids set, n int, offsets [2]int) (most float64) {
	starts := []store.Period{days}
	if r.o.FromOwnStart {
		starts = nil
		for d := days.First; d <= days.Last; d++ {
			starts = append(starts, store.Period{First: d, Last: d})
		}
	}
	for _, start := range starts {
		met := set{}
		for pos := range ids {
			if r.o.FromOwnStart && r.block(days, pos, 0).First != start.First {
				continue
			}
			if r.o.Mode != query.ModeEvery || n == 0 || r.isBack(days, pos, [2]int{n - 1, n - 1}) {
				met[pos] = true
			}
		}
		length := store.Day(7)
		if r.o.By == query.ByMonth {
			length = 30
		}
		reach := store.Period{First: start.First + store.Day(offsets[0])*length, Last: start.First + store.Day(offsets[1]+1)*length - 1}
		if !r.o.FromOwnStart {
			reach = store.Period{First: r.period(days, offsets[0]).First, Last: r.period(days, offsets[1]).Last}
		}
		if r.o.Mode == query.ModeOnOrAfter {
			reach.Last = r.asOf
		}
		back := r.keep(r.union(r.back, reach.First, min(reach.Last, r.asOf)))
		most = max(most, r.overlap(len(met), len(back)))
	}
	return most
}

// TestRetentionUsage asks for what does not go together.
func TestRetentionUsage(t *testing.T) {
	db := brands(t)
	month := query.Of("active", query.Month(2026, 1))
	for name, o := range map[string]query.RetentionOptions{
		"mode":                 {Mode: query.ModeBracket + 1},
		"cohort":               {Cohort: query.CohortEach + 1},
		"no bracket":           {Mode: query.ModeBracket},
		"brackets of another":  {Brackets: []query.Bracket{{From: 1, To: 2}}},
		"bracket reversed":     {Mode: query.ModeBracket, Brackets: []query.Bracket{{From: 2, To: 1}}},
		"bracket below 0":      {Mode: query.ModeBracket, Brackets: []query.Bracket{{From: -1, To: 1}}},
		"bracket far off":      {Mode: query.ModeBracket, Brackets: []query.Bracket{{From: 1, To: 1 << 40}}},
		"own start by day":     {FromOwnStart: true},
		"own start by quarter": {FromOwnStart: true, By: query.ByQuarter},
		"own start of each":    {FromOwnStart: true, By: query.ByWeek, Cohort: query.CohortEach},
		"own start of a set":   {FromOwnStart: true, By: query.ByWeek, CohortSet: month},
		"a set and each":       {CohortSet: month, Cohort: query.CohortEach},
		"a set of a brand":     {CohortSet: query.Of("login", query.All())},
		"among a brand":        {Scope: query.Scope{Among: query.Of("login", query.All())}},
		"except a brand":       {Scope: query.Scope{Except: []query.Expr{query.SeenOf(usr)}}},
		"broken down by nil":   {Scope: query.Scope{Breakdown: []query.Expr{nil}}},
		"broken down, brand":   {Scope: query.Scope{Breakdown: []query.Expr{query.Of("login", query.All())}}},
		"too many cells":       {Periods: 1 << 40},
	} {
		if _, err := query.Retention(t.Context(), db, "active", o); !errors.Is(err, query.ErrUsage) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
