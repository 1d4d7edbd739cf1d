package store_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// today is the current day of every store in these tests.
var today = store.Date(2026, time.March, 9)

func noon() time.Time { return today.Time().Add(12 * time.Hour) }

// tb is what testing.TB and *rapid.T have in common here.
type tb interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// options are those of a store of the kind whose clock stands still.
func options(kind placement.Kind) *store.Options {
	return &store.Options{IDs: kind, Now: noon, FoldAge: -1}
}

func mustOpen(t tb, path string, opts *store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(path, opts)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return db
}

func mustClose(t tb, db interface{ Close() error }) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
}

func digestOf(t tb, db *store.DB) string {
	t.Helper()
	s, err := db.Snapshot()
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer mustClose(t, s)
	d, err := s.Digest()
	if err != nil {
		t.Fatalf("%v", err)
	}
	return d
}

// model is a store made of maps: the oracle of what the real one must answer.
type model struct {
	kind   placement.Kind
	drop   bool
	events map[string]*modelEvent
	known  map[placement.Brand]registry
}

// registry is the known ids of a brand, by placement.
type registry map[uint32]map[placement.Mixed]string

// ids returns the known ids, in no order.
func (r registry) ids() (ids []string) {
	for _, at := range r {
		ids = slices.AppendSeq(ids, maps.Values(at))
	}
	return ids
}

type modelEvent struct {
	brand placement.Brand
	days  map[store.Day]map[uint32]bool
}

func newModel(kind placement.Kind, drop bool) *model {
	return &model{kind, drop, make(map[string]*modelEvent), make(map[placement.Brand]registry)}
}

// check refuses what no store may take, in the order in which a store looks.
func (m *model) check(k store.Mark, latest store.Day) (placement.Brand, placement.Mixed, error) {
	if err := store.CheckEvent(k.Event); err != nil {
		return placement.Brand{}, 0, err
	}
	brand, mixed, err := m.kind.Parse(k.ID)
	switch {
	case err != nil:
		return brand, 0, err
	case k.Day < store.MinDay || k.Day > store.MaxDay:
		return brand, 0, store.ErrInvalidDay
	case k.Day > latest:
		return brand, 0, store.ErrFutureDay
	}
	if e := m.events[k.Event]; e != nil && e.brand != brand {
		return brand, 0, &store.BrandError{Event: k.Event, EventBrand: e.brand, ID: k.ID, OffendBrand: brand}
	}
	return brand, mixed, nil
}

// others reports whether another known id stands at the id's placement.
func (m *model) others(brand placement.Brand, mixed placement.Mixed) bool {
	at := m.known[brand][mixed.Placement()]
	_, self := at[mixed]
	return len(at) > 1 || len(at) == 1 && !self
}

func (m *model) mark(k store.Mark) (store.Result, error) {
	brand, mixed, err := m.check(k, today+1)
	if err != nil {
		return 0, err
	}
	e := m.events[k.Event]
	if e == nil {
		e = &modelEvent{brand, make(map[store.Day]map[uint32]bool)}
		m.events[k.Event] = e
	}
	others := m.others(brand, mixed)
	if m.known[brand] == nil {
		m.known[brand] = make(registry)
	}
	if m.known[brand][mixed.Placement()] == nil {
		m.known[brand][mixed.Placement()] = make(map[placement.Mixed]string)
	}
	m.known[brand][mixed.Placement()][mixed] = k.ID
	if e.days[k.Day] == nil {
		e.days[k.Day] = make(map[uint32]bool)
	}
	set := e.days[k.Day][mixed.Placement()]
	e.days[k.Day][mixed.Placement()] = true
	switch {
	case !set:
		return store.New, nil
	case others:
		return store.Shared, nil
	}
	return store.Already, nil
}

func (m *model) unmark(k store.Mark) (store.Result, error) {
	brand, mixed, err := m.check(k, store.MaxDay)
	if err != nil {
		return 0, err
	}
	e := m.events[k.Event]
	if e == nil || !e.days[k.Day][mixed.Placement()] {
		return store.Absent, nil
	}
	if m.others(brand, mixed) {
		return store.Shared, nil
	}
	m.clear(e, k.Day, mixed.Placement())
	return store.Cleared, nil
}

func (m *model) clear(e *modelEvent, day store.Day, at uint32) {
	delete(e.days[day], at)
	if len(e.days[day]) == 0 {
		delete(e.days, day)
	}
}

func (m *model) has(event, id string, p store.Period) (at store.Presence, err error) {
	brand, mixed, err := m.check(store.Mark{Event: event, ID: id}, store.MaxDay)
	if err != nil {
		return at, err
	}
	at.Shared = m.others(brand, mixed)
	if e := m.events[event]; e != nil {
		for day, set := range e.days {
			at.Has = at.Has || p.Contains(day) && set[mixed.Placement()]
		}
	}
	return at, nil
}

// tally is what marking the rows one by one comes to. A refused row ends it
// where stop is set, and is left out where not.
func (m *model) tally(rows []store.Mark, stop bool) (t store.Tally, errs []error) {
	for _, row := range rows {
		r, err := m.mark(row)
		if err != nil {
			errs = append(errs, err)
			if stop {
				break
			}
			continue
		}
		count(&t, r)
	}
	return t, errs
}

func count(t *store.Tally, r store.Result) {
	switch r {
	case store.New:
		t.New++
	case store.Already:
		t.Already++
	case store.Shared:
		t.Shared++
	}
}

func (m *model) deleteDay(event string, day store.Day) error {
	e := m.events[event]
	if e == nil {
		return store.ErrNoEvent
	}
	delete(e.days, day)
	return nil
}

func (m *model) deleteEvent(event string) error {
	if m.events[event] == nil {
		return store.ErrNoEvent
	}
	delete(m.events, event)
	return nil
}

func (e *modelEvent) sortedDays() []store.Day { return slices.Sorted(maps.Keys(e.days)) }

// union returns the bits of the event's days in the period.
func (e *modelEvent) union(p store.Period) *roaring.Bitmap {
	b := roaring.New()
	for day, set := range e.days {
		if p.Contains(day) {
			for at := range set {
				b.Add(at)
			}
		}
	}
	return b
}

// members returns the known ids of the brand at the bits of the set, as a store
// lists them.
func (m *model) members(b placement.Brand, set *roaring.Bitmap) []string {
	var ids []string
	for _, p := range set.ToArray() {
		ids = append(ids, slices.Sorted(maps.Values(m.known[b][p]))...)
	}
	return ids
}

// sharing returns the other known ids at the id's placement, as a store lists
// them.
func (m *model) sharing(brand placement.Brand, mixed placement.Mixed) (ids []string) {
	for other, id := range m.known[brand][mixed.Placement()] {
		if other != mixed {
			if m.drop {
				id = fmt.Sprintf("?%08x", other.Residue())
			}
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// compare asks the snapshot everything and reports what differs from the model.
func (m *model) compare(t tb, s *store.Snapshot, ids []string) {
	t.Helper()
	events, err := s.Events("")
	if err != nil {
		t.Fatalf("events: %v", err)
	}
	names := slices.Sorted(maps.Keys(m.events))
	if len(events) != len(names) {
		t.Fatalf("%d events, want %d: %v", len(events), len(names), names)
	}
	for i, e := range events {
		m.compareEvent(t, s, e, names[i], ids)
	}
	m.compareBrands(t, s)
	for _, id := range ids {
		brand, mixed, err := m.kind.Parse(id)
		if err != nil {
			t.Fatalf("%v", err)
		}
		known, sharing, err := s.Known(id)
		_, want := m.known[brand][mixed.Placement()][mixed]
		if err != nil || known != want || !slices.Equal(sharing, m.sharing(brand, mixed)) {
			t.Errorf("known %s: got %v, %v, %v, want %v, %v", id, known, sharing, err, want, m.sharing(brand, mixed))
		}
	}
}

func (m *model) compareEvent(t tb, s *store.Snapshot, e store.Event, name string, ids []string) {
	t.Helper()
	want := m.events[name]
	days := want.sortedDays()
	var marks uint64
	var counts []store.DayCount
	for _, d := range days {
		marks += uint64(len(want.days[d]))
		counts = append(counts, store.DayCount{Day: d, Count: uint64(len(want.days[d]))})
	}
	if e.Name != name || e.Brand != want.brand || e.Days != len(days) || e.Marks != marks {
		t.Fatalf("event %+v, want %q, brand %q, %d days, %d marks", e, name, want.brand, len(days), marks)
	}
	all := store.Period{First: store.MinDay, Last: store.MaxDay}
	if len(days) > 0 && e.Period() != (store.Period{First: days[0], Last: days[len(days)-1]}) {
		t.Fatalf("event %s: period %s, want %s to %s", name, e.Period(), days[0], days[len(days)-1])
	} else if len(days) == 0 && !e.Period().Empty() {
		t.Fatalf("event %s: period %s, want none", name, e.Period())
	}
	if got, err := s.Days(e, all); err != nil || !slices.Equal(got, counts) {
		t.Fatalf("event %s: days %v, %v, want %v", name, got, err, counts)
	}
	periods := []store.Period{all, {First: today - 3, Last: today - 1}, {First: 1, Last: 0}}
	for _, d := range days {
		periods = append(periods, store.Period{First: d, Last: d})
	}
	for i, p := range periods {
		got, err := s.Bitmap(name, p)
		if err != nil || !got.Equals(want.union(p)) {
			t.Fatalf("event %s, %s: bits %v, %v, want %v", name, p, got, err, want.union(p))
		}
		m.compareMembers(t, s, want.brand, got)
		for j, id := range ids {
			if (i+j)%4 > 0 { // a quarter of them in each period
				continue
			}
			got, err := s.Has(name, id, p)
			want, wantErr := m.has(name, id, p)
			if (err == nil && got != want) || !sameError(err, wantErr) {
				t.Fatalf("has %s %s %s: %+v, %v, want %+v, %v", name, id, p, got, err, want, wantErr)
			}
		}
	}
}

func (m *model) compareMembers(t tb, s *store.Snapshot, b placement.Brand, set *roaring.Bitmap) {
	t.Helper()
	var got []string
	for id, err := range s.Members(b, set) {
		if m.drop {
			if err == nil {
				t.Fatalf("members of a store without strings: %q", id)
			}
			return
		}
		if err != nil {
			t.Fatalf("members: %v", err)
		}
		got = append(got, id)
	}
	if m.drop {
		t.Fatalf("members of a store without strings: no error")
	}
	if want := m.members(b, set); !slices.Equal(got, want) {
		t.Fatalf("members %q, want %q", got, want)
	}
}

func (m *model) compareBrands(t tb, s *store.Snapshot) {
	t.Helper()
	got, err := s.Brands()
	if err != nil {
		t.Fatalf("brands: %v", err)
	}
	var want []store.BrandStats
	for b, ids := range m.known {
		seen := roaring.New()
		seen.AddMany(slices.Collect(maps.Keys(ids)))
		want = append(want, store.BrandStats{Brand: b, IDs: uint64(len(ids.ids())), Placements: uint64(len(ids))})
		if got := seenOf(t, s, b); !got.Equals(seen) {
			t.Fatalf("seen of brand %q: %v, want %v", b, got, seen)
		}
	}
	slices.SortFunc(want, func(x, y store.BrandStats) int { return bytes.Compare(x.Brand[:], y.Brand[:]) })
	if !slices.Equal(got, want) {
		t.Fatalf("brands %+v, want %+v", got, want)
	}
}

func seenOf(t tb, s *store.Snapshot, b placement.Brand) *roaring.Bitmap {
	t.Helper()
	numbers, err := s.SeenChunkNumbers(b)
	if err != nil {
		t.Fatalf("seen: %v", err)
	}
	seen := roaring.New()
	for _, n := range numbers {
		part, err := s.SeenChunk(b, n)
		if err != nil {
			t.Fatalf("seen: %v", err)
		}
		seen.Or(part)
	}
	return seen
}

// sentinels are the errors that a caller can tell apart.
var sentinels = []error{
	store.ErrInvalidEvent, placement.ErrInvalidID, store.ErrInvalidDay, store.ErrFutureDay, store.ErrOtherBrand,
	store.ErrNoEvent, store.ErrReadOnly, store.ErrClosed, store.ErrCorrupt, context.Canceled,
}

// sameError reports whether both errors say the same of the same.
func sameError(a, b error) bool {
	if (a == nil) != (b == nil) {
		return false
	}
	var x, y *store.BrandError
	if errors.As(a, &x) && errors.As(b, &y) {
		return *x == *y
	}
	for _, s := range sentinels {
		if errors.Is(a, s) != errors.Is(b, s) {
			return false
		}
	}
	return true
}

// rebuild makes a store that holds the model's facts, which come to it in
// another order and in other ways.
func (m *model) rebuild(t tb, path string, rng *rand.Rand) *store.DB {
	t.Helper()
	opts := options(m.kind)
	opts.DropStrings = m.drop
	db := mustOpen(t, path, opts)
	ctx := context.Background()
	for b, ids := range m.known {
		// Known without a mark: marked on an event that is deleted again.
		scratch := "scratch " + b.String()
		addAny(t, db, rng, marksOf(scratch, 0, ids.ids()))
		if err := db.DeleteEvent(ctx, scratch); err != nil {
			t.Fatalf("%v", err)
		}
	}
	var rows []store.Mark
	for name, e := range m.events {
		for day, set := range e.days {
			for p := range set {
				for _, id := range m.known[e.brand][p] {
					rows = append(rows, store.Mark{Event: name, ID: id, Day: day})
				}
			}
		}
		if len(e.days) == 0 { // bound, with nothing left
			addAny(t, db, rng, marksOf(name, 0, m.known[e.brand].ids()[:1]))
			if err := db.DeleteDay(ctx, name, 0); err != nil {
				t.Fatalf("%v", err)
			}
		}
	}
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for len(rows) > 0 {
		n := 1 + rng.IntN(len(rows))
		addAny(t, db, rng, rows[:n])
		rows = rows[n:]
	}
	return db
}

func marksOf(event string, day store.Day, ids []string) []store.Mark {
	rows := make([]store.Mark, len(ids))
	for i, id := range ids {
		rows[i] = store.Mark{Event: event, ID: id, Day: day}
	}
	return rows
}

// addAny marks the rows in one of the three ways.
func addAny(t tb, db *store.DB, rng *rand.Rand, rows []store.Mark) {
	t.Helper()
	ctx := context.Background()
	var err error
	switch rng.IntN(3) {
	case 0:
		_, err = db.MarkMany(ctx, slices.Values(rows))
	case 1:
		_, err = loadRows(db, rows, 1+rng.IntN(2*len(rows)))
	default:
		for _, r := range rows {
			if _, err = db.Mark(ctx, r.Event, r.ID, r.Day); err != nil {
				break
			}
		}
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// loadRows loads rows in batches; a refused row is an error.
func loadRows(db *store.DB, rows []store.Mark, batch int) (store.Tally, error) {
	l, err := db.Load(context.Background())
	if err != nil {
		return store.Tally{}, err
	}
	l.SetBatch(batch)
	var errs []error
	for _, r := range rows {
		if err := l.Add(r.Event, r.ID, r.Day); err != nil {
			errs = append(errs, err)
		}
	}
	tally, err := l.Close()
	return tally, errors.Join(append(errs, err)...)
}

// idsOf are ids of the kind, among them pairs that share a placement.
func idsOf(t testing.TB, kind placement.Kind) (ids []string) {
	t.Helper()
	switch kind {
	case placement.Branded:
		for _, pair := range collidingPairs(t)[:6] {
			ids = append(ids, pair[0], pair[1])
		}
		for i := range uint64(8) {
			ids = append(ids, branded("USR", i*i*104729+i), branded("PLR", i*i*104729+i))
		}
		// The same snowflakes as some above, of another brand.
		for _, id := range ids[:4] {
			ids = append(ids, "PLR"+id[3:])
		}
	case placement.String:
		ids = []string{
			"visitor-140199", "visitor-147363", "visitor-207651", "visitor-229989", // share a placement by twos
			"visitor-17346", "visitor-314868", "visitor-64447", "visitor-360866",
			"a", "A", "hello", "žluťoučký kůň", "0f8fad5b-d9cb-469f-a165-70867728950e", strings.Repeat("x", 255), " ", "0", "00",
		}
	default:
		for _, n := range []uint32{0, 1, 2, 3, 9, 1<<19 - 1, 1 << 19, 1 << 22, 1 << 31, 1<<32 - 2, 1<<32 - 1} {
			ids = append(ids, fmt.Sprint(n))
		}
	}
	return ids
}

func branded(brand string, snowflake uint64) string {
	return placement.BrandedID{Brand: placement.Brand([]byte(brand)), Snowflake: snowflake}.String()
}

// collidingPairs are pairs of ids of brand USR that share a placement.
func collidingPairs(t testing.TB) (pairs [][2]string) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "placement", "testdata", "collisions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) == 3 && !strings.HasPrefix(fields[0], "#") {
			pairs = append(pairs, [2]string{fields[0], fields[1]})
		}
	}
	if err := lines.Err(); err != nil || len(pairs) == 0 {
		t.Fatalf("%d pairs, %v", len(pairs), err)
	}
	return pairs
}

// badIDs are refused by the kind.
func badIDs(kind placement.Kind) []string {
	switch kind {
	case placement.Branded:
		return []string{"", "usr0KHTOWnGLuC", "USR0KHTOWnGLu", "USRzzzzzzzzzzz"}
	case placement.String:
		return []string{"", "a\tb", "\xff", strings.Repeat("x", 256)}
	}
	return []string{"", "01", "-1", "4294967296", "1 "}
}
