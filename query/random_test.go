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
	"cohort/store"
)

var (
	randomStores = flag.Int("stores", 0, "number of random stores to compare with the oracle; 0 takes 1000, with -short 120")
	randomSeed   = flag.Uint64("seed", 0, "seed of the first random store; 0 takes one from the clock")
)

// TestAgainstOracle asks every question, with random options, of random stores and of
// their models, each twice a store. Drawn are
//
//   - branded ids of two brands, number ids and string ids, in hashed and in dense
//     stores; some hashed ones have ids that share a placement, and ids stand at the
//     edges of containers and of chunks;
//   - weeks from Monday and from Sunday; zones without daylight saving and with one of
//     an hour or of half an hour, marks being placed by their time of day;
//   - marks that come in any order, late, again and by check-in; marks that are removed
//     and ids that are erased; values of fields and visits of pages; sets that are
//     saved, replaced and deleted, of expressions and of ids;
//   - folds, remembered periods and reopenings in between, so that marks are in chunks,
//     in the journal, or both;
//   - as-of, given or not, before, among and after the days that are marked; periods of
//     every form, of which some are not closed; expressions of every operator; scopes.
func TestAgainstOracle(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	n := *randomStores
	switch {
	case n > 0:
	case testing.Short():
		n = 120
	default:
		n = 1000
	}
	for i := range uint64(n) {
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
	made   []store.Mark // some of the marks
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
	w.defineFields(t)
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
	db, err := store.Open(w.path, &store.Options{
		IDs: w.kind, Positions: positions, WeekStart: w.week, TimeZone: w.zone.String(), Now: w.late,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.db = db
}

// late is the time of the store: late on its day, which is tomorrow elsewhere.
func (w *world) late() time.Time {
	year, month, d := w.today.Date()
	return time.Date(year, month, d, 23, 30, 0, 0, w.zone)
}

// makeIDs makes ids that are near and far from each other, some at one placement.
func (w *world) makeIDs() {
	n := 1 + w.rng.IntN(40)
	w.events = []string{"active", "played", "at desk", "a-b"}
	switch w.kind {
	case placement.Number:
		for range n {
			w.addID(placement.Brand{}, strconv.FormatUint(uint64(w.position()), 10))
		}
	case placement.String:
		for range n {
			w.addID(placement.Brand{}, fmt.Sprintf("user %d@é", w.rng.IntN(1000)))
		}
	default:
		w.events = append(w.events, "user logged in")
		for range n {
			pos := w.position()
			for range 1 + w.rng.IntN(5)/4 {
				w.addID(plr, brandedAt(w.rng, plr, pos))
			}
			w.addID(usr, brandedAt(w.rng, usr, pos))
		}
	}
}

// addID adds an id, unless a small sketch would take it for another: such a sketch
// keeps 25 bits of an id, and is exact where they differ.
func (w *world) addID(b placement.Brand, id string) {
	same := func(other string) bool { return other != id && w.visitor(other) == w.visitor(id) }
	if !slices.ContainsFunc(w.ids[b], same) {
		w.ids[b] = append(w.ids[b], id)
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

// markDay returns the day of a random time that the store takes a mark of.
func (w *world) markDay(t *testing.T) store.Day {
	want := min(w.begin+store.Day(w.rng.IntN(w.days)), w.today+1)
	year, month, d := want.Date()
	at := time.Date(year, month, d, w.rng.IntN(24), w.rng.IntN(60), w.rng.IntN(60), 0, w.zone)
	got := w.db.DayOf(at.UTC())
	if got != want {
		t.Fatalf("%v is on %v, want %v", at, got, want)
	}
	return got
}

// mark returns a random mark that the store accepts.
func (w *world) mark(t *testing.T) store.Mark {
	event := w.events[w.rng.IntN(len(w.events))]
	return store.Mark{Event: event, ID: w.anyID(w.brandOf(event)), Day: w.markDay(t)}
}

func (w *world) anyID(b placement.Brand) string { return w.ids[b][w.rng.IntN(len(w.ids[b]))] }

// grow marks many at once, gives values to some ids, and visits pages.
func (w *world) grow(t *testing.T) {
	var marks []store.Mark
	var want store.Tally
	for range w.rng.IntN(w.days * 12) {
		m := w.mark(t)
		marks = append(marks, m)
		switch w.model.mark(m.Event, m.ID, m.Day) {
		case store.New:
			want.New++
		case store.Already:
			want.Already++
		case store.Shared:
			want.Shared++
		}
	}
	w.made = append(w.made, marks...)
	if got, err := w.db.MarkMany(t.Context(), slices.Values(marks)); err != nil || got != want {
		t.Fatalf("mark many: got %+v, %v, want %+v", got, err, want)
	}
	w.growFields(t)
	for range w.rng.IntN(3) {
		w.observe(t)
	}
}

// change changes a few things, folds and reopens.
func (w *world) change(t *testing.T) {
	for range w.rng.IntN(10) {
		switch w.rng.IntN(14) {
		case 0:
			w.must(t, w.db.Fold(t.Context()))
		case 1:
			w.must(t, w.db.Close())
			w.open(t)
		case 2, 3:
			w.takeBack(t)
		case 4:
			w.checkIn(t)
		case 5, 6:
			w.save(t)
		case 7, 8:
			w.must(t, errors.Join(w.db.Fold(t.Context()), w.db.Remember(t.Context())))
		case 9:
			w.erase(t)
		case 10:
			w.writeField(t)
		case 11:
			w.observe(t)
		default:
			m := w.mark(t)
			got, err := w.db.Mark(t.Context(), m.Event, m.ID, m.Day)
			if want := w.model.mark(m.Event, m.ID, m.Day); err != nil || got != want {
				t.Fatalf("mark %v: got %v, %v, want %v", m, got, err, want)
			}
		}
	}
}

func (w *world) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// takeBack removes a mark, often one that is there, or all of an event on a day.
func (w *world) takeBack(t *testing.T) {
	m := w.mark(t)
	if n := len(w.made); n > 0 && w.rng.IntN(4) > 0 {
		m = w.made[w.rng.IntN(n)]
	}
	marks := []store.Mark{m}
	if w.rng.IntN(3) == 0 {
		for _, other := range w.made {
			if other.Event == m.Event && other.Day == m.Day {
				marks = append(marks, other)
			}
		}
	}
	for _, m := range marks {
		got, err := w.db.Unmark(t.Context(), m.Event, m.ID, m.Day)
		if want := w.unmark(m.Event, m.ID, m.Day); err != nil || got != want {
			t.Fatalf("unmark %v: got %v, %v, want %v", m, got, err, want)
		}
	}
}

// erase erases an id, known or not.
func (w *world) erase(t *testing.T) {
	id := w.anyID(w.anyBrand())
	got, err := w.db.Erase(t.Context(), id)
	if want := w.model.erase(id); err != nil || got != want {
		t.Fatalf("erase %s: got %+v, %v, want %+v", id, got, err, want)
	}
}
