package store_test

import (
	"bufio"
	"fmt"
	"maps"
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

// dense says that these tests make dense stores where they are not about one kind
// or both: all of them run on either kind.
func dense() bool { return os.Getenv("COHORT_POSITIONS") == "dense" }

// options are those of a store of the kind whose clock stands still; with a kind of 0,
// those that a store is opened with as it is.
func options(kind placement.Kind) *store.Options {
	opts := &store.Options{IDs: kind, Now: noon, FoldAge: -1}
	if dense() && kind != 0 && kind != placement.Number {
		opts.Positions = store.Dense
	}
	return opts
}

// decimals is the kind of ids of tests that make them of numbers: numbers, and strings
// in a dense store, for numbers are their own positions.
func decimals() placement.Kind {
	if dense() {
		return placement.String
	}
	return placement.Number
}

// placed is the placement of a decimal id.
func placed[N int | uint32](id N) uint32 {
	_, mixed, err := decimals().Parse(fmt.Sprint(id))
	if err != nil {
		panic(err)
	}
	return mixed.Placement()
}

// inHashed are options of a hashed store.
func inHashed(opts *store.Options) *store.Options {
	opts.Positions = store.Hashed
	return opts
}

// kindOf is hashed and dense in turn, for tests that run rounds.
func kindOf(round int) store.Positions { return store.Hashed + store.Positions(round%2) }

// inDense are options of a dense store.
func inDense(opts *store.Options) *store.Options {
	opts.Positions = store.Dense
	return opts
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
	dense  bool
	drop   bool
	events map[string]*modelEvent
	known  map[placement.Brand]registry
	sets   map[string]modelSet
	first  map[placement.Brand][]placement.Mixed // the ids in order of first sight
}

// options are those of the model's store.
func (m *model) options() *store.Options {
	opts := options(m.kind)
	opts.DropStrings = m.drop
	switch {
	case m.dense:
		opts.Positions = store.Dense
	case m.kind != placement.Number:
		opts.Positions = store.Hashed
	}
	return opts
}

// position returns where the bit of an id stands, and false where it has none.
func (m *model) position(b placement.Brand, mixed placement.Mixed) (uint32, bool) {
	if !m.dense {
		return mixed.Placement(), true
	}
	if _, known := m.known[b][mixed.Placement()][mixed]; !known {
		return 0, false
	}
	for i := len(m.first[b]) - 1; ; i-- { // an erased id that came again has two
		if m.first[b][i] == mixed {
			return uint32(i), true
		}
	}
}

// idsAt returns the known ids whose bit stands at a position, in no order.
func (m *model) idsAt(b placement.Brand, pos uint32) []string {
	if !m.dense {
		return slices.Collect(maps.Values(m.known[b][pos]))
	}
	if uint64(pos) >= uint64(len(m.first[b])) {
		return nil
	}
	mixed := m.first[b][pos]
	if at, known := m.position(b, mixed); !known || at != pos {
		return nil // erased
	}
	return []string{m.known[b][mixed.Placement()][mixed]}
}

// modelSet is a saved set.
type modelSet struct {
	brand placement.Brand
	bits  map[uint32]bool // by position
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
	days  map[store.Day]map[uint32]bool // by position
}

func newModel(kind placement.Kind, dense, drop bool) *model {
	return &model{kind, dense, drop, make(map[string]*modelEvent), make(map[placement.Brand]registry), make(map[string]modelSet), make(map[placement.Brand][]placement.Mixed)}
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

// others reports whether another known id has the id's bit.
func (m *model) others(brand placement.Brand, mixed placement.Mixed) bool {
	if m.dense {
		return false
	}
	at := m.known[brand][mixed.Placement()]
	_, self := at[mixed]
	return len(at) > 1 || len(at) == 1 && !self
}

func (m *model) register(brand placement.Brand, mixed placement.Mixed, id string) {
	if m.known[brand] == nil {
		m.known[brand] = make(registry)
	}
	if m.known[brand][mixed.Placement()] == nil {
		m.known[brand][mixed.Placement()] = make(map[placement.Mixed]string)
	}
	if _, known := m.known[brand][mixed.Placement()][mixed]; !known {
		m.first[brand] = append(m.first[brand], mixed)
	}
	m.known[brand][mixed.Placement()][mixed] = id
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
	m.register(brand, mixed, k.ID)
	pos, _ := m.position(brand, mixed)
	if e.days[k.Day] == nil {
		e.days[k.Day] = make(map[uint32]bool)
	}
	set := e.days[k.Day][pos]
	e.days[k.Day][pos] = true
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
	pos, placed := m.position(brand, mixed)
	if e == nil || !placed || !e.days[k.Day][pos] {
		return store.Absent, nil
	}
	if m.others(brand, mixed) {
		return store.Shared, nil
	}
	m.clear(e, k.Day, pos)
	return store.Cleared, nil
}

// erase removes an id, and its bits unless they are shared.
func (m *model) erase(id string) (done store.Erasure, err error) {
	brand, mixed, err := m.kind.Parse(id)
	if err != nil {
		return done, err
	}
	at := mixed.Placement()
	if _, ok := m.known[brand][at][mixed]; !ok {
		return store.Erasure{Result: store.Absent}, nil
	}
	pos, _ := m.position(brand, mixed)
	done.Result = store.Shared
	if !m.others(brand, mixed) {
		done.Result = store.Cleared
		for _, e := range m.events {
			days := done.Days
			for day, set := range e.days {
				if e.brand == brand && set[pos] {
					m.clear(e, day, pos)
					done.Days++
				}
			}
			if done.Days > days {
				done.Events++
			}
		}
		for _, set := range m.sets {
			if set.brand == brand && set.bits[pos] {
				delete(set.bits, pos)
				done.Sets++
			}
		}
	}
	if delete(m.known[brand][at], mixed); len(m.known[brand][at]) == 0 {
		delete(m.known[brand], at)
	}
	if len(m.known[brand]) == 0 {
		delete(m.known, brand)
	}
	return done, nil
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
		for day := range e.days {
			at.Has = at.Has || p.Contains(day) && m.isSet(e, day, mixed)
		}
	}
	return at, nil
}

func (m *model) isSet(e *modelEvent, day store.Day, mixed placement.Mixed) bool {
	pos, placed := m.position(e.brand, mixed)
	return placed && e.days[day][pos]
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
	for _, p := range m.placements(b, set).ToArray() {
		var at []string
		for mixed, id := range m.known[b][p] {
			if pos, _ := m.position(b, mixed); set.Contains(pos) {
				at = append(at, id)
			}
		}
		slices.Sort(at)
		ids = append(ids, at...)
	}
	return ids
}

// placements returns the placements of positions.
func (m *model) placements(b placement.Brand, positions *roaring.Bitmap) *roaring.Bitmap {
	if !m.dense {
		return positions
	}
	set := roaring.New()
	for _, pos := range positions.ToArray() {
		set.Add(m.first[b][pos].Placement())
	}
	return set
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
