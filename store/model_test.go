package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
	"pgregory.net/rapid"
)

// TestModel runs random operations on a store and on a model of it made of maps,
// and compares their results and, after each, everything that both hold.
func TestModel(t *testing.T) {
	for _, kind := range []struct {
		name  string
		kind  placement.Kind
		dense bool
		drop  bool
	}{
		{"branded", placement.Branded, false, false},
		{"branded, dense", placement.Branded, true, false},
		{"string", placement.String, false, false},
		{"string, dense", placement.String, true, false},
		{"dropped strings", placement.String, false, true},
		{"dropped strings, dense", placement.String, true, true},
		{"number", placement.Number, false, false},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			ids := idsOf(t, kind.kind)
			work := workDir(t)
			for range long(1, 50) {
				rapid.Check(t, func(t *rapid.T) {
					dir, err := os.MkdirTemp(work, "run")
					if err != nil {
						t.Fatalf("%v", err)
					}
					defer os.RemoveAll(dir)
					runModel(t, newModel(kind.kind, kind.dense, kind.drop), ids, dir)
				})
			}
		})
	}
}

// long returns the first number in an ordinary run of the tests, and the second
// with COHORT_LONG=1.
func long(ordinary, long int) int {
	if os.Getenv("COHORT_LONG") != "" {
		return long
	}
	return ordinary
}

// alone returns how often a test is to do what one goroutine does: a fifth of n with
// the race detector, which finds nothing in it.
func alone(n int) int {
	if raceEnabled {
		return (n + 4) / 5
	}
	return n
}

func runModel(t *rapid.T, m *model, ids []string, dir string) {
	opts := m.options()
	opts.FoldMarks = rapid.SampledFrom([]int{0, 1, 8}).Draw(t, "FoldMarks")
	opts.SetLogAfter(rapid.SampledFrom([]int{0, 5, 1 << 30}).Draw(t, "commits before a log"))
	k := &machine{model: m, dir: dir, opts: opts, ids: ids}
	k.path = filepath.Join(dir, "0")
	k.db = mustOpen(t, k.path, opts)
	defer func() {
		if k.db != nil {
			_ = k.db.Close() // a failed run has said so already
		}
	}()
	t.Repeat(map[string]func(*rapid.T){
		"":            k.check,
		"mark":        k.mark,
		"mark again":  k.mark,
		"unmark":      k.unmark,
		"mark many":   k.markMany,
		"load":        k.load,
		"delete":      k.delete,
		"save set":    k.saveSet,
		"erase":       k.erase,
		"fold":        k.fold,
		"reopen":      k.reopen,
		"crash":       k.crash,
		"read only":   k.readOnly,
		"check ahead": k.snapshotStays,
	})
	k.verify(t)
	k.rebuild(t)
	k.convert(t)
}

// machine is a store with its model.
type machine struct {
	*model
	db    *store.DB
	opts  *store.Options
	dir   string
	path  string
	files int
	ids   []string
}

func (k *machine) drawMark(t *rapid.T) store.Mark {
	m := store.Mark{
		Event: rapid.SampledFrom([]string{"active", "paid", "žádost o [vrácení]"}).Draw(t, "event"),
		ID:    rapid.SampledFrom(k.ids).Draw(t, "id"),
		Day:   today + store.Day(rapid.IntRange(-3, 1).Draw(t, "day")),
	}
	// One in sixteen is refused.
	switch rapid.IntRange(0, 63).Draw(t, "refused") {
	case 0:
		m.Event = rapid.SampledFrom([]string{"", "a\nb", "\xff"}).Draw(t, "event")
	case 1, 2:
		m.ID = rapid.SampledFrom(badIDs(k.kind)).Draw(t, "id")
	case 3:
		m.Day = rapid.SampledFrom([]store.Day{today + 2, store.MaxDay, store.MaxDay + 1, store.MinDay - 1}).Draw(t, "day")
	case 4:
		m.Day = rapid.SampledFrom([]store.Day{store.MinDay, -1, 0}).Draw(t, "day")
	}
	return m
}

func (k *machine) mark(t *rapid.T) {
	m := k.drawMark(t)
	want, wantErr := k.model.mark(m)
	got, err := k.db.Mark(context.Background(), m.Event, m.ID, m.Day)
	if got != want || !sameError(err, wantErr) {
		t.Fatalf("mark %+v: got %s, %v, want %s, %v", m, got, err, want, wantErr)
	}
}

func (k *machine) unmark(t *rapid.T) {
	m := k.drawMark(t)
	want, wantErr := k.model.unmark(m)
	got, err := k.db.Unmark(context.Background(), m.Event, m.ID, m.Day)
	if got != want || !sameError(err, wantErr) {
		t.Fatalf("unmark %+v: got %s, %v, want %s, %v", m, got, err, want, wantErr)
	}
}

func (k *machine) markMany(t *rapid.T) {
	rows := rapid.SliceOfN(rapid.Custom(k.drawMark), 0, 12).Draw(t, "rows")
	want, errs := k.tally(rows, true)
	got, err := k.db.MarkMany(context.Background(), slices.Values(rows))
	var wantErr error
	if len(errs) > 0 {
		wantErr = errs[0]
	}
	if got != want || !sameError(err, wantErr) {
		t.Fatalf("mark many %+v: got %+v, %v, want %+v, %v", rows, got, err, want, wantErr)
	}
}

func (k *machine) load(t *rapid.T) {
	rows := rapid.SliceOfN(rapid.Custom(k.drawMark), 0, 24).Draw(t, "rows")
	batch := rapid.IntRange(1, 30).Draw(t, "batch")
	want, wantErrs := k.tally(rows, false)
	l, err := k.db.Load(context.Background())
	if err != nil {
		t.Fatalf("%v", err)
	}
	l.SetBatch(batch)
	var errs []error
	for _, r := range rows {
		if err := l.Add(r.Event, r.ID, r.Day); err != nil {
			errs = append(errs, err)
		}
	}
	got, err := l.Close()
	if got != want || err != nil || !slices.EqualFunc(errs, wantErrs, sameError) {
		t.Fatalf("load %+v by %d: got %+v, %v, %v, want %+v, %v", rows, batch, got, errs, err, want, wantErrs)
	}
}

func (k *machine) delete(t *rapid.T) {
	m := k.drawMark(t)
	if store.CheckEvent(m.Event) != nil || !m.Day.Valid() {
		t.Skip("not a day")
	}
	var err, want error
	if rapid.Bool().Draw(t, "whole event") {
		want = k.deleteEvent(m.Event)
		err = k.db.DeleteEvent(context.Background(), m.Event)
	} else {
		want = k.deleteDay(m.Event, m.Day)
		err = k.db.DeleteDay(context.Background(), m.Event, m.Day)
	}
	if !sameError(err, want) {
		t.Fatalf("delete %s %s: %v, want %v", m.Event, m.Day, err, want)
	}
}

func (k *machine) fold(t *rapid.T) {
	before := digestOf(t, k.db)
	if err := k.db.Fold(context.Background()); err != nil {
		t.Fatalf("fold: %v", err)
	}
	if ops, records := k.db.Unfolded(); ops != 0 || records != 0 {
		t.Fatalf("after the fold %d operations in %d records are left", ops, records)
	}
	if after := digestOf(t, k.db); after != before {
		t.Fatalf("digest %s, before the fold %s", after, before)
	}
}

func (k *machine) reopen(t *rapid.T) {
	before := digestOf(t, k.db)
	mustClose(t, k.db)
	k.db = nil
	k.db = mustOpen(t, k.path, k.opts)
	if after := digestOf(t, k.db); after != before {
		t.Fatalf("digest %s, before the reopening %s", after, before)
	}
}

// copyFile copies the store as it stands at this commit.
func (k *machine) copyFile(t *rapid.T) string {
	k.files++
	path := filepath.Join(k.dir, fmt.Sprint(k.files))
	if err := k.db.CopyFile(path); err != nil {
		t.Fatalf("copy: %v", err)
	}
	return path
}

// crash goes on with the file as it would stand had the process died here.
func (k *machine) crash(t *rapid.T) {
	before := digestOf(t, k.db)
	k.verify(t)
	path := k.copyFile(t)
	mustClose(t, k.db)
	k.db = nil
	k.path = path
	k.db = mustOpen(t, k.path, k.opts)
	k.verify(t)
	if after := digestOf(t, k.db); after != before {
		t.Fatalf("digest %s, before the crash %s", after, before)
	}
}

// readOnly compares what a reader finds in a file that was not closed.
func (k *machine) readOnly(t *rapid.T) {
	opts := *k.opts
	opts.ReadOnly = true
	db := mustOpen(t, k.copyFile(t), &opts)
	defer mustClose(t, db)
	s, err := db.Snapshot()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer mustClose(t, s)
	k.compare(t, s, k.ids)
	verifyModel(t, db, k.model)
	ctx := context.Background()
	if _, err := db.Mark(ctx, "active", k.ids[0], today); !sameError(err, store.ErrReadOnly) {
		t.Fatalf("mark: %v, want %v", err, store.ErrReadOnly)
	}
	if err := db.Fold(ctx); !sameError(err, store.ErrReadOnly) {
		t.Fatalf("fold: %v, want %v", err, store.ErrReadOnly)
	}
	if _, err := db.Load(ctx); !sameError(err, store.ErrReadOnly) {
		t.Fatalf("load: %v, want %v", err, store.ErrReadOnly)
	}
	if _, err := db.SaveSet(ctx, "bots", placement.Brand{}, roaring.New()); !sameError(err, store.ErrReadOnly) {
		t.Fatalf("save: %v, want %v", err, store.ErrReadOnly)
	}
	if _, err := db.Erase(ctx, k.ids[0]); !sameError(err, store.ErrReadOnly) {
		t.Fatalf("erase: %v, want %v", err, store.ErrReadOnly)
	}
	if err := db.DeleteDay(ctx, "active", today); !sameError(err, store.ErrReadOnly) {
		t.Fatalf("delete: %v, want %v", err, store.ErrReadOnly)
	}
}

// snapshotStays takes a snapshot, changes the store, and sees that the snapshot
// has not changed.
func (k *machine) snapshotStays(t *rapid.T) {
	s, err := k.db.Snapshot()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer mustClose(t, s)
	before, err := s.Digest()
	if err != nil {
		t.Fatalf("%v", err)
	}
	k.markMany(t)
	k.unmark(t)
	k.saveSet(t)
	k.erase(t)
	k.fold(t)
	k.delete(t)
	if after, err := s.Digest(); err != nil || after != before {
		t.Fatalf("digest of the snapshot %s, %v, before the changes %s", after, err, before)
	}
}

func (k *machine) check(t *rapid.T) {
	if err := k.db.Sums(); err != nil {
		t.Fatalf("%v", err)
	}
	s, err := k.db.Snapshot()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer mustClose(t, s)
	k.compare(t, s, k.ids)
}

// rebuild compares the digest with that of a store to which the same facts came
// in another order.
func (k *machine) rebuild(t *rapid.T) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	other := k.model.rebuild(t, filepath.Join(k.dir, "rebuilt"), rng)
	defer mustClose(t, other)
	if got, want := digestOf(t, k.db), digestOf(t, other); got != want {
		t.Fatalf("digest %s, of the same facts in another order %s", got, want)
	}
}
