package query_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// fieldWorld is a store of fields, and their values in maps.
type fieldWorld struct {
	db     *store.DB
	rng    *rand.Rand
	ids    []string
	marked map[string]bool
	values map[string]map[string]int64 // by field, by id
	limits map[string][2]int64
}

var questionFields = map[string]store.FieldOptions{
	"level": {Bits: 8}, "at desk": {Bits: 5, Signed: true}, "seen": {Bits: 63, Signed: true}, "wide": {Bits: 63}, "flag": {Bits: 1, Signed: true}, "empty": {Bits: 8},
}

func newFieldWorld(t *testing.T, seed uint64) *fieldWorld {
	w := &fieldWorld{rng: rand.New(rand.NewPCG(seed, 7)), marked: make(map[string]bool), values: make(map[string]map[string]int64), limits: make(map[string][2]int64)}
	opts := &store.Options{IDs: placement.Number}
	if seed%3 > 0 {
		opts = &store.Options{Positions: store.Positions(seed % 3)}
	}
	db, err := store.Open(filepath.Join(t.TempDir(), "db"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	w.db = db
	at := make(map[uint32]bool)
	for range 300 {
		pos := w.rng.Uint32()
		if w.rng.IntN(2) == 0 {
			pos = w.rng.Uint32N(2000)
		}
		if at[pos] {
			continue
		}
		at[pos] = true
		id := strconv.FormatUint(uint64(pos), 10)
		if opts.IDs != placement.Number {
			id = brandedAt(w.rng, usr, pos)
		}
		w.ids = append(w.ids, id)
	}
	ctx := context.Background()
	for name, o := range questionFields {
		f, err := db.DefineField(ctx, name, o)
		if err != nil {
			t.Fatal(err)
		}
		low, high := f.Limits()
		w.limits[name], w.values[name] = [2]int64{low, high}, make(map[string]int64)
	}
	for round := range 3 {
		w.write(t, round)
	}
	return w
}

// write gives values to ids, in a load or one by one, folded or not.
func (w *fieldWorld) write(t *testing.T, round int) {
	ctx := context.Background()
	for name, values := range w.values {
		if name == "empty" {
			continue
		}
		fresh := make(map[string]int64)
		for _, id := range w.ids {
			if w.rng.IntN(3) > 0 {
				fresh[id] = w.value(name)
			}
		}
		if round == 0 {
			if _, err := w.db.SetFieldMany(ctx, name, maps.All(fresh)); err != nil {
				t.Fatal(err)
			}
			maps.Copy(values, fresh)
			continue
		}
		for _, id := range w.ids[:20] {
			if v, ok := fresh[id]; ok {
				if err := w.db.SetField(ctx, name, id, v); err != nil {
					t.Fatal(err)
				}
				values[id] = v
			} else if err := w.db.ClearField(ctx, name, id); err != nil {
				t.Fatal(err)
			} else {
				delete(values, id)
			}
		}
	}
	if round == 1 {
		if err := w.db.Fold(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range w.ids {
		if w.rng.IntN(4) == 0 {
			if _, err := w.db.Mark(ctx, "active", id, store.Date(2026, 1, 30)); err != nil {
				t.Fatal(err)
			}
			w.marked[id] = true
		}
	}
}

func (w *fieldWorld) value(name string) int64 {
	low, high := w.limits[name][0], w.limits[name][1]
	switch w.rng.IntN(4) {
	case 0:
		return max(low, min(high, int64(w.rng.IntN(9)-4)))
	case 1:
		return []int64{low, high}[w.rng.IntN(2)]
	}
	return low + int64(w.rng.Uint64N(uint64(high-low)+1))
}

// bound is a number to compare with, often outside of the field's range.
func (w *fieldWorld) bound(name string) int64 {
	switch w.rng.IntN(4) {
	case 0:
		return []int64{math.MinInt64, math.MaxInt64, 0, -1, 1}[w.rng.IntN(5)]
	case 1:
		return w.limits[name][w.rng.IntN(2)] + int64(w.rng.IntN(3)-1) // may wrap, to anything
	}
	return w.value(name)
}

// TestFieldsAgainstOracle asks every question of random fields, and compares the
// answers with those worked out from maps.
func TestFieldsAgainstOracle(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newFieldWorld(t, seed)
			for name := range w.values {
				for range 3 {
					w.compare(t, name)
				}
				w.aggregate(t, name, nil, func(string) bool { return true })
				w.aggregate(t, name, query.Of("active", query.All()), func(id string) bool { return w.marked[id] })
				w.aggregate(t, name, query.Compare("level", ">", 100), func(id string) bool { v, ok := w.values["level"][id]; return ok && v > 100 })
			}
		})
	}
}

// compare asks for members by every operator.
func (w *fieldWorld) compare(t *testing.T, name string) {
	t.Helper()
	a, b := w.bound(name), w.bound(name)
	quoted := name
	if name == "at desk" {
		quoted = `"at desk"`
	}
	low, high := min(a, b), max(a, b)
	for text, is := range map[string]func(v int64) bool{
		fmt.Sprintf("%s=%d", quoted, a):             func(v int64) bool { return v == a },
		fmt.Sprintf("%s != %d", quoted, a):          func(v int64) bool { return v != a },
		fmt.Sprintf("%s<%d", quoted, a):             func(v int64) bool { return v < a },
		fmt.Sprintf("%s <=%d", quoted, a):           func(v int64) bool { return v <= a },
		fmt.Sprintf("%s> %d", quoted, a):            func(v int64) bool { return v > a },
		fmt.Sprintf("%s>=%d", quoted, a):            func(v int64) bool { return v >= a },
		fmt.Sprintf("%s=%d..%d", quoted, low, high): func(v int64) bool { return v >= low && v <= high },
		quoted + ">=99999999999999999999":           func(int64) bool { return false },
		quoted + "<99999999999999999999":            func(int64) bool { return true },
		quoted + "!=-99999999999999999999":          func(int64) bool { return true },
		quoted + "=-99999999999999999999..0":        func(v int64) bool { return v <= 0 },
	} {
		x, err := query.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again, err := query.Parse(x.String()); err != nil || again != x {
			t.Fatalf("%s is written %s, which is read as %v, %v", text, x, again, err)
		}
		want := make(map[string]bool)
		for id, v := range w.values[name] {
			if is(v) {
				want[id] = true
			}
		}
		w.members(t, x, want)
		both := make(map[string]bool)
		for id := range want {
			if w.marked[id] {
				both[id] = true
			}
		}
		w.members(t, query.And(x, query.Of("active", query.All())), both)
	}
}

func (w *fieldWorld) members(t *testing.T, x query.Expr, want map[string]bool) {
	t.Helper()
	got := make(map[string]bool)
	for id, err := range query.Members(context.Background(), w.db, x) {
		if err != nil {
			t.Fatalf("%s: %v", x, err)
		}
		got[id] = true
	}
	size, err := query.Size(context.Background(), w.db, x)
	if err != nil || size.Count != uint64(len(want)) || !maps.Equal(got, want) {
		t.Fatalf("%s: %d ids of %d, want %d, %v", x, len(got), size.Count, len(want), err)
	}
}

// aggregate asks for sums, extremes, quantiles, a histogram and the top.
func (w *fieldWorld) aggregate(t *testing.T, name string, x query.Expr, in func(id string) bool) {
	t.Helper()
	ctx := context.Background()
	var values []int64
	var ids []query.IDValue
	want := new(big.Int)
	for id, v := range w.values[name] {
		if in(id) {
			values = append(values, v)
			ids = append(ids, query.IDValue{ID: id, Value: v})
			want.Add(want, big.NewInt(v))
		}
	}
	slices.Sort(values)
	sum, err := query.SumField(ctx, w.db, name, x)
	if err != nil || sum.Count != uint64(len(values)) || sum.Sum.Cmp(want) != 0 {
		t.Fatalf("sum of %s: %+v, %v, want %d, %v", name, sum, err, len(values), want)
	}
	e, err := query.Extremes(ctx, w.db, name, x)
	if err != nil || e.Count != uint64(len(values)) || len(values) > 0 && (e.Min != values[0] || e.Max != values[len(values)-1]) {
		t.Fatalf("extremes of %s: %+v, %v", name, e, err)
	}
	counts, err := query.Values(ctx, w.db, name, x)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []float64{0, 0.1, 0.25, 0.5, 0.9, 0.99, 1} {
		got, ok := query.Quantile(counts, q)
		if ok != (len(values) > 0) {
			t.Fatalf("quantile %v of %s of %d values: %t", q, name, len(values), ok)
		}
		if rank := int(math.Ceil(q*float64(len(values)) - 1e-9)); ok && got != values[max(rank, 1)-1] {
			t.Fatalf("quantile %v of %s: %d, want %d", q, name, got, values[max(rank, 1)-1])
		}
	}
	bins, err := query.Histogram(counts, 0)
	if err != nil || len(bins) > 20 {
		t.Fatalf("histogram of %s: %d bins, %v", name, len(bins), err)
	}
	for i, b := range bins {
		n := 0
		for _, v := range values {
			if v >= b.Low && v <= b.High {
				n++
			}
		}
		if uint64(n) != b.Count || i > 0 && b.Low != bins[i-1].High+1 {
			t.Fatalf("bin %+v of %s: %d, bins %+v", b, name, n, bins)
		}
		values = values[n:]
	}
	if len(values) > 0 {
		t.Fatalf("histogram of %s: %d values are in no bin", name, len(values))
	}
	for _, n := range []int{1, 7, 1000} {
		top, err := query.TopIDs(ctx, w.db, name, x, n)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(ids, func(a, b query.IDValue) int {
			_, am, _ := w.db.Config().IDs.Parse(a.ID)
			_, bm, _ := w.db.Config().IDs.Parse(b.ID)
			return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(am.Placement(), bm.Placement()))
		})
		if !slices.Equal(top, ids[:min(n, len(ids))]) {
			t.Fatalf("top %d of %s: %v, want %v", n, name, top, ids[:min(n, len(ids))])
		}
	}
}

func TestFieldUsage(t *testing.T) {
	for _, text := range []string{"level>=", "level>=x", "level>=1x", "level=7..3", "level>3..7", "level=>3", "level==3", "level=3 4", "level=1.5", "=3", "level=..3", "level=3..", "-level=3"} {
		if x, err := query.Parse(text); !errors.Is(err, query.ErrUsage) {
			t.Errorf("%s: %v, %v", text, x, err)
		}
	}
	x, err := query.Parse(`seen>3 & "a b"=1 | level=2 & level!=3`)
	if got := query.Fields(x); err != nil || !slices.Equal(got, []string{"seen", "a b", "level"}) {
		t.Errorf("%v: %v, %v", x, got, err)
	}
	if _, err := query.Histogram([]query.ValueCount{{Value: 0, Count: 1}, {Value: 1 << 40, Count: 1}}, 1); !errors.Is(err, query.ErrUsage) {
		t.Errorf("histogram: %v", err)
	}
}
