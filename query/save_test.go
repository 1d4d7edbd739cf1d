package query_test

import (
	"errors"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// savedSet is a saved set of the model.
type savedSet struct {
	brand     placement.Brand
	positions set
}

var setNames = []string{"bots", "staff", "a-b", "žluť"}

// save saves a set of an expression or of ids, or deletes one.
func (w *world) save(t *testing.T) {
	t.Helper()
	name, b := setNames[w.rng.IntN(len(setNames))], w.anyBrand()
	switch w.rng.IntN(5) {
	case 0:
		err := w.db.DeleteSet(t.Context(), name)
		if _, ok := w.saved[name]; ok && err != nil || !ok && !errors.Is(err, store.ErrNoSet) {
			t.Fatalf("delete set %s: %v", name, err)
		}
		delete(w.saved, name)
	case 1:
		want, ids := savedSet{b, set{}}, w.someIDs(b)
		for _, id := range ids {
			_, pos := w.parse(id)
			want.positions[pos] = true
			w.register(b, pos, id)
		}
		got, err := w.db.SaveIDs(t.Context(), name, withoutError(ids))
		w.compareSaved(t, name, got, err, want)
	default:
		asOf, x := w.asOf(), w.expr(b, w.rng.IntN(4))
		want := savedSet{b, maps.Clone(x.set(w.ask(asOf, false)))}
		got, err := query.Save(t.Context(), w.db, name, x.Expr, options(asOf)...)
		if got.Count == 0 && got.Brand.IsZero() {
			want.brand = placement.Brand{} // no set of it is of a brand
		}
		w.compareSaved(t, name, got, err, want)
	}
}

func (w *world) compareSaved(t *testing.T, name string, got store.SavedSet, err error, want savedSet) {
	t.Helper()
	if err != nil || got.Name != name || got.Brand != want.brand || got.Count != uint64(len(want.positions)) {
		t.Fatalf("save %s: got %+v, %v, want %v", name, got, err, want)
	}
	w.saved[name] = want
}

// someIDs returns some ids of a brand, at least one, in no order, some twice.
func (w *world) someIDs(b placement.Brand) (ids []string) {
	for range 1 + w.rng.IntN(10) {
		ids = append(ids, w.anyID(b))
	}
	return ids
}

func withoutError(ids []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// savedExpr returns a saved set that may meet sets of a brand.
func (w *world) savedExpr(b placement.Brand) (testExpr, bool) {
	for _, name := range slices.Sorted(maps.Keys(w.saved)) {
		if s := w.saved[name]; (s.brand == b || len(s.positions) == 0 && s.brand.IsZero()) && w.rng.IntN(2) == 0 {
			return testExpr{query.Saved(name), func(a asking) set { return a.saved[name].positions }}, true
		}
	}
	return testExpr{}, false
}

// TestSaveRefused saves what cannot be saved: the set stays what it was.
func TestSaveRefused(t *testing.T) {
	db := openStore(t, "2026-01-10", store.Options{})
	for _, m := range []struct{ event, id string }{{"active", "PLR0KHTOWnGLuC"}, {"visited", "USR0KHTOWnGLuC"}} {
		if _, err := db.Mark(t.Context(), m.event, m.id, db.Today()); err != nil {
			t.Fatal(err)
		}
	}
	want, err := query.Save(t.Context(), db, "bots", query.Of("active", query.All()))
	if err != nil || want.Count != 1 {
		t.Fatalf("%+v, %v", want, err)
	}
	mixed := query.Or(query.Of("active", query.All()), query.Of("visited", query.All()))
	for _, c := range []struct {
		name string
		x    query.Expr
		want error
	}{
		{"bots", mixed, query.ErrTwoBrands},
		{"bots", query.And(query.Saved("bots"), query.SeenOf(usr)), query.ErrTwoBrands},
		{"bots", query.Saved("nobody"), query.ErrUnknownSet},
		{"bots", nil, query.ErrUsage},
		{"@bots", query.Of("active", query.All()), store.ErrInvalidSet},
		{"", query.Of("active", query.All()), store.ErrInvalidSet},
	} {
		if _, err := query.Save(t.Context(), db, c.name, c.x); !errors.Is(err, c.want) {
			t.Errorf("save %q %v: got %v, want %v", c.name, c.x, err, c.want)
		}
	}
	for _, ids := range [][]string{{"PLR0KHTOWnGLuE", "USR0KHTOWnGLuC"}, {"PLR0KHTOWnGLuE", "no id"}} {
		if _, err := db.SaveIDs(t.Context(), "bots", withoutError(ids)); err == nil {
			t.Errorf("saved %q", ids)
		}
	}
	got, err := query.Size(t.Context(), db, query.Or(query.Saved("bots"), query.SeenOf(plr)))
	if err != nil || got.Count != want.Count {
		t.Errorf("the set and all that is known: got %+v, %v, want %d", got, err, want.Count)
	}
}

// TestSetNames: a name that the store takes stands after @, and the other way round.
func TestSetNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	runes := []rune("ab-@_.é \t\n\"'[]()&|^<>=!\u00a0\u2028\x7f\u0085/7")
	for range 20_000 {
		var name []rune
		for range rng.IntN(4) {
			name = append(name, runes[rng.IntN(len(runes))])
		}
		x, err := query.Parse("@" + string(name))
		if takes := store.CheckSetName(string(name)) == nil; takes != (err == nil && x == query.Saved(string(name))) {
			t.Fatalf("name %q: the store takes it: %v; parsed as %v, %v", string(name), takes, x, err)
		}
	}
}
