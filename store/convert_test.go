package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"cohort/placement"
	"cohort/store"

	"pgregory.net/rapid"
)

// convert makes a store of the other kind and compares it with the converted model.
func (k *machine) convert(t *rapid.T) {
	if k.kind == placement.Number || rapid.IntRange(0, 3).Draw(t, "convert") > 0 {
		return
	}
	want, shared := k.model.convert(t)
	path := filepath.Join(k.dir, "converted")
	got := convert(t, k.db, path)
	if got.Events != len(want.events) || got.Sets != len(want.sets) || !slices.Equal(got.Shared, shared) {
		t.Fatalf("convert: %+v, want %d events, %d sets, shared %q", got, len(want.events), len(want.sets), shared)
	}
	db := mustOpen(t, path, want.options())
	defer mustClose(t, db)
	if err := db.Sums(); err != nil {
		t.Fatalf("%v", err)
	}
	s, err := db.Snapshot()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer mustClose(t, s)
	want.compare(t, s, k.ids)
}

func convert(t tb, db *store.DB, path string) store.Conversion {
	t.Helper()
	s, err := db.Snapshot()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer mustClose(t, s)
	done, err := s.Convert(ctx, path)
	if err != nil {
		t.Fatalf("convert: %v", err)
	}
	return done
}

// convert returns the model of the other kind, and the ids of which it is not known
// whose marks a bit is.
func (m *model) convert(t tb) (other *model, shared []string) {
	t.Helper()
	other = newModel(m.kind, !m.dense, m.drop)
	var days []store.Day
	for _, e := range m.events {
		days = slices.AppendSeq(days, maps.Keys(e.days))
	}
	slices.Sort(days)
	doubtful := make(map[placement.Brand]map[uint32]bool)
	for _, day := range slices.Compact(days) {
		for _, name := range slices.Sorted(maps.Keys(m.events)) {
			e := m.events[name]
			for _, id := range m.sortedIDs(e.brand, e.days[day]) {
				if _, err := other.mark(store.Mark{Event: name, ID: id, Day: day}); err != nil {
					t.Fatalf("%v", err)
				}
			}
			m.doubt(doubtful, e.brand, e.days[day])
		}
	}
	brands := slices.SortedFunc(maps.Keys(m.known), func(a, b placement.Brand) int { return slices.Compare(a[:], b[:]) })
	for _, b := range brands {
		for _, id := range m.byPlacement(m.known[b].ids()) {
			_, mixed, _ := m.kind.Parse(id)
			other.register(b, mixed, id)
		}
	}
	for name, e := range m.events {
		if other.events[name] == nil {
			other.events[name] = &modelEvent{e.brand, make(map[store.Day]map[uint32]bool)}
		}
	}
	for name, set := range m.sets {
		bits := make(map[uint32]bool)
		for _, id := range m.sortedIDs(set.brand, set.bits) {
			_, mixed, _ := m.kind.Parse(id)
			pos, _ := other.position(set.brand, mixed)
			bits[pos] = true
		}
		other.sets[name] = modelSet{set.brand, bits}
		m.doubt(doubtful, set.brand, set.bits)
	}
	for _, b := range brands {
		for _, id := range m.byPlacement(m.known[b].ids()) {
			if _, mixed, _ := m.kind.Parse(id); doubtful[b][mixed.Placement()] {
				if m.drop {
					id = fmt.Sprintf("?%08x", mixed.Residue())
				}
				shared = append(shared, id)
			}
		}
	}
	return other, shared
}

// doubt notes the placements of bits at which several ids are known.
func (m *model) doubt(at map[placement.Brand]map[uint32]bool, b placement.Brand, bits map[uint32]bool) {
	for _, id := range m.sortedIDs(b, bits) {
		if _, mixed, _ := m.kind.Parse(id); len(m.known[b][mixed.Placement()]) > 1 {
			if at[b] == nil {
				at[b] = make(map[uint32]bool)
			}
			at[b][mixed.Placement()] = true
		}
	}
}

// sortedIDs returns the known ids at positions, by placement, then residue.
func (m *model) sortedIDs(b placement.Brand, bits map[uint32]bool) (ids []string) {
	for pos := range bits {
		ids = append(ids, m.idsAt(b, pos)...)
	}
	return m.byPlacement(ids)
}

func (m *model) byPlacement(ids []string) []string {
	return slices.SortedFunc(slices.Values(ids), func(x, y string) int {
		_, a, _ := m.kind.Parse(x)
		_, b, _ := m.kind.Parse(y)
		return cmp.Or(cmp.Compare(a.Placement(), b.Placement()), cmp.Compare(a.Residue(), b.Residue()))
	})
}

// TestConvertThere converts a store of ids that do not collide there and back: the
// digest stays, and so do the visits of pages.
func TestConvertThere(t *testing.T) {
	dir := t.TempDir()
	hashed := mustOpen(t, filepath.Join(dir, "hashed"), inHashed(options(placement.Branded)))
	defer mustClose(t, hashed)
	if _, err := hashed.MarkMany(ctx, someMarks("active", 3000, 1<<50)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"USR0KHTOWnGLuC", "USR0KHTOWnGLut"} {
		if _, err := hashed.Observe(ctx, "/home", id, today); err != nil {
			t.Fatal(err)
		}
	}
	s, err := hashed.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Convert(ctx, filepath.Join(dir, "unfolded")); err == nil {
		t.Error("visits that were not folded were left out")
	}
	mustClose(t, s)
	if err := hashed.Fold(ctx); err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, hashed)
	for _, kind := range []store.Positions{store.Dense, store.Hashed} {
		path := filepath.Join(dir, fmt.Sprint(kind, " again"))
		if done := convert(t, hashed, path); done.Positions != kind || done.Marks != 3000 || done.IDs != 3000 || len(done.Shared) > 0 {
			t.Fatalf("convert: %+v", done)
		}
		made := mustOpen(t, path, nil)
		defer mustClose(t, made)
		if got := digestOf(t, made); got != want || made.Config().Positions != kind {
			t.Errorf("%s: digest %s, want %s", made.Config().Positions, got, want)
		}
		hashed = made
	}
	s, err = hashed.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	if _, err := s.Convert(ctx, filepath.Join(dir, "hashed")); !errors.Is(err, store.ErrExist) {
		t.Errorf("convert to a file that is there: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Convert(ended, filepath.Join(dir, "ended")); !errors.Is(err, context.Canceled) {
		t.Errorf("convert when ctx has ended: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".cohort-*")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "ended")); len(found) > 0 {
		t.Error("a broken-off conversion left a store")
	}
}
