package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// compareFirsts compares the first days of an event's ids with the model's, day by
// day and in periods, chunk by chunk and by their noted numbers.
func (m *model) compareFirsts(t tb, s *store.Snapshot, e store.Event) {
	t.Helper()
	want := make(map[store.Day]*roaring.Bitmap)
	seen := roaring.New()
	days := m.events[e.Name].sortedDays()
	periods := make([]store.Period, 0, len(days))
	for _, d := range days {
		set := m.events[e.Name].union(store.Period{First: d, Last: d})
		set.AndNot(seen)
		seen.Or(set)
		want[d] = set
		periods = append(periods, store.Period{First: d, Last: d})
	}
	m.compareCohorts(t, s, e, periods, want)
	if n := len(days); n > 1 { // longer periods, not from the first day on
		periods = []store.Period{
			{First: days[n/3] + 1, Last: days[n/2]},
			{First: days[n/2] + 1, Last: store.MaxDay},
		}
		m.compareCohorts(t, s, e, periods, want)
		m.compareCohorts(t, s, e, periods[:1], want)
	}
}

func (m *model) compareCohorts(t tb, s *store.Snapshot, e store.Event, periods []store.Period, firsts map[store.Day]*roaring.Bitmap) {
	t.Helper()
	numbers, err := s.FirstChunkNumbers(e)
	if err != nil {
		t.Fatalf("%v", err)
	}
	got := make([]*roaring.Bitmap, len(periods))
	for i := range got {
		got[i] = roaring.New()
	}
	for _, n := range numbers {
		cohorts, err := s.FirstDays(e, periods, n)
		if err != nil {
			t.Fatalf("first days of event %s: %v", e.Name, err)
		}
		for i, c := range cohorts {
			got[i].Or(c)
		}
	}
	for i, p := range periods {
		want := roaring.New()
		var counts []store.DayCount
		for _, d := range m.events[e.Name].sortedDays() {
			if p.Contains(d) && !firsts[d].IsEmpty() {
				want.Or(firsts[d])
				counts = append(counts, store.DayCount{Day: d, Count: firsts[d].GetCardinality()})
			}
		}
		if !got[i].Equals(want) {
			t.Fatalf("event %s, %s: first days of %v, want %v", e.Name, p, got[i], want)
		}
		known, ok, err := s.FirstCounts(e, p)
		if err != nil || ok && !slices.Equal(known, counts) {
			t.Fatalf("event %s, %s: numbers of first days %v, %v, want %v", e.Name, p, known, err, counts)
		}
	}
}

// TestRemembered runs random operations on a store whose days make up weeks, months,
// quarters and years, in a small range of ids, so that first days move and periods
// lose bits, and compares every answer that what is remembered has part in.
func TestRemembered(t *testing.T) {
	work := workDir(t)
	seed := uint64(time.Now().UnixNano())
	for i := range long(5, 600) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			dir, err := os.MkdirTemp(work, "run")
			if err != nil {
				t.Fatal(err)
			}
			newRemembering(t, dir, rng).run(t, 30)
		})
	}
}

// remembering is a store of decimal ids with its model.
type remembering struct {
	*model
	rng   *rand.Rand
	db    *store.DB
	opts  *store.Options
	dir   string
	files int
	span  int // days back from today
}

func newRemembering(t *testing.T, dir string, rng *rand.Rand) *remembering {
	m := &remembering{model: newModel(decimals(), dense(), false), rng: rng, dir: dir}
	m.opts = options(decimals())
	m.opts.WeekStart = store.WeekStart(1 + rng.IntN(2))
	m.opts.FoldMarks = 1 << rng.IntN(8)
	m.opts.RememberEvery = -1
	m.span = 1 + rng.IntN(480)
	m.db = mustOpen(t, filepath.Join(dir, "0"), m.opts)
	return m
}

func (m *remembering) run(t *testing.T, steps int) {
	defer func() { mustClose(t, m.db) }()
	m.load(t, 200)
	for step := range steps {
		switch m.rng.IntN(13) {
		case 12:
			m.erase(t)
		case 0, 1:
			m.load(t, 1+m.rng.IntN(60))
		case 2, 3:
			m.mark(t)
		case 4, 5:
			m.unmark(t)
		case 6:
			m.delete(t)
		case 7:
			if err := m.db.Fold(ctx); err != nil {
				t.Fatal(err)
			}
		case 8, 9:
			if err := m.db.Remember(ctx); err != nil {
				t.Fatal(err)
			}
		case 10:
			m.interrupt(t)
		default:
			m.crash(t)
		}
		if step%2 > 0 {
			m.check(t)
		}
	}
}

func (m *remembering) draw() store.Mark {
	event := []string{"active", "active", "paid"}[m.rng.IntN(3)]
	day := today + 1 - store.Day(m.rng.IntN(m.span+2))
	if m.rng.IntN(40) == 0 {
		day = []store.Day{store.MinDay, store.MinDay + 1, 0}[m.rng.IntN(3)]
	}
	return store.Mark{Event: event, ID: fmt.Sprint(m.rng.IntN(3)<<19 + m.rng.IntN(12)), Day: day}
}

func (m *remembering) load(t *testing.T, n int) {
	rows := make([]store.Mark, n)
	for i := range rows {
		rows[i] = m.draw()
	}
	want, _ := m.tally(rows, false)
	if got, err := loadRows(m.db, rows, 1+m.rng.IntN(2*n)); err != nil || got != want {
		t.Fatalf("load: %v, %v, want %v", got, err, want)
	}
}

func (m *remembering) mark(t *testing.T) {
	for range 1 + m.rng.IntN(8) {
		k := m.draw()
		want, _ := m.model.mark(k)
		if got, err := m.db.Mark(ctx, k.Event, k.ID, k.Day); err != nil || got != want {
			t.Fatalf("mark %+v: %v, %v, want %v", k, got, err, want)
		}
	}
}

// unmark takes marks away that are there.
func (m *remembering) unmark(t *testing.T) {
	for range 1 + m.rng.IntN(8) {
		k := m.draw()
		if e := m.events[k.Event]; e != nil {
			days := e.sortedDays()
			if len(days) == 0 {
				return
			}
			k.Day = days[m.rng.IntN(len(days))]
			for at := range e.days[k.Day] {
				k.ID = m.idsAt(e.brand, at)[0]
				break
			}
		}
		want, _ := m.model.unmark(k)
		if got, err := m.db.Unmark(ctx, k.Event, k.ID, k.Day); err != nil || got != want {
			t.Fatalf("unmark %+v: %v, %v, want %v", k, got, err, want)
		}
	}
}

// erase removes an id, of which nothing may be remembered then.
func (m *remembering) erase(t *testing.T) {
	id := m.draw().ID
	_, mixed, err := m.kind.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	pos, placed := m.position(placement.Brand{}, mixed)
	want, _ := m.model.erase(id)
	if got, err := m.db.Erase(ctx, id); err != nil || got != want {
		t.Fatalf("erase %s: %+v, %v, want %+v", id, got, err, want)
	}
	if where, err := m.db.Remembers(pos); placed && (err != nil || where != "") {
		t.Fatalf("%s is erased, and kept in %s, %v", id, where, err)
	}
}

func (m *remembering) delete(t *testing.T) {
	k := m.draw()
	err, want := m.db.DeleteDay(ctx, k.Event, k.Day), m.deleteDay(k.Event, k.Day)
	if m.rng.IntN(12) == 0 {
		err, want = m.db.DeleteEvent(ctx, k.Event), m.deleteEvent(k.Event)
	}
	if !sameError(err, want) {
		t.Fatalf("delete %+v: %v, want %v", k, err, want)
	}
}

// interrupt changes the store between the transactions of Remember, and may end it
// after a few of them.
func (m *remembering) interrupt(t *testing.T) {
	m.db.RememberByChunk()
	between := &interruption{Context: ctx, left: m.rng.IntN(20), act: func() {
		switch m.rng.IntN(4) {
		case 0:
			m.load(t, 1+m.rng.IntN(20))
		case 1:
			m.unmark(t)
			if err := m.db.Fold(ctx); err != nil {
				t.Error(err)
			}
		case 2:
			if m.rng.IntN(4) == 0 {
				m.delete(t)
			}
		}
	}}
	if err := m.db.Remember(between); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// crash goes on with the file as it would stand had the process died here.
func (m *remembering) crash(t *testing.T) {
	m.files++
	path := filepath.Join(m.dir, fmt.Sprint(m.files))
	if err := m.db.CopyFile(path); err != nil {
		t.Fatal(err)
	}
	mustClose(t, m.db)
	m.opts.NoRollups, m.opts.NoFirstDays = m.rng.IntN(8) == 0, m.rng.IntN(8) == 0
	m.db = mustOpen(t, path, m.opts)
}

func (m *remembering) check(t *testing.T) {
	t.Helper()
	if err := m.db.Sums(); err != nil {
		t.Fatalf("%v", err)
	}
	s, err := m.db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	for name, want := range m.events {
		e, ok, err := s.Event(name)
		if err != nil || !ok {
			t.Fatalf("event %s: %v, %v", name, ok, err)
		}
		m.compareFirsts(t, s, e)
		for range 6 {
			a, b := m.draw().Day, m.draw().Day
			p := store.Period{First: min(a, b), Last: max(a, b)}
			if m.rng.IntN(3) == 0 {
				p = e.Period()
			}
			e, _, err := s.Event(name)
			if n, ok, countErr := s.PeriodCount(e, p); err != nil || countErr != nil || ok && n != want.union(p).GetCardinality() {
				t.Fatalf("event %s, %s: count %d, %v, %v, want %d", name, p, n, err, countErr, want.union(p).GetCardinality())
			}
			if got := positionsOf(t, s, e, p); !got.Equals(want.union(p)) {
				t.Fatalf("event %s, %s: bits %v, want %v", name, p, got, want.union(p))
			}
		}
	}
}

// interruption is a context whose owner does something each time it is asked, and
// that ends when it was asked a number of times.
type interruption struct {
	context.Context
	left int
	act  func()
}

func (c *interruption) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	c.act()
	return nil
}
