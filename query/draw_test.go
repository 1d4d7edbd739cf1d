package query_test

import (
	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// day returns a day among, or near, those that are marked.
func (w *world) day() store.Day { return w.begin - 5 + store.Day(w.rng.IntN(w.days+10)) }

// asOf returns an as-of, or none.
func (w *world) asOf() *store.Day {
	if w.rng.IntN(2) == 0 {
		return nil
	}
	return new(w.day())
}

// event returns an event of a brand, or one never written.
func (w *world) event(b placement.Brand) string {
	if w.rng.IntN(15) == 0 {
		return "never"
	}
	for {
		if e := w.events[w.rng.IntN(len(w.events))]; w.brandOf(e) == b {
			return e
		}
	}
}

// anyBrand returns the brand of a question.
func (w *world) anyBrand() placement.Brand {
	return w.brandOf(w.events[w.rng.IntN(len(w.events))])
}

// single returns a day, week, month, quarter or year.
func (w *world) single() testPeriod {
	by := everyBy[w.rng.IntN(len(everyBy))]
	days, label := w.span(by, w.day())
	return testPeriod{mustPeriod(label), func(asking, string) (store.Day, store.Day, bool) { return days.First, days.Last, true }}
}

// period returns any period.
func (w *world) period() testPeriod {
	a, b, d, n := w.single(), w.single(), w.day(), 1+w.rng.IntN(40)
	aFirst, aLast, _ := a.days(asking{}, "")
	bFirst, bLast, _ := b.days(asking{}, "")
	run := store.Day(n - 1)
	switch w.rng.IntN(12) {
	case 0, 1:
		return a
	case 2:
		if aFirst > bLast {
			a, b, aFirst, bLast = b, a, bFirst, aLast
		}
		return testPeriod{query.Between(a.Period, b.Period), func(asking, string) (store.Day, store.Day, bool) { return aFirst, bLast, true }}
	case 3:
		return testPeriod{query.From(a.Period), func(q asking, event string) (store.Day, store.Day, bool) {
			_, last, ok := q.stored(event)
			if q.given {
				return aFirst, q.asOf, true
			}
			return aFirst, last, ok
		}}
	case 4:
		return testPeriod{query.Until(a.Period), func(q asking, event string) (store.Day, store.Day, bool) {
			first, _, ok := q.stored(event)
			return first, aLast, ok
		}}
	case 5:
		return testPeriod{query.Trailing(n, d), func(asking, string) (store.Day, store.Day, bool) { return d - run, d, true }}
	case 6:
		return testPeriod{query.Forward(d, n), func(asking, string) (store.Day, store.Day, bool) { return d, d + run, true }}
	case 7:
		return testPeriod{query.Today(), func(q asking, _ string) (store.Day, store.Day, bool) { return q.asOf, q.asOf, true }}
	case 8:
		return testPeriod{query.Yesterday(), func(q asking, _ string) (store.Day, store.Day, bool) { return q.asOf - 1, q.asOf - 1, true }}
	case 9:
		return testPeriod{query.Last(n), func(q asking, _ string) (store.Day, store.Day, bool) { return q.asOf - run, q.asOf, true }}
	}
	return testPeriod{query.All(), func(q asking, event string) (store.Day, store.Day, bool) { return q.stored(event) }}
}

// expr returns an expression of up to n operations.
func (w *world) expr(b placement.Brand, n int) testExpr {
	if n > 0 {
		left := w.rng.IntN(n)
		x, y := w.expr(b, left), w.expr(b, n-1-left)
		switch w.rng.IntN(4) {
		case 0:
			return testExpr{query.And(x.Expr, y.Expr), func(a asking) set { return intersect(x.set(a), y.set(a)) }}
		case 1:
			return testExpr{query.Or(x.Expr, y.Expr), func(a asking) set { return unite(x.set(a), y.set(a)) }}
		case 2:
			return testExpr{query.Xor(x.Expr, y.Expr), func(a asking) set {
				return unite(subtract(x.set(a), y.set(a)), subtract(y.set(a), x.set(a)))
			}}
		}
		return testExpr{query.AndNot(x.Expr, y.Expr), func(a asking) set { return subtract(x.set(a), y.set(a)) }}
	}
	event, p := w.event(b), w.period()
	switch w.rng.IntN(8) {
	case 7:
		return w.comparison(b)
	case 6:
		if x, ok := w.savedExpr(b); ok {
			return x
		}
	case 0:
		p = w.shortPeriod(p)
		return testExpr{query.Every(event, p.Period), func(a asking) set { return a.every(event, p) }}
	case 1:
		seen := query.SeenOf(b)
		if len(w.known) < 2 && w.known[b] != nil {
			seen = query.Seen()
		}
		return testExpr{seen, func(a asking) set {
			all := set{}
			for pos := range a.known[b] {
				all[pos] = true
			}
			return all
		}}
	}
	return testExpr{query.Of(event, p.Period), func(a asking) set {
		first, last := p.read(a, event)
		return a.union(event, first, last)
	}}
}

// shortPeriod often takes one of a few days instead, so that ids are in all.
func (w *world) shortPeriod(p testPeriod) testPeriod {
	if w.rng.IntN(3) == 0 {
		return p
	}
	d, n := w.day(), 1+w.rng.IntN(3)
	return testPeriod{query.Forward(d, n), func(asking, string) (store.Day, store.Day, bool) { return d, d + store.Day(n-1), true }}
}
