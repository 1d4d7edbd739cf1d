package query_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

var (
	randomStores = flag.Int("stores", 120, "number of random stores to compare with the oracle")
	randomSeed   = flag.Uint64("seed", 0, "seed of the first random store; 0 takes one from the clock")
)

// TestAgainstOracle asks every question of random stores and of their models.
func TestAgainstOracle(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	for i := range uint64(*randomStores) {
		t.Run(fmt.Sprintf("seed=%d", seed+i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed+i)
			w.grow(t)
			for range 2 {
				w.change(t)
				w.askAll(t)
			}
		})
	}
}

// world is a random store and its model.
type world struct {
	*model
	rng    *rand.Rand
	path   string
	db     *store.DB
	events []string
	ids    map[placement.Brand][]string
	begin  store.Day // of the days that are marked
	days   int
	zone   *time.Location
}

var (
	plr = placement.Brand{'P', 'L', 'R'}
	usr = placement.Brand{'U', 'S', 'R'}
)

func newWorld(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 3))
	kind := []placement.Kind{placement.Branded, placement.Branded, placement.Number, placement.String}[rng.IntN(4)]
	week := []store.WeekStart{store.Monday, store.Sunday}[rng.IntN(2)]
	begin := day("2025-11-20") + store.Day(rng.IntN(60))
	days := 1 + rng.IntN(80)
	today := begin + store.Day(rng.IntN(days+10))
	w := &world{
		model: newModel(kind, kind != placement.Number && seed%2 == 0, week, today),
		rng:   rng, path: filepath.Join(t.TempDir(), "random.db"), begin: begin, days: days,
		ids: map[placement.Brand][]string{},
	}
	var err error
	if w.zone, err = time.LoadLocation([]string{"UTC", "America/New_York", "Australia/Lord_Howe"}[seed%3]); err != nil {
		t.Fatal(err)
	}
	w.makeIDs()
	w.open(t)
	t.Cleanup(func() {
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) open(t *testing.T) {
	var positions store.Positions
	if w.dense {
		positions = store.Dense
	}
	year, month, d := w.today.Date()
	late := time.Date(year, month, d, 23, 30, 0, 0, w.zone) // which is tomorrow elsewhere
	db, err := store.Open(w.path, &store.Options{
		IDs: w.kind, Positions: positions, WeekStart: w.week, TimeZone: w.zone.String(), Now: func() time.Time { return late },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.db = db
}

// makeIDs makes ids that are near and far from each other, some at one placement.
func (w *world) makeIDs() {
	n := 1 + w.rng.IntN(40)
	w.events = []string{"active", "played", "at desk", "a-b"}
	switch w.kind {
	case placement.Number:
		for range n {
			w.ids[placement.Brand{}] = append(w.ids[placement.Brand{}], strconv.FormatUint(uint64(w.position()), 10))
		}
	case placement.String:
		for range n {
			w.ids[placement.Brand{}] = append(w.ids[placement.Brand{}], fmt.Sprintf("user %d@é", w.rng.IntN(1000)))
		}
	default:
		w.events = append(w.events, "user logged in")
		for range n {
			pos := w.position()
			for range 1 + w.rng.IntN(5)/4 {
				w.ids[plr] = append(w.ids[plr], brandedAt(w.rng, plr, pos))
			}
			w.ids[usr] = append(w.ids[usr], brandedAt(w.rng, usr, pos))
		}
	}
}

// position returns any position, or one beside an edge of containers and chunks.
func (w *world) position() uint32 {
	if w.rng.IntN(2) == 0 {
		return w.rng.Uint32()
	}
	return uint32(w.rng.IntN(4))<<([]int{16, 18, 24, 30}[w.rng.IntN(4)]) + uint32(w.rng.IntN(7)) - 3
}

// brandedAt makes an id at a placement.
func brandedAt(rng *rand.Rand, b placement.Brand, pos uint32) string {
	for {
		snowflake := placement.Join(pos, rng.Uint32()).Snowflake()
		if snowflake < 1<<63 {
			return placement.BrandedID{Brand: b, Snowflake: snowflake}.String()
		}
	}
}

// brandOf returns the brand of an event's ids.
func (w *world) brandOf(event string) placement.Brand {
	switch {
	case w.kind != placement.Branded:
		return placement.Brand{}
	case event == "user logged in":
		return usr
	}
	return plr
}

// mark returns a random mark on a day that the store accepts.
func (w *world) mark() store.Mark {
	event := w.events[w.rng.IntN(len(w.events))]
	ids := w.ids[w.brandOf(event)]
	d := w.begin + store.Day(w.rng.IntN(w.days))
	return store.Mark{Event: event, ID: ids[w.rng.IntN(len(ids))], Day: min(d, w.today+1)}
}

// grow marks many at once.
func (w *world) grow(t *testing.T) {
	var marks []store.Mark
	for range w.rng.IntN(w.days * 12) {
		m := w.mark()
		marks = append(marks, m)
		w.model.mark(m.Event, m.ID, m.Day)
	}
	if _, err := w.db.MarkMany(t.Context(), slices.Values(marks)); err != nil {
		t.Fatal(err)
	}
}

// change marks and unmarks a few, folds and reopens.
func (w *world) change(t *testing.T) {
	for range w.rng.IntN(8) {
		m := w.mark()
		switch w.rng.IntN(10) {
		case 6, 7:
			w.save(t)
		case 8, 9:
			if err := errors.Join(w.db.Fold(t.Context()), w.db.Remember(t.Context())); err != nil {
				t.Fatal(err)
			}
		case 0:
			if err := w.db.Fold(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 1:
			if err := w.db.Close(); err != nil {
				t.Fatal(err)
			}
			w.open(t)
		case 2, 3:
			got, err := w.db.Unmark(t.Context(), m.Event, m.ID, m.Day)
			if want := w.unmark(m.Event, m.ID, m.Day); err != nil || got != want {
				t.Fatalf("unmark %v: got %v, %v, want %v", m, got, err, want)
			}
		case 4:
			w.checkIn(t)
		default:
			if _, err := w.db.Mark(t.Context(), m.Event, m.ID, m.Day); err != nil {
				t.Fatal(err)
			}
			w.model.mark(m.Event, m.ID, m.Day)
		}
	}
}

// day returns a day among, or near, those that are marked.
func (w *world) day() store.Day { return w.begin - 5 + store.Day(w.rng.IntN(w.days+10)) }

// asOf returns an as-of, or none.
func (w *world) asOf() *store.Day {
	if w.rng.IntN(2) == 0 {
		return nil
	}
	return new(w.day())
}

// event returns an event of a brand, or one never written.
func (w *world) event(b placement.Brand) string {
	if w.rng.IntN(15) == 0 {
		return "never"
	}
	for {
		if e := w.events[w.rng.IntN(len(w.events))]; w.brandOf(e) == b {
			return e
		}
	}
}

// anyBrand returns the brand of a question.
func (w *world) anyBrand() placement.Brand {
	return w.brandOf(w.events[w.rng.IntN(len(w.events))])
}

// single returns a day, week, month, quarter or year.
func (w *world) single() testPeriod {
	by := everyBy[w.rng.IntN(len(everyBy))]
	days, label := calendarSpan(by, w.week, w.day())
	return testPeriod{mustPeriod(label), func(asking, string) (store.Day, store.Day, bool) { return days.First, days.Last, true }}
}

// period returns any period.
func (w *world) period() testPeriod {
	a, b, d, n := w.single(), w.single(), w.day(), 1+w.rng.IntN(40)
	aFirst, aLast, _ := a.days(asking{}, "")
	bFirst, bLast, _ := b.days(asking{}, "")
	run := store.Day(n - 1)
	switch w.rng.IntN(12) {
	case 0, 1:
		return a
	case 2:
		if aFirst > bLast {
			a, b, aFirst, bLast = b, a, bFirst, aLast
		}
		return testPeriod{query.Between(a.Period, b.Period), func(asking, string) (store.Day, store.Day, bool) { return aFirst, bLast, true }}
	case 3:
		return testPeriod{query.From(a.Period), func(q asking, event string) (store.Day, store.Day, bool) {
			_, last, ok := q.stored(event)
			if q.given {
				return aFirst, q.asOf, true
			}
			return aFirst, last, ok
		}}
	case 4:
		return testPeriod{query.Until(a.Period), func(q asking, event string) (store.Day, store.Day, bool) {
			first, _, ok := q.stored(event)
			return first, aLast, ok
		}}
	case 5:
		return testPeriod{query.Trailing(n, d), func(asking, string) (store.Day, store.Day, bool) { return d - run, d, true }}
	case 6:
		return testPeriod{query.Forward(d, n), func(asking, string) (store.Day, store.Day, bool) { return d, d + run, true }}
	case 7:
		return testPeriod{query.Today(), func(q asking, _ string) (store.Day, store.Day, bool) { return q.asOf, q.asOf, true }}
	case 8:
		return testPeriod{query.Yesterday(), func(q asking, _ string) (store.Day, store.Day, bool) { return q.asOf - 1, q.asOf - 1, true }}
	case 9:
		return testPeriod{query.Last(n), func(q asking, _ string) (store.Day, store.Day, bool) { return q.asOf - run, q.asOf, true }}
	}
	return testPeriod{query.All(), func(q asking, event string) (store.Day, store.Day, bool) { return q.stored(event) }}
}

// expr returns an expression of up to n operations.
func (w *world) expr(b placement.Brand, n int) testExpr {
	if n > 0 {
		left := w.rng.IntN(n)
		x, y := w.expr(b, left), w.expr(b, n-1-left)
		switch w.rng.IntN(4) {
		case 0:
			return testExpr{query.And(x.Expr, y.Expr), func(a asking) set { return intersect(x.set(a), y.set(a)) }}
		case 1:
			return testExpr{query.Or(x.Expr, y.Expr), func(a asking) set { return unite(x.set(a), y.set(a)) }}
		case 2:
			return testExpr{query.Xor(x.Expr, y.Expr), func(a asking) set {
				return unite(subtract(x.set(a), y.set(a)), subtract(y.set(a), x.set(a)))
			}}
		}
		return testExpr{query.AndNot(x.Expr, y.Expr), func(a asking) set { return subtract(x.set(a), y.set(a)) }}
	}
	event, p := w.event(b), w.period()
	switch w.rng.IntN(7) {
	case 6:
		if x, ok := w.savedExpr(b); ok {
			return x
		}
	case 0:
		p = w.shortPeriod(p)
		return testExpr{query.Every(event, p.Period), func(a asking) set { return a.every(event, p) }}
	case 1:
		seen := query.SeenOf(b)
		if len(w.known) < 2 && w.known[b] != nil {
			seen = query.Seen()
		}
		return testExpr{seen, func(a asking) set {
			all := set{}
			for pos := range a.known[b] {
				all[pos] = true
			}
			return all
		}}
	}
	return testExpr{query.Of(event, p.Period), func(a asking) set {
		first, last := p.read(a, event)
		return a.union(event, first, last)
	}}
}

// shortPeriod often takes one of a few days instead, so that ids are in all.
func (w *world) shortPeriod(p testPeriod) testPeriod {
	if w.rng.IntN(3) == 0 {
		return p
	}
	d, n := w.day(), 1+w.rng.IntN(3)
	return testPeriod{query.Forward(d, n), func(asking, string) (store.Day, store.Day, bool) { return d, d + store.Day(n-1), true }}
}
