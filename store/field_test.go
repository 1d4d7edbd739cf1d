package store_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"cohort/placement"
	"cohort/store"

	"pgregory.net/rapid"
)

// fieldModel is the fields of a store, made of maps.
type fieldModel struct {
	kind   placement.Kind
	dense  bool
	known  map[string]bool
	fields map[string]*fieldOracle
}

type fieldOracle struct {
	low, high int64
	brand     placement.Brand
	values    map[string]int64 // by the id that wrote it
}

var fieldKinds = map[string]store.FieldOptions{
	"level": {Bits: 63}, "score": {Bits: 8, Signed: true}, "wide": {Bits: 63, Signed: true}, "sign": {Bits: 1, Signed: true},
}

func newFieldModel(kind placement.Kind, dense bool) *fieldModel {
	m := &fieldModel{kind: kind, dense: dense, known: make(map[string]bool), fields: make(map[string]*fieldOracle)}
	for name, o := range fieldKinds {
		m.define(name, o)
	}
	return m
}

func (m *fieldModel) define(name string, o store.FieldOptions) {
	f := &fieldOracle{low: 0, high: int64(1)<<(o.Bits-1)*2 - 1, values: make(map[string]int64)}
	if o.Bits == 63 {
		f.high = math.MaxInt64
	}
	if o.Signed {
		f.low, f.high = -(int64(1) << (o.Bits - 1)), int64(1)<<(o.Bits-1)-1
	}
	m.fields[name] = f
}

func (m *fieldModel) brand(id string) placement.Brand {
	b, _, _ := m.kind.Parse(id)
	return b
}

// others lists the known ids that share the position of an id.
func (m *fieldModel) others(id string) (ids []string) {
	if m.dense {
		return nil
	}
	b, mixed, _ := m.kind.Parse(id)
	for other := range m.known {
		if ob, om, _ := m.kind.Parse(other); other != id && ob == b && om.Placement() == mixed.Placement() {
			ids = append(ids, other)
		}
	}
	return ids
}

// check returns why an id cannot have a value of a field now.
func (m *fieldModel) check(name, id string, read bool) error {
	f := m.fields[name]
	switch {
	case f == nil:
		return store.ErrNoField
	case !f.brand.IsZero() && f.brand != m.brand(id):
		return store.ErrOtherBrand
	case f.brand.IsZero() && m.kind == placement.Branded && read:
		return nil
	case len(m.others(id)) > 0:
		return store.ErrShared
	}
	return nil
}

// add returns the sum that an addition leaves, worked out without overflow.
func (f *fieldOracle) add(value, delta int64, o store.Overflow) (int64, error) {
	sum := bigSum(value, delta)
	inside := sum.cmp(f.low) >= 0 && sum.cmp(f.high) <= 0
	switch {
	case inside:
		return value + delta, nil
	case o == store.Fail:
		return value, store.ErrRange
	case o == store.Saturate && sum.cmp(f.high) > 0:
		return f.high, nil
	case o == store.Saturate:
		return f.low, nil
	}
	return sum.wrap(f.low, f.high), nil
}

func (m *fieldModel) set(name, id string, value int64) {
	m.fields[name].brand = m.brand(id)
	m.fields[name].values[id] = value
	m.known[id] = true
}

// TestFieldModel runs random operations on the fields of a store and on a model of
// them, and compares them after each.
func TestFieldModel(t *testing.T) {
	for _, kind := range []struct {
		name  string
		kind  placement.Kind
		dense bool
	}{
		{"branded", placement.Branded, false},
		{"string, dense", placement.String, true}, {"number", placement.Number, false},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			ids := idsOf(t, kind.kind)
			work := workDir(t)
			rapid.Check(t, func(t *rapid.T) {
				dir, err := os.MkdirTemp(work, "run")
				if err != nil {
					t.Fatalf("%v", err)
				}
				defer os.RemoveAll(dir)
				runFieldModel(t, newFieldModel(kind.kind, kind.dense), ids, dir)
			})
		})
	}
}

// fieldMachine is a store with the model of its fields.
type fieldMachine struct {
	*machine
	m *fieldModel
}

func runFieldModel(t *rapid.T, m *fieldModel, ids []string, dir string) {
	base := newModel(m.kind, m.dense, false)
	opts := base.options()
	opts.FoldMarks = rapid.SampledFrom([]int{0, 1, 8}).Draw(t, "FoldMarks")
	opts.SetLogAfter(rapid.SampledFrom([]int{0, 5, 1 << 30}).Draw(t, "commits before a log"))
	k := &fieldMachine{&machine{model: base, dir: dir, opts: opts, ids: ids, path: filepath.Join(dir, "0")}, m}
	k.db = mustOpen(t, k.path, opts)
	defer func() {
		if k.db != nil {
			_ = k.db.Close() // a failed run has said so already
		}
	}()
	for name, o := range fieldKinds {
		if _, err := k.db.DefineField(ctx, name, o); err != nil {
			t.Fatalf("define: %v", err)
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"":         k.compareAll,
		"update":   k.update,
		"update 2": k.update,
		"many":     k.many,
		"mark":     k.register,
		"erase":    k.eraseOne,
		"redefine": k.redefine,
		"fold":     k.fold,
		"reopen":   k.reopen,
		"crash":    k.crashFields,
		"snapshot": k.staysFields,
	})
	k.verifyFields(t)
}

func (k *fieldMachine) drawID(t *rapid.T) string { return rapid.SampledFrom(k.ids).Draw(t, "id") }
func (k *fieldMachine) drawField(t *rapid.T) string {
	return rapid.SampledFrom(slices.Sorted(maps.Keys(fieldKinds))).Draw(t, "field")
}

func (k *fieldMachine) drawValue(t *rapid.T, f string) int64 {
	low, high := int64(-3), int64(3)
	if o := k.m.fields[f]; o != nil {
		low, high = o.low, o.high
	}
	return rapid.OneOf(rapid.Int64Range(low, high), rapid.Int64Range(-2, 2), rapid.SampledFrom([]int64{low, high, math.MinInt64, math.MaxInt64})).Draw(t, "value")
}

func (k *fieldMachine) update(t *rapid.T) {
	id := k.drawID(t)
	var updates []store.FieldUpdate
	var want []store.FieldValue
	var wantErrs []error // any of them
	states := make(map[string]store.FieldValue)
	for range rapid.IntRange(1, 3).Draw(t, "updates") {
		name := k.drawField(t)
		f := k.m.fields[name]
		if err := k.m.check(name, id, false); err != nil {
			wantErrs = append(wantErrs, err)
		}
		now, ok := states[name]
		if !ok && f != nil && k.m.check(name, id, false) == nil {
			now.Value, now.Has = f.values[id], false
			_, now.Has = f.values[id]
		}
		var next store.FieldValue
		var err error
		switch v := k.drawValue(t, name); rapid.SampledFrom([]string{"set", "set", "add", "add", "clear"}).Draw(t, "kind") {
		case "set":
			updates, next = append(updates, store.SetTo(name, v)), store.FieldValue{Value: v, Has: true}
			if f != nil && (v < f.low || v > f.high) {
				err = store.ErrRange
			}
		case "add":
			o := store.Overflow(rapid.IntRange(0, 2).Draw(t, "overflow"))
			updates, next = append(updates, store.AddTo(name, v, o)), store.FieldValue{Has: true}
			if f != nil {
				next.Value, err = f.add(now.Value, v, o)
			}
		default:
			updates = append(updates, store.ClearOf(name))
		}
		if err != nil {
			wantErrs = append(wantErrs, err)
		}
		states[name], want = next, append(want, next)
	}
	got, err := k.db.UpdateFields(ctx, id, updates...)
	if len(wantErrs) > 0 {
		if !slices.ContainsFunc(wantErrs, func(want error) bool { return errors.Is(err, want) }) {
			t.Fatalf("update %s %+v: %v, %v, want %v", id, updates, got, err, wantErrs)
		}
		k.bindRefused(t)
		return
	}
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("update %s %+v: %+v, %v, want %+v", id, updates, got, err, want)
	}
	for name, v := range states {
		if v.Has {
			k.m.set(name, id, v.Value)
		} else {
			delete(k.m.fields[name].values, id)
		}
	}
	k.bindRefused(t)
}

// bindRefused takes over which fields are bound to a brand: an update that is refused
// may have bound some.
func (k *fieldMachine) bindRefused(t *rapid.T) {
	s, err := k.db.Snapshot()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer mustClose(t, s)
	fields, err := s.Fields()
	if err != nil || len(fields) != len(k.m.fields) {
		t.Fatalf("%d fields, %v, want %d", len(fields), err, len(k.m.fields))
	}
	for _, f := range fields {
		o := k.m.fields[f.Name]
		if !o.brand.IsZero() && o.brand != f.Brand || int(f.Count) != len(o.values) {
			t.Fatalf("field %+v, want brand %s and %d values", f, o.brand, len(o.values))
		}
		o.brand = f.Brand
	}
}

// many brings rows in, with or without a batch that is run again.
func (k *fieldMachine) many(t *rapid.T) {
	name := k.drawField(t)
	f := k.m.fields[name]
	opts := store.FieldLoad{Add: rapid.Bool().Draw(t, "add"), Overflow: store.Overflow(rapid.IntRange(0, 2).Draw(t, "overflow"))}
	if rapid.Bool().Draw(t, "batch") {
		k.files++
		opts.Batch = fmt.Sprintf("batch %d", k.files)
	}
	refused := make(map[uint64]error)
	opts.Refused = func(row uint64, err error) { refused[row] = err }
	if f == nil {
		if _, err := k.db.LoadField(ctx, name, opts); !matches(err, store.ErrNoField) {
			t.Fatalf("load: %v", err)
		}
		return
	}
	rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) fieldRow { return fieldRow{k.drawID(t), k.drawValue(t, name)} }), 0, 20).Draw(t, "rows")
	runs := 1
	if opts.Batch != "" {
		runs = 2
	}
	brand := f.brand
	for run := range runs {
		l, err := k.db.LoadField(ctx, name, opts)
		if err != nil {
			t.Fatalf("load: %v", err)
		}
		l.SetSize(rapid.IntRange(1, 25).Draw(t, "size"))
		index := uint64(0)
		type taken struct {
			fieldRow
			index uint64
		}
		var took []taken
		for _, r := range rows {
			err := l.Add(r.id, r.value)
			var want error
			if brand.IsZero() {
				brand = k.m.brand(r.id)
			}
			if brand != k.m.brand(r.id) {
				want = store.ErrOtherBrand
			} else if !opts.Add && (r.value < f.low || r.value > f.high) {
				want = store.ErrRange
			}
			if !matches(err, want) {
				t.Fatalf("load %+v: %v, want %v", r, err, want)
			}
			if want == nil {
				took = append(took, taken{r, index})
				index++
			}
		}
		tally, err := l.Close()
		if err != nil || tally.Rows+tally.Refused+tally.Skipped != index || run == 1 && tally.Skipped != index {
			t.Fatalf("load of %d rows, run %d: %+v, %v", index, run, tally, err)
		}
		if run == 1 {
			continue
		}
		changed := uint64(0)
		for _, r := range took {
			want := k.m.check(name, r.id, false)
			value := r.value
			if opts.Add {
				sum, outside := f.add(f.values[r.id], r.value, opts.Overflow)
				if want == nil || outside != nil && matches(refused[r.index], outside) {
					value, want = sum, outside // of two faults either is told
				}
			}
			if !matches(refused[r.index], want) {
				t.Fatalf("row %+v: refused %v, want %v", r, refused[r.index], want)
			}
			if want == nil {
				if before, ok := f.values[r.id]; !ok || before != value {
					changed++
				}
				k.m.set(name, r.id, value)
			}
		}
		if tally.Changed != changed {
			t.Fatalf("load: %+v, want %d changed", tally, changed)
		}
	}
	k.bindRefused(t)
}

type fieldRow struct {
	id    string
	value int64
}

func (k *fieldMachine) register(t *rapid.T) {
	id := k.drawID(t)
	if _, err := k.db.Mark(ctx, "seen by "+k.m.brand(id).String(), id, today); err != nil {
		t.Fatalf("%v", err)
	}
	k.m.known[id] = true
}

func (k *fieldMachine) eraseOne(t *rapid.T) {
	id := k.drawID(t)
	want := 0
	if k.m.known[id] {
		for _, f := range k.m.fields {
			for _, at := range append(k.m.others(id), id) {
				if _, ok := f.values[at]; ok && f.brand == k.m.brand(id) {
					delete(f.values, at)
					want++
				}
			}
		}
	}
	delete(k.m.known, id)
	got, err := k.db.Erase(ctx, id)
	if err != nil || got.Fields != want {
		t.Fatalf("erase %s: %+v, %v, want %d fields", id, got, err, want)
	}
}

func (k *fieldMachine) redefine(t *rapid.T) {
	name := k.drawField(t)
	if k.m.fields[name] != nil {
		if err := k.db.DeleteField(ctx, name); err != nil {
			t.Fatalf("delete: %v", err)
		}
		delete(k.m.fields, name)
		return
	}
	if err := k.db.DeleteField(ctx, name); !matches(err, store.ErrNoField) {
		t.Fatalf("delete: %v", err)
	}
	if _, err := k.db.DefineField(ctx, name, fieldKinds[name]); err != nil {
		t.Fatalf("define: %v", err)
	}
	k.m.define(name, fieldKinds[name])
}

func (k *fieldMachine) compareAll(t *rapid.T) {
	s, err := k.db.Snapshot()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer mustClose(t, s)
	k.compareIn(t, s)
}

func (k *fieldMachine) compareIn(t *rapid.T, s *store.Snapshot) {
	for name, f := range k.m.fields {
		for _, id := range k.ids {
			value, has, err := s.FieldValue(name, id)
			want, wantHas := f.values[id]
			wantErr := k.m.check(name, id, true)
			if wantErr != nil {
				want, wantHas = 0, false
			}
			if value != want || has != wantHas || !matches(err, wantErr) {
				t.Fatalf("field %s of %s: %d, %t, %v, want %d, %t, %v", name, id, value, has, err, want, wantHas, wantErr)
			}
		}
		field, ok, err := s.Field(name)
		if err != nil || !ok || int(field.Count) != len(f.values) {
			t.Fatalf("field %+v, %t, %v, want %d values", field, ok, err, len(f.values))
		}
		numbers, err := s.FieldChunkNumbers(field)
		if err != nil {
			t.Fatalf("%v", err)
		}
		var sum, want int64
		for _, n := range numbers {
			v, err := s.FieldChunk(field, n)
			if err != nil {
				t.Fatalf("%v", err)
			}
			v.Values(func(_ uint32, value int64) { sum += value })
		}
		for _, v := range f.values {
			want += v
		}
		if sum != want {
			t.Fatalf("field %s: the slices have the sum %d, want %d", name, sum, want)
		}
	}
}

func (k *fieldMachine) verifyFields(t *rapid.T) {
	if faults, got := verify(t, k.db); len(faults) > 0 || got.Fields != len(k.m.fields) {
		t.Fatalf("%+v: %v", got, faults)
	}
}

func (k *fieldMachine) crashFields(t *rapid.T) {
	before := digestOf(t, k.db)
	path := k.copyFile(t)
	mustClose(t, k.db)
	k.db = nil
	k.path = path
	k.db = mustOpen(t, k.path, k.opts)
	k.verifyFields(t)
	if after := digestOf(t, k.db); after != before {
		t.Fatalf("digest %s, before the crash %s", after, before)
	}
}

// staysFields sees that a snapshot does not change with the store.
func (k *fieldMachine) staysFields(t *rapid.T) {
	s, err := k.db.Snapshot()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer mustClose(t, s)
	before, err := s.Digest()
	if err != nil {
		t.Fatalf("%v", err)
	}
	k.update(t)
	k.many(t)
	k.fold(t)
	if after, err := s.Digest(); err != nil || after != before {
		t.Fatalf("digest of the snapshot %s, %v, before the changes %s", after, err, before)
	}
}

// matches reports whether an error is the sentinel wanted, or there is none.
func matches(err, want error) bool {
	if want == nil {
		return err == nil
	}
	return errors.Is(err, want)
}

// TestAddFieldConcurrently has 64 callers add 1 to one value, while it is folded.
func TestAddFieldConcurrently(t *testing.T) {
	opts := options(placement.Branded)
	opts.FoldMarks = 64
	db := mustOpen(t, filepath.Join(workDir(t), "db"), opts)
	defer mustClose(t, db)
	if _, err := db.DefineField(ctx, "n", store.FieldOptions{Bits: 20}); err != nil {
		t.Fatal(err)
	}
	const callers, each = 64, 50
	seen := make([][]int64, callers)
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := range each {
				id := branded("USR", uint64(c%3))
				v, err := db.AddField(ctx, "n", id, 1, store.Fail)
				if err != nil {
					t.Error(err)
					return
				}
				seen[c] = append(seen[c], v)
				if i%8 == 0 {
					if _, err := db.Mark(ctx, "active", branded("USR", uint64(c*each+i)), today); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	var sum int64
	for c := range 3 {
		v, err := db.FieldValues(branded("USR", uint64(c)), "n")
		if err != nil {
			t.Fatal(err)
		}
		sum += v[0].Value
	}
	if sum != callers*each {
		t.Errorf("the sums have %d, want %d", sum, callers*each)
	}
	// Each new value was returned once for each id.
	for c := range 3 {
		var values []int64
		for i := c; i < callers; i += 3 {
			values = append(values, seen[i]...)
		}
		slices.Sort(values)
		for i, v := range values {
			if v != int64(i+1) {
				t.Fatalf("value %d of id %d is %d", i+1, c, v)
			}
		}
	}
}

// TestFieldMany ends at the first row that is refused.
func TestFieldMany(t *testing.T) {
	pair := collidingPairs(t)[0]
	db := mustOpen(t, filepath.Join(workDir(t), "db"), options(placement.Branded))
	defer mustClose(t, db)
	if _, err := db.DefineField(ctx, "level", store.FieldOptions{Bits: 8}); err != nil {
		t.Fatal(err)
	}
	a, b := branded("USR", 1), branded("USR", 2)
	shared, sharedErr := uint64(1), store.ErrShared
	if dense() {
		shared, sharedErr = 3, nil
	}
	for _, test := range []struct {
		name string
		rows []fieldRow
		add  bool
		want uint64
		err  error
	}{
		{"all", []fieldRow{{a, 1}, {b, 2}, {a, 255}}, false, 3, nil},
		{"range", []fieldRow{{a, 1}, {b, 256}, {a, 3}}, false, 1, store.ErrRange},
		{"bad id", []fieldRow{{a, 7}, {"nobody", 1}}, false, 1, placement.ErrInvalidID},
		{"brand", []fieldRow{{branded("PLR", 1), 7}}, false, 0, store.ErrOtherBrand},
		{"shared", []fieldRow{{pair[0], 7}, {pair[1], 7}, {b, 9}}, false, shared, sharedErr},
		{"overflow", []fieldRow{{a, 200}, {b, 1}, {a, 200}, {b, 1}}, true, 2, store.ErrRange},
		{"none", nil, true, 0, nil},
	} {
		var got uint64
		var err error
		var rows iter.Seq2[string, int64] = func(yield func(string, int64) bool) {
			for _, r := range test.rows {
				if !yield(r.id, r.value) {
					return
				}
			}
		}
		if test.add {
			got, err = db.AddFieldMany(ctx, "level", rows, store.Fail)
		} else {
			got, err = db.SetFieldMany(ctx, "level", rows)
		}
		if got != test.want || !matches(err, test.err) {
			t.Errorf("%s: %d rows, %v, want %d, %v", test.name, got, err, test.want, test.err)
		}
	}
	v, err := db.FieldValues(a, "level")
	if err != nil || v[0] != (store.FieldValue{Value: 207, Has: true}) {
		t.Errorf("value %+v, %v, want 207", v, err)
	}
	if faults, _ := verify(t, db); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestFieldBatch breaks a batch off after a commit, and runs it again.
func TestFieldBatch(t *testing.T) {
	db := mustOpen(t, filepath.Join(workDir(t), "db"), options(placement.Branded))
	defer mustClose(t, db)
	if _, err := db.DefineField(ctx, "points", store.FieldOptions{Bits: 20}); err != nil {
		t.Fatal(err)
	}
	run := func(ctx context.Context, from, n int) (store.FieldTally, error) {
		l, err := db.LoadField(ctx, "points", store.FieldLoad{Add: true, Batch: "january"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetSize(10)
		for i := from; i < n; i++ {
			if err := l.Add(branded("USR", uint64(i%7)), int64(i)); err != nil {
				_, endErr := l.Stop()
				return l.Committed(), errors.Join(err, endErr)
			}
		}
		return l.Close()
	}
	broken, cancel := context.WithCancel(ctx)
	l, err := db.LoadField(broken, "points", store.FieldLoad{Add: true, Batch: "january"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetSize(10)
	for i := range 25 {
		if err := l.Add(branded("USR", uint64(i%7)), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if tally, err := l.Stop(); !errors.Is(err, context.Canceled) || tally.Rows != 20 {
		t.Fatalf("broken off: %+v, %v", tally, err)
	}
	if _, err := run(ctx, 1, 40); !errors.Is(err, store.ErrBatch) {
		t.Errorf("other rows: %v, want %v", err, store.ErrBatch)
	}
	if _, err := run(ctx, 0, 15); !errors.Is(err, store.ErrBatch) {
		t.Errorf("fewer rows: %v, want %v", err, store.ErrBatch)
	}
	for i, want := range []store.FieldTally{{Rows: 20, Changed: 20, Skipped: 20}, {Skipped: 40}} {
		if tally, err := run(ctx, 0, 40); err != nil || tally != want {
			t.Errorf("run %d: %+v, %v, want %+v", i, tally, err, want)
		}
	}
	if _, err := run(ctx, 0, 41); !errors.Is(err, store.ErrBatch) {
		t.Errorf("more rows: %v, want %v", err, store.ErrBatch)
	}
	var sum int64
	for i := range 7 {
		v, err := db.FieldValues(branded("USR", uint64(i)), "points")
		if err != nil {
			t.Fatal(err)
		}
		sum += v[0].Value
	}
	if sum != 40*39/2 {
		t.Errorf("the sums have %d, want %d", sum, 40*39/2)
	}
}

// TestConvertFields compares a store with the one of the other kind made of it, and
// that with the one made back.
func TestConvertFields(t *testing.T) {
	dir := workDir(t)
	db := mustOpen(t, filepath.Join(dir, "hashed"), options(placement.Branded))
	defer mustClose(t, db)
	for _, name := range []string{"level", "cleared", "never"} {
		if _, err := db.DefineField(ctx, name, store.FieldOptions{Bits: 20, Signed: true}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 50 {
		if err := db.SetField(ctx, "level", branded("USR", uint64(i)), int64(i*i-100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.SetField(ctx, "cleared", branded("USR", 1), 1); err != nil {
		t.Fatal(err)
	}
	if err := db.ClearField(ctx, "cleared", branded("USR", 1)); err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, db)
	from := db
	for _, name := range []string{"dense", "back"} {
		s, err := from.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		done, err := s.Convert(ctx, filepath.Join(dir, name))
		if err != nil || done.Fields != 3 {
			t.Fatalf("%s: %+v, %v", name, done, err)
		}
		mustClose(t, s)
		from = mustOpen(t, filepath.Join(dir, name), nil)
		defer mustClose(t, from)
		if got := digestOf(t, from); got != want {
			t.Errorf("%s: digest %s, want %s", name, got, want)
		}
		if faults, _ := verify(t, from); len(faults) > 0 {
			t.Errorf("%s: %v", name, faults)
		}
	}
}
