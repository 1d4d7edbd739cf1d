package query_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// fieldModel is a field of the model.
type fieldModel struct {
	store.FieldOptions
	brand     placement.Brand
	low, high int64
	values    map[uint32]int64 // by position
}

// defineFields defines a field of each brand, narrow so that values repeat.
func (w *world) defineFields(t *testing.T) {
	for name, o := range map[string]store.FieldOptions{"level": {Bits: 1 + w.rng.IntN(8)}, "of desk": {Bits: 1 + w.rng.IntN(8), Signed: true}} {
		b := w.brandOf("active")
		if name == "of desk" {
			b = w.brandOf("user logged in")
		}
		f, err := w.db.DefineField(t.Context(), name, o)
		w.must(t, err)
		low, high := f.Limits()
		w.fields[name] = &fieldModel{o, b, low, high, map[uint32]int64{}}
	}
}

// growFields gives values to many ids at once.
func (w *world) growFields(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(w.fields)) {
		f := w.fields[name]
		values := map[string]int64{}
		for range w.rng.IntN(60) {
			id := w.anyID(f.brand)
			_, pos := w.parse(id)
			if w.shares(f.brand, pos, id) {
				continue
			}
			values[id] = w.value(f)
			f.values[pos] = values[id]
			w.register(f.brand, pos, id)
		}
		_, err := w.db.SetFieldMany(t.Context(), name, maps.All(values))
		w.must(t, err)
	}
}

func (w *world) value(f *fieldModel) int64 { return f.low + w.rng.Int64N(f.high-f.low+1) }

// fieldOf returns a field of a brand.
func (w *world) fieldOf(b placement.Brand) (string, *fieldModel) {
	names := slices.Sorted(maps.Keys(w.fields))
	for {
		name := names[w.rng.IntN(len(names))]
		if f := w.fields[name]; f.brand == b {
			return name, f
		}
	}
}

// writeField sets, adds to or clears the value of an id. One whose bit is another
// known id's too has none of its own.
func (w *world) writeField(t *testing.T) {
	b := w.anyBrand()
	name, f := w.fieldOf(b)
	id := w.anyID(b)
	_, pos := w.parse(id)
	old, had := f.values[pos]
	update, want, has, wantErr := store.ClearOf(name), int64(0), false, error(nil)
	switch w.rng.IntN(4) {
	case 0:
	case 1:
		want, has = w.value(f), true
		update = store.SetTo(name, want)
	default:
		delta, overflow := w.rng.Int64N(400)-200, store.Overflow(w.rng.IntN(3))
		update = store.AddTo(name, delta, overflow)
		want, has = old+delta, true
		switch {
		case want >= f.low && want <= f.high:
		case overflow == store.Saturate:
			want = max(f.low, min(f.high, want))
		case overflow == store.Wrap:
			for size := int64(1) << f.Bits; want < f.low || want > f.high; {
				want += size * int64(cmp.Compare(f.low, want))
			}
		default:
			wantErr = store.ErrRange
		}
	}
	if w.shares(b, pos, id) {
		wantErr = store.ErrShared
	}
	got, err := w.db.UpdateFields(t.Context(), id, update)
	if !errors.Is(err, wantErr) || err == nil && got[0] != (store.FieldValue{Value: want, Has: has}) {
		t.Fatalf("%+v of %s, which was %d, %t: got %v, %v, want %d, %t, %v", update, id, old, had, got, err, want, has, wantErr)
	}
	switch {
	case wantErr != nil:
	case has:
		f.values[pos] = want
		w.register(b, pos, id)
	default:
		delete(f.values, pos)
	}
}

// comparison returns the ids whose value compares with a number, often one that no
// value can be.
func (w *world) comparison(b placement.Brand) testExpr {
	name, f := w.fieldOf(b)
	n := w.value(f) + int64(w.rng.IntN(5)-2)
	if w.rng.IntN(8) == 0 {
		n = []int64{math.MinInt64, math.MaxInt64}[w.rng.IntN(2)]
	}
	of := func(x query.Expr, is func(v int64) bool) testExpr {
		return testExpr{x, func(asking) set {
			all := set{}
			for pos, v := range f.values {
				if is(v) {
					all[pos] = true
				}
			}
			return all
		}}
	}
	is := map[string]func(v int64) bool{
		"=": func(v int64) bool { return v == n }, "!=": func(v int64) bool { return v != n },
		"<": func(v int64) bool { return v < n }, "<=": func(v int64) bool { return v <= n },
		">": func(v int64) bool { return v > n }, ">=": func(v int64) bool { return v >= n },
	}
	operators := []string{"=", "!=", "<", "<=", ">", ">=", "in"}
	op := operators[w.rng.IntN(len(operators))]
	if op == "in" {
		m := w.value(f)
		low, high := min(n, m), max(n, m)
		return of(query.ValueIn(name, low, high), func(v int64) bool { return v >= low && v <= high })
	}
	return of(query.Compare(name, op, n), is[op])
}

// askField asks all there is to ask of the values of a field, of all ids or of a set.
func (w *world) askField(t *testing.T, src query.Source) {
	b, asOf := w.anyBrand(), w.asOf()
	name, f := w.fieldOf(b)
	a, scope := w.ask(asOf, false), w.scope(b)
	positions := set{}
	for pos := range f.values {
		positions[pos] = true
	}
	var x query.Expr
	if w.rng.IntN(2) == 0 {
		e := w.expr(b, w.rng.IntN(3))
		x, positions = e.Expr, intersect(positions, e.set(a))
	}
	positions = scope.of(a, positions)
	opts := append(options(asOf), query.In(scope.Scope))
	what := fmt.Sprintf("%s of %v as of %s in %v", name, x, asOfText(asOf), scope.Scope)

	var values []int64
	total := new(big.Int)
	for pos := range positions {
		values = append(values, f.values[pos])
		total.Add(total, big.NewInt(f.values[pos]))
	}
	slices.Sort(values)
	n := uint64(len(values))
	if sum, err := query.SumField(t.Context(), src, name, x, opts...); err != nil || sum.Count != n || sum.Sum.Cmp(total) != 0 {
		t.Errorf("sum of %s: got %+v, %v, want %v of %d", what, sum, err, total, n)
	}
	want := query.FieldExtremes{Count: n}
	if n > 0 {
		want.Min, want.Max = values[0], values[n-1]
	}
	if got, err := query.Extremes(t.Context(), src, name, x, opts...); err != nil || got != want {
		t.Errorf("extremes of %s: got %+v, %v, want %+v", what, got, err, want)
	}
	w.compareValues(t, src, what, name, x, opts, values)

	limit := 1 + w.rng.IntN(10)
	ids := []query.IDValue{}
	for _, id := range w.members(b, positions) {
		_, pos := w.parse(id)
		ids = append(ids, query.IDValue{ID: id, Value: f.values[pos]})
	}
	slices.SortStableFunc(ids, func(x, y query.IDValue) int { return cmp.Compare(y.Value, x.Value) })
	if got, err := query.TopIDs(t.Context(), src, name, x, limit, opts...); err != nil || !slices.Equal(got, ids[:min(limit, len(ids))]) {
		t.Errorf("top %d of %s: got %v, %v, want %v", limit, what, got, err, ids)
	}
}

// compareValues compares the distinct values, their quantiles and their histogram.
func (w *world) compareValues(t *testing.T, src query.Source, what, name string, x query.Expr, opts []query.Option, values []int64) {
	counts, err := query.Values(t.Context(), src, name, x, opts...)
	var all []int64
	for i, c := range counts {
		all = append(all, slices.Repeat([]int64{c.Value}, int(c.Count))...)
		if c.Count == 0 || i > 0 && c.Value <= counts[i-1].Value {
			t.Errorf("values of %s: got %v", what, counts)
		}
	}
	if err != nil || !slices.Equal(all, values) {
		t.Fatalf("values of %s: got %v, %v, want %v", what, counts, err, values)
	}
	percent := w.rng.IntN(101)
	q, ok := query.Quantile(counts, float64(percent)/100)
	if rank := max(1, (percent*len(values)+99)/100); ok != (len(values) > 0) || ok && q != values[rank-1] {
		t.Errorf("quantile %d %% of %s: got %d, %t of %v", percent, what, q, ok, values)
	}
	bins, err := query.Histogram(counts, 1+w.rng.Int64N(40))
	inBins := 0
	for _, bin := range bins {
		for _, v := range values {
			if v >= bin.Low && v <= bin.High {
				bin.Count--
				inBins++
			}
		}
		if bin.Count != 0 {
			t.Errorf("histogram of %s: got %v of %v", what, bins, values)
		}
	}
	if err != nil || inBins != len(values) {
		t.Errorf("histogram of %s: got %v, %v, with %d of %d values", what, bins, err, inBins, len(values))
	}
}
