package query_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cohort/query"
	"cohort/store"
)

// askTop compares the events with the most marks with those of the model. The number
// of ids is told where there are marks on one day, and right wherever it is told.
func (w *world) askTop(t *testing.T, src query.Source) {
	p, asOf, n := w.period(), w.asOf(), 1+w.rng.IntN(6)
	a := w.ask(asOf, false)
	prefix := []string{"", "", "a", "play"}[w.rng.IntN(4)]
	var want []query.TopEvent
	for name := range w.marks {
		e := query.TopEvent{Event: name, Brand: w.brand[name]}
		first, last := p.read(a, name)
		for d := first; d <= last; d++ {
			count := uint64(len(w.marks[name][d]))
			if count == 0 {
				continue
			}
			e.Days++
			e.Marks += count
			if count > e.Best {
				e.Best, e.BestDay = count, d
			}
		}
		if ids := uint64(len(w.union(name, first, last))); strings.HasPrefix(name, prefix) && ids > 0 {
			e.IDs = &ids
			want = append(want, e)
		}
	}
	slices.SortFunc(want, func(a, b query.TopEvent) int {
		return cmp.Or(cmp.Compare(b.Marks, a.Marks), strings.Compare(a.Event, b.Event))
	})
	want = want[:min(n, len(want))]
	got, err := query.Top(t.Context(), src, prefix, p.Period, n, options(asOf)...)
	same := slices.EqualFunc(got, want, func(got, want query.TopEvent) bool {
		if got.IDs == nil && want.Days > 1 {
			got.IDs = want.IDs
		}
		if got.IDs == nil || *got.IDs != *want.IDs {
			return false
		}
		got.IDs = want.IDs
		return got == want
	})
	if err != nil || !same {
		t.Errorf("top %d of %q over %v as of %s: got %+v, %v, want %+v", n, prefix, p, asOfText(asOf), got, err, want)
	}
}

// TestTopRemembered: the ids of a closed period are told once it is remembered, in
// stores of every kind, and those of a period that changed since only where they are right.
func TestTopRemembered(t *testing.T) {
	// Of numbers, dense branded, hashed branded and dense string ids.
	for _, seed := range []uint64{1, 2, 3, 4} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			w.today = w.begin + 800 // all that is marked is long past
			w.must(t, w.db.Close())
			w.open(t)
			w.days = 90
			for range 2 {
				w.grow(t)
			}
			w.must(t, errors.Join(w.db.Fold(t.Context()), w.db.Remember(t.Context())))
			told := 0
			for range 60 {
				told += w.compareIDs(t, w.single())
			}
			if told < 40 { // of some 200 events and periods of several days
				t.Errorf("the ids of only %d are told", told)
			}
			for range 12 {
				w.change(t)
				w.compareIDs(t, w.single())
			}
		})
	}
}

// compareIDs compares the ids of a period that Top tells, and returns of how many
// events it told them where they have marks on more than one day.
func (w *world) compareIDs(t *testing.T, p testPeriod) (told int) {
	t.Helper()
	top, err := query.Top(t.Context(), w.db, "", p.Period, 100)
	w.must(t, err)
	for _, e := range top {
		first, last := p.read(w.ask(nil, false), e.Event)
		want := uint64(len(w.union(e.Event, first, last)))
		switch {
		case e.IDs != nil && *e.IDs != want:
			t.Errorf("%s in %v: got %d ids, want %d", e.Event, p, *e.IDs, want)
		case e.Days == 1 && e.IDs == nil:
			t.Errorf("%s in %v: the ids of a day are not told", e.Event, p)
		case e.Days > 1 && e.IDs != nil:
			told++
		}
	}
	return told
}

// TestUnmarkedFirstDay: the union of a week is remembered, and the journal empties its
// first day, so that the event's days begin after it. The union has a bit too many.
func TestUnmarkedFirstDay(t *testing.T) {
	db := numbers(t, "2026-01-20")
	marks(t, db, "active", "2026-01-05", "1")
	marks(t, db, "active", "2026-01-07", "2")
	marks(t, db, "active", "2026-01-08", "2 3")
	if err := errors.Join(db.Fold(t.Context()), db.Remember(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Unmark(t.Context(), "active", "1", day("2026-01-05")); err != nil {
		t.Fatal(err)
	}
	if n, err := query.Count(t.Context(), db, "active", query.All()); err != nil || n != 2 {
		t.Errorf("got %d, %v, want 2", n, err)
	}
	top, err := query.Top(t.Context(), db, "", query.Week(2026, 2), 1)
	wantJSON(t, top, err, `[{"event":"active","brand":null,"days":2,"marks":3,"best_day":"2026-01-08","best":2,"ids":null}]`)
}

func TestTopRefused(t *testing.T) {
	db := openStore(t, "2026-01-10", store.Options{})
	if _, err := query.Top(t.Context(), db, "", query.All(), 0); !errors.Is(err, query.ErrUsage) {
		t.Errorf("top 0: %v", err)
	}
}
