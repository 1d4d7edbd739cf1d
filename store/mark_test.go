package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cohort/placement"
	"cohort/store"
)

func TestCheckEvent(t *testing.T) {
	for _, name := range []string{"a", "active", " ", "a b", "[]()&|^<>=!", "@set", "-x", "žádost", "日本", strings.Repeat("x", 255), "\u00a0"} {
		if err := store.CheckEvent(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 256), strings.Repeat("é", 128), "\xff", "a\x00", "\n", "\x7f", "\u0085", "a\xc3"} {
		if err := store.CheckEvent(name); !errors.Is(err, store.ErrInvalidEvent) {
			t.Errorf("%q: %v, want %v", name, err, store.ErrInvalidEvent)
		} else if len(err.Error()) > 400 {
			t.Errorf("%q: the error has %d bytes", name, len(err.Error()))
		}
	}
}

func TestResultNames(t *testing.T) {
	for r, want := range map[store.Result]string{
		store.New: "new", store.Already: "already", store.Shared: "shared", store.Cleared: "cleared", store.Absent: "absent",
		0: "Result(0)", 99: "Result(99)",
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestShared walks through what two ids that share a placement are told.
func TestShared(t *testing.T) {
	a, b := collidingPairs(t)[0][0], collidingPairs(t)[0][1]
	for _, fold := range []bool{false, true} {
		db := mustOpen(t, filepath.Join(t.TempDir(), "db"), inHashed(options(placement.Branded)))
		for i, step := range []struct {
			act  func(context.Context, string, string, store.Day) (store.Result, error)
			id   string
			day  store.Day
			want store.Result
		}{
			{db.Unmark, a, today, store.Absent}, // and registers nothing
			{db.Mark, a, today, store.New},
			{db.Mark, a, today, store.Already},
			{db.Mark, b, today, store.Shared}, // registers b
			{db.Mark, b, today, store.Shared},
			{db.Mark, a, today, store.Shared},
			{db.Unmark, a, today, store.Shared},
			{db.Unmark, b, today, store.Shared},
			{db.Mark, b, today - 1, store.New},
			{db.Unmark, b, today - 1, store.Shared},
			{db.Unmark, b, today - 2, store.Absent},
		} {
			if fold {
				if err := db.Fold(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := step.act(ctx, "active", step.id, step.day); got != step.want || err != nil {
				t.Errorf("step %d: %s, %v, want %s", i, got, err, step.want)
			}
		}
		for _, id := range []string{a, b} {
			if at, err := db.Has("active", id, today-2); err != nil || at != (store.Presence{Shared: true}) {
				t.Errorf("has %s: %+v, %v, want it shared", id, at, err)
			}
		}
		mustClose(t, db)
	}
}

// TestMarkManyLarge marks so many that they go to disk in all the ways there
// are, and again, with a refused one among them.
func TestMarkManyLarge(t *testing.T) {
	db := mustOpen(t, filepath.Join(workDir(t), "db"), options(decimals()))
	defer mustClose(t, db)
	const n = 1<<18 + 50_000
	rows := func(yield func(store.Mark) bool) {
		for i := range n {
			if !yield(store.Mark{Event: "active", ID: strconv.Itoa(i % (n - 1000)), Day: today - store.Day(i%(n-1000)%2)}) {
				return
			}
		}
	}
	if got, err := db.MarkMany(ctx, rows); err != nil || got != (store.Tally{New: n - 1000, Already: 1000}) {
		t.Errorf("got %+v, %v", got, err)
	}
	i := 0
	refused := func(yield func(store.Mark) bool) {
		for m := range rows {
			if i == n-20 {
				m.Day = today + 2
			}
			if i++; !yield(m) {
				return
			}
		}
	}
	got, err := db.MarkMany(ctx, refused)
	if !errors.Is(err, store.ErrFutureDay) || !strings.Contains(err.Error(), "mark "+strconv.Itoa(n-20)) || got != (store.Tally{Already: n - 20}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if i != n-19 {
		t.Errorf("%d marks were taken after the refused one", i-(n-19))
	}
}

// TestMarkManyReads: a sequence may read the store, and write it.
func TestMarkManyReads(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), options(placement.Branded))
	defer mustClose(t, db)
	seq := func(yield func(store.Mark) bool) {
		for m := range someMarks("active", 100, 0) {
			if at, err := db.Has(m.Event, m.ID, m.Day); err != nil || at.Has {
				t.Errorf("has: %+v, %v", at, err)
			}
			if _, err := db.Mark(ctx, "before", m.ID, m.Day); err != nil {
				t.Error(err)
			}
			if !yield(m) {
				return
			}
		}
	}
	if got, err := db.MarkMany(ctx, seq); err != nil || got.New != 100 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestContextEnded: what an ended context refuses is not done.
func TestContextEnded(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), options(placement.Branded))
	defer mustClose(t, db)
	id := branded("USR", 1)
	if _, err := db.Mark(ctx, "active", id, today); err != nil {
		t.Fatal(err)
	}
	before := digestOf(t, db)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, markErr := db.Mark(ended, "active", id, today-1)
	_, unmarkErr := db.Unmark(ended, "active", id, today)
	_, manyErr := db.MarkMany(ended, someMarks("active", 10, 0))
	l, err := db.Load(ended)
	if err != nil {
		t.Fatal(err)
	}
	for m := range someMarks("active", 10, 0) {
		if err := l.Add(m.Event, m.ID, m.Day); err != nil {
			break
		}
	}
	tally, loadErr := l.Close()
	for i, err := range []error{markErr, unmarkErr, manyErr, loadErr, db.DeleteDay(ended, "active", today), db.DeleteEvent(ended, "active"), db.Fold(ended)} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("call %d: %v, want %v", i, err, context.Canceled)
		}
	}
	if tally != (store.Tally{}) {
		t.Errorf("the load says %+v", tally)
	}
	if after := digestOf(t, db); after != before {
		t.Errorf("digest %s, before %s", after, before)
	}
}

// TestLoaderSkips: a refused row is left out, the others are loaded as if they
// had been marked one by one.
func TestLoaderSkips(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), options(placement.Branded))
	defer mustClose(t, db)
	pair := collidingPairs(t)[1]
	l, err := db.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range []struct {
		store.Mark
		want error
	}{
		{store.Mark{Event: "active", ID: pair[0], Day: today}, nil},
		{store.Mark{Event: "active", ID: "PLR" + pair[0][3:], Day: today}, store.ErrOtherBrand}, // bound by the row before
		{store.Mark{Event: "", ID: pair[0], Day: today}, store.ErrInvalidEvent},
		{store.Mark{Event: "active", ID: "x", Day: today}, placement.ErrInvalidID},
		{store.Mark{Event: "active", ID: pair[0], Day: today + 2}, store.ErrFutureDay},
		{store.Mark{Event: "active", ID: pair[0], Day: store.MaxDay + 1}, store.ErrInvalidDay},
		{store.Mark{Event: "later", ID: pair[0], Day: today + 2}, store.ErrFutureDay}, // binds nothing
		{store.Mark{Event: "later", ID: "PLR" + pair[0][3:], Day: today + 1}, nil},
		{store.Mark{Event: "active", ID: pair[1], Day: today}, nil},
		{store.Mark{Event: "active", ID: pair[1], Day: today}, nil},
		{store.Mark{Event: "active", ID: pair[0], Day: today - 1}, nil},
	} {
		if err := l.Add(row.Event, row.ID, row.Day); !errors.Is(err, row.want) || (err == nil) != (row.want == nil) {
			t.Errorf("row %d: %v, want %v", i, err, row.want)
		}
	}
	if got := l.Committed(); got != (store.Tally{}) {
		t.Errorf("before the first commit %+v", got)
	}
	got, err := l.Close()
	want := store.Tally{New: 3, Shared: 2}
	if dense() {
		want = store.Tally{New: 4, Already: 1}
	}
	if got != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got := l.Committed(); got != want {
		t.Errorf("committed %+v", got)
	}
	if _, err := l.Close(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed twice: %v, want %v", err, store.ErrClosed)
	}
}

// TestDelete: what is deleted is gone for good, its ids stay known, and the name
// is free for another brand.
func TestDelete(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, filepath.Join(dir, "db"), options(placement.Branded))
	defer mustClose(t, db)
	if _, err := db.MarkMany(ctx, someMarks("active", 20, 0)); err != nil {
		t.Fatal(err)
	}
	if err := db.DeleteEvent(ctx, "active"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Mark(ctx, "active", branded("PLR", 5), today); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "crashed") // the journal still has the deleted marks
	if err := db.CopyFile(path); err != nil {
		t.Fatal(err)
	}
	crashed := mustOpen(t, path, options(0))
	defer mustClose(t, crashed)
	for _, db := range []*store.DB{db, crashed} {
		s, err := db.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		e, ok, err := s.Event("active")
		if err != nil || !ok || e.Marks != 1 || e.Brand.String() != "PLR" {
			t.Errorf("event %+v, %v, %v", e, ok, err)
		}
		brands, err := s.Brands()
		want := []store.BrandStats{{Brand: placement.Brand([]byte("PLR")), IDs: 1, Placements: 1}, {Brand: placement.Brand([]byte("USR")), IDs: 20, Placements: 20}}
		if err != nil || !slices.Equal(brands, want) {
			t.Errorf("brands %+v, %v, want %+v", brands, err, want)
		}
		mustClose(t, s)
	}
	if err := db.DeleteEvent(ctx, "never"); !errors.Is(err, store.ErrNoEvent) {
		t.Errorf("%v, want %v", err, store.ErrNoEvent)
	}
	if err := db.DeleteDay(ctx, "active", today-5); err != nil {
		t.Errorf("a day without bits: %v", err)
	}
}
