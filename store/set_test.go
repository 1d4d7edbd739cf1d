package store_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"
)

// saveSet saves ids or positions under a name, or deletes what has the name.
func (k *machine) saveSet(t *rapid.T) {
	name := rapid.SampledFrom([]string{"bots", "test-group", "žluť"}).Draw(t, "name")
	switch rapid.IntRange(0, 9).Draw(t, "how") {
	case 0:
		_, ok := k.sets[name]
		if err := k.db.DeleteSet(ctx, name); ok && err != nil || !ok && !errors.Is(err, store.ErrNoSet) {
			t.Fatalf("delete set %s, which is saved: %v: %v", name, ok, err)
		}
		delete(k.sets, name)
	case 1:
		bad := rapid.SampledFrom([]string{"", "@bots", "-x", "a b", "a[b", "\xff", "a\x00"}).Draw(t, "bad name")
		if _, err := k.db.SaveSet(ctx, bad, placement.Brand{}, roaring.New()); !errors.Is(err, store.ErrInvalidSet) {
			t.Fatalf("save %q: %v", bad, err)
		}
	case 2, 3, 4, 5:
		k.saveIDs(t, name, rapid.SliceOfN(rapid.SampledFrom(k.ids), 0, 6).Draw(t, "ids"))
	default:
		k.savePositions(t, name)
	}
}

func (k *machine) saveIDs(t *rapid.T, name string, ids []string) {
	want := modelSet{bits: map[uint32]bool{}}
	var wantErr error
	for i, id := range ids {
		b, _, err := k.kind.Parse(id)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if i == 0 {
			want.brand = b
		}
		if b != want.brand {
			wantErr = store.ErrOtherBrand
		}
	}
	got, err := k.db.SaveIDs(ctx, name, noErrors(ids))
	if wantErr != nil {
		if !errors.Is(err, wantErr) {
			t.Fatalf("save %s %q: %v, want %v", name, ids, err, wantErr)
		}
		return
	}
	for _, id := range ids {
		b, m, _ := k.kind.Parse(id)
		k.register(b, m, id)
		pos, _ := k.position(b, m)
		want.bits[pos] = true
	}
	if err != nil || got.Count != uint64(len(want.bits)) || got.Brand != want.brand {
		t.Fatalf("save %s %q: %+v, %v, want %+v", name, ids, got, err, want)
	}
	k.sets[name] = want
}

// savePositions saves positions, some of them of no known id.
func (k *machine) savePositions(t *rapid.T, name string) {
	id := rapid.SampledFrom(k.ids).Draw(t, "brand of")
	b, _, err := k.kind.Parse(id)
	if err != nil {
		t.Fatalf("%v", err)
	}
	positions := roaring.BitmapOf(rapid.SliceOfN(rapid.Uint32(), 0, 3).Draw(t, "unknown")...)
	for _, id := range rapid.SliceOfN(rapid.SampledFrom(k.ids), 0, 6).Draw(t, "of ids") {
		b, m, _ := k.kind.Parse(id)
		if pos, ok := k.position(b, m); ok {
			positions.Add(pos)
		}
	}
	before := positions.Clone()
	want := modelSet{b, map[uint32]bool{}}
	for _, p := range positions.ToArray() {
		if len(k.idsAt(b, p)) > 0 {
			want.bits[p] = true
		}
	}
	got, err := k.db.SaveSet(ctx, name, b, positions)
	if err != nil || got.Count != uint64(len(want.bits)) || !positions.Equals(before) {
		t.Fatalf("save %s %v: %+v, %v, want %+v", name, before, got, err, want)
	}
	k.sets[name] = want
}

func noErrors(ids []string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// compareSets compares the saved sets with the model's.
func (m *model) compareSets(t tb, s *store.Snapshot) {
	t.Helper()
	sets, err := s.Sets()
	if err != nil {
		t.Fatalf("sets: %v", err)
	}
	var names []string
	for _, set := range sets {
		names = append(names, set.Name)
		want, positions := m.sets[set.Name], roaring.New()
		if got, ok, err := s.Set(set.Name); err != nil || !ok || got != set {
			t.Fatalf("set %s: %+v, %v, %v, want %+v", set.Name, got, ok, err, set)
		}
		numbers, err := s.SetChunkNumbers(set.Name)
		if err != nil {
			t.Fatalf("set %s: %v", set.Name, err)
		}
		for _, n := range numbers {
			b, err := s.SetChunk(set.Name, n)
			if err != nil || b.IsEmpty() {
				t.Fatalf("set %s: chunk %d: %v, %v", set.Name, n, b, err)
			}
			positions.Or(b)
		}
		if bits := slices.Sorted(maps.Keys(want.bits)); set.Brand != want.brand || set.Count != uint64(len(bits)) || !slices.Equal(positions.ToArray(), bits) {
			t.Fatalf("set %+v has %v, want %+v", set, positions, want)
		}
	}
	if want := slices.Sorted(maps.Keys(m.sets)); !slices.Equal(names, want) {
		t.Fatalf("sets %q, want %q", names, want)
	}
	if _, ok, err := s.Set("nobody"); ok || err != nil {
		t.Fatalf("a set never saved: %v, %v", ok, err)
	}
}

// rebuildSets saves the model's sets in a store that knows their ids.
func (m *model) rebuildSets(t tb, db *store.DB) {
	t.Helper()
	for name, set := range m.sets {
		bits := roaring.New()
		bits.AddMany(slices.Collect(maps.Keys(set.bits)))
		save := func() (store.SavedSet, error) { return db.SaveSet(ctx, name, set.brand, bits) }
		if m.dense && len(set.bits) > 0 { // its ids have other positions there
			var ids []string
			for pos := range set.bits {
				ids = append(ids, m.idsAt(set.brand, pos)...)
			}
			save = func() (store.SavedSet, error) { return db.SaveIDs(ctx, name, noErrors(ids)) }
		}
		if got, err := save(); err != nil || got.Count != bits.GetCardinality() {
			t.Fatalf("save %s: %+v, %v", name, got, err)
		}
	}
}

// TestSaveSetWhole saves a large set again and again while others read it: each
// sees one of the sets whole.
func TestSaveSetWhole(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), options(decimals()))
	defer mustClose(t, db)
	all := roaring.New()
	for i := range uint32(3) {
		all.AddRange(uint64(i)<<24, uint64(i)<<24+3000)
	}
	var rows []store.Mark
	for _, n := range all.ToArray() {
		rows = append(rows, store.Mark{Event: "active", ID: strconv.Itoa(int(n)), Day: today})
	}
	if _, err := loadRows(db, rows, len(rows)); err != nil {
		t.Fatal(err)
	}
	if dense() { // in the order of their rows
		all = roaring.New()
		all.AddRange(0, 9000)
	}
	half := roaring.New()
	half.AddRange(0, 3000)
	stop, cancel := context.WithCancel(ctx)
	done := make(chan error)
	if _, err := db.SaveSet(ctx, "group", placement.Brand{}, all); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(done)
		for stop.Err() == nil {
			for _, set := range []*roaring.Bitmap{half, all} {
				if _, err := db.SaveSet(ctx, "group", placement.Brand{}, set); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	for range 50 {
		s, err := db.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		numbers, err := s.SetChunkNumbers("group")
		got := roaring.New()
		for _, n := range numbers {
			b, chunkErr := s.SetChunk("group", n)
			if chunkErr != nil {
				t.Fatal(chunkErr)
			}
			got.Or(b)
		}
		if err != nil || !got.Equals(all) && !got.Equals(half) {
			t.Fatalf("%d positions, %v", got.GetCardinality(), err)
		}
		mustClose(t, s)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
