package query_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// askID asks about one id of the event's brand, marked or not.
func (w *world) askID(t *testing.T, src query.Source) {
	b, over, asOf := w.anyBrand(), w.period(), w.asOf()
	event, id := w.event(b), w.anyID(b)
	_, pos := w.parse(id)
	shared := w.shares(b, pos, id)

	a := w.ask(asOf, false)
	first, last := over.read(a, event)
	days := []any{}
	for _, d := range w.daysOf(event, pos, first, last) {
		days = append(days, d.String())
	}
	want := map[string]any{"days": days, "count": float64(len(days)), "shared": shared}
	calendar, err := query.Calendar(t.Context(), src, event, id, over.Period, options(asOf)...)
	w.compareJSON(t, calendar, err, want, "calendar of %s by %s over %v as of %s", event, id, over, asOfText(asOf))

	a = w.ask(asOf, true)
	first, last = over.read(a, event)
	want = map[string]any{"as_of": a.asOf.String(), "current": float64(w.current(event, pos, a.asOf)), "longest": 0.0,
		"last_day": nil, "shared": shared}
	for d := first; d <= last; d++ {
		run := 0
		for d-store.Day(run) >= first && w.marks[event][d-store.Day(run)][pos] {
			run++
		}
		want["longest"] = max(want["longest"].(float64), float64(run))
	}
	if all := w.daysOf(event, pos, w.begin, a.asOf); len(all) > 0 {
		want["last_day"] = all[len(all)-1].String()
	}
	streak, err := query.Streak(t.Context(), src, event, id, over.Period, options(asOf)...)
	w.compareJSON(t, streak, err, want, "streak of %s by %s over %v as of %s", event, id, over, asOfText(asOf))
}

// current returns the streak of an id that ends on a day or, while that is not
// marked, the day before.
func (m *model) current(event string, pos uint32, d store.Day) int {
	if !m.marks[event][d][pos] {
		d--
	}
	n := 0
	for m.marks[event][d-store.Day(n)][pos] {
		n++
	}
	return n
}

func (w *world) askStreaking(t *testing.T, src query.Source) {
	b, asOf, n := w.anyBrand(), w.asOf(), 1+w.rng.IntN(4)
	event, scope := w.event(b), w.scope(b)
	a := w.ask(asOf, true)
	want := uint64(0)
	for pos := range scope.of(a, w.union(event, w.begin, a.asOf)) {
		if w.current(event, pos, a.asOf) >= n {
			want++
		}
	}
	got, err := query.Streaking(t.Context(), src, event, n, append(options(asOf), query.In(scope.Scope))...)
	if err != nil || got != want {
		t.Errorf("%d days of %s as of %s in %v: got %d, %v, want %d", n, event, asOfText(asOf), scope.Scope, got, err, want)
	}
}

func (w *world) askLongest(t *testing.T, src query.Source) {
	b, asOf, over := w.anyBrand(), w.asOf(), w.period()
	event, scope := w.event(b), w.scope(b)
	a := w.ask(asOf, true)
	first, last := over.read(a, event)
	lengths := map[int]int{} // ids by their longest streak
	most := 0
	for pos := range scope.of(a, w.union(event, first, last)) {
		best, run := 0, 0
		for d := first; d <= last; d++ {
			if run++; !w.marks[event][d][pos] {
				run = 0
			}
			best = max(best, run)
		}
		lengths[best]++
		most = max(most, best)
	}
	rows := make([]any, most)
	for k, atLeast := most, 0; k > 0; k-- {
		atLeast += lengths[k]
		rows[k-1] = map[string]any{"days": float64(k), "exactly": float64(lengths[k]), "at_least": float64(atLeast)}
	}
	got, err := query.Longest(t.Context(), src, event, over.Period, append(options(asOf), query.In(scope.Scope))...)
	w.compareJSON(t, got, err, map[string]any{"as_of": a.asOf.String(), "longest": float64(most), "rows": rows},
		"longest streaks of %s over %v as of %s in %v", event, over, asOfText(asOf), scope.Scope)
}

// checkIn checks in on a day, often the same one again.
func (w *world) checkIn(t *testing.T) {
	m := w.mark(t)
	b, pos := w.parse(m.ID)
	result := w.model.mark(m.Event, m.ID, m.Day)
	want := map[string]any{"result": result.String(), "first_today": result == store.New, "shared": w.shares(b, pos, m.ID),
		"streak": float64(w.current(m.Event, pos, m.Day))}
	got, err := query.CheckIn(t.Context(), w.db, m.Event, m.ID, m.Day)
	w.compareJSON(t, got, err, want, "check in %v", m)
}

func TestStreak(t *testing.T) {
	db := numbers(t, "2026-02-10")
	for d := 1; d <= 4; d++ {
		marks(t, db, "active", fmt.Sprintf("2026-02-%02d", d), "7")
	}
	marks(t, db, "active", "2026-01-10", "7 8")
	for _, test := range []struct {
		asOf, want string
		over       query.Period
	}{
		{"2026-02-04", `{"as_of":"2026-02-04","current":4,"longest":4,"last_day":"2026-02-04","shared":false}`, query.All()},
		{"2026-02-05", `{"as_of":"2026-02-05","current":4,"longest":4,"last_day":"2026-02-04","shared":false}`, query.All()},
		{"2026-02-06", `{"as_of":"2026-02-06","current":0,"longest":4,"last_day":"2026-02-04","shared":false}`, query.All()},
		{"2026-02-06", `{"as_of":"2026-02-06","current":0,"longest":1,"last_day":"2026-02-04","shared":false}`, query.Month(2026, 1)},
		{"2026-02-02", `{"as_of":"2026-02-02","current":2,"longest":2,"last_day":"2026-02-02","shared":false}`, query.Month(2026, 2)},
		{"2026-01-09", `{"as_of":"2026-01-09","current":0,"longest":0,"last_day":null,"shared":false}`, query.All()},
	} {
		got, err := query.Streak(t.Context(), db, "active", "7", test.over, query.AsOf(day(test.asOf)))
		wantJSON(t, got, err, test.want)
	}
	for n, want := range map[int]uint64{1: 1, 4: 1, 5: 0} {
		got, err := query.Streaking(t.Context(), db, "active", n, query.AsOf(day("2026-02-05")))
		if err != nil || got != want {
			t.Errorf("at least %d: got %d, %v, want %d", n, got, err, want)
		}
	}
	if _, err := query.Streak(t.Context(), db, "active", "", query.All()); !errors.Is(err, placement.ErrInvalidID) {
		t.Errorf("error %v", err)
	}
	if _, err := query.Calendar(t.Context(), brands(t), "active", branded("USR", 1), query.All()); !errors.Is(err, store.ErrOtherBrand) {
		t.Errorf("error %v", err)
	}
}

// TestCheckInTogether checks ids in from many goroutines at once, two of which share
// a placement: of all calls for one bit and day exactly one is the first.
func TestCheckInTogether(t *testing.T) {
	db := openStore(t, "2026-02-10", store.Options{})
	today := day("2026-02-10")
	ids := []string{branded("PLR", 1)}
	for residue := uint32(0); len(ids) < 3; residue++ {
		if snowflake := placement.Join(77, residue).Snowflake(); snowflake < 1<<63 {
			ids = append(ids, branded("PLR", snowflake))
		}
	}
	bit := func(id string) string { // an id of each bit
		if id == ids[2] && !dense() {
			return ids[1]
		}
		return id
	}
	for _, id := range ids {
		for d := today - 40; d < today-2; d++ {
			marks(t, db, "active", d.String(), id)
		}
	}
	for d := today - 2; d <= today; d++ {
		var mu sync.Mutex
		var wg sync.WaitGroup
		firsts := map[string]int{}
		for i := range 60 {
			id := ids[i%len(ids)]
			wg.Go(func() {
				got, err := query.CheckIn(t.Context(), db, "active", id, d)
				if err != nil || got.Streak != int(d-today)+41 || got.Shared != (id != ids[0] && !dense()) || got.FirstToday != (got.Result == store.New) {
					t.Errorf("%s on %v: got %+v, %v", id, d, got, err)
				}
				mu.Lock()
				defer mu.Unlock()
				if got.FirstToday {
					firsts[bit(id)]++
				}
			})
		}
		wg.Wait()
		for _, id := range ids {
			if firsts[bit(id)] != 1 {
				t.Errorf("on %v %v ids were the first", d, firsts)
			}
		}
	}
	if _, err := query.CheckIn(t.Context(), db, "active", ids[0], today+2); !errors.Is(err, store.ErrFutureDay) {
		t.Errorf("error %v", err)
	}
}

// TestLongStreak checks in on one day after another, past all of the pieces in which
// the days before are looked up.
func TestLongStreak(t *testing.T) {
	db := numbers(t, "2026-02-10")
	begin := day("2025-11-01")
	for n := range 70 {
		got, err := query.CheckIn(t.Context(), db, "active", "5", begin+store.Day(n))
		if err != nil || got != (query.CheckInResult{Result: store.New, FirstToday: true, Streak: n + 1}) {
			t.Fatalf("day %d: got %+v, %v", n+1, got, err)
		}
	}
	got, err := query.CheckIn(t.Context(), db, "active", "5", begin+71)
	if err != nil || got.Streak != 1 {
		t.Errorf("after a gap: got %+v, %v", got, err)
	}
	if got, err = query.CheckIn(t.Context(), db, "active", "5", store.MinDay); err != nil || got.Streak != 1 {
		t.Errorf("on the first day there is: got %+v, %v", got, err)
	}
}
