package store_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

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
	m.compareSets(t, s)
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
		pos, placed, err := s.Position(id)
		if at, ok := m.position(brand, mixed); err != nil || placed != ok || (ok && pos != at) {
			t.Errorf("position of %s: got %d, %v, %v, want %d, %v", id, pos, placed, err, at, ok)
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
		if placements := m.placements(want.brand, want.union(p)); err != nil || !got.Equals(placements) {
			t.Fatalf("event %s, %s: bits %v, %v, want %v", name, p, got, err, placements)
		}
		positions := positionsOf(t, s, e, p)
		if !positions.Equals(want.union(p)) {
			t.Fatalf("event %s, %s: positions %v, want %v", name, p, positions, want.union(p))
		}
		m.compareMembers(t, s, want.brand, positions)
		for j, id := range ids {
			if (i+j)%4 > 0 { // a quarter of them in each period
				continue
			}
			got, err := s.Has(name, id, p)
			want, wantErr := m.has(name, id, p)
			if (err == nil && got != want) || !sameError(err, wantErr) {
				t.Fatalf("has %s %s %s: %+v, %v, want %+v, %v", name, id, p, got, err, want, wantErr)
			}
			m.compareActiveDays(t, s, name, id, p)
		}
	}
}

// compareActiveDays compares the days of an id with those on which it has its bit.
func (m *model) compareActiveDays(t tb, s *store.Snapshot, name, id string, p store.Period) {
	t.Helper()
	got, shared, err := s.ActiveDays(name, id, p)
	at, wantErr := m.has(name, id, p)
	var want []store.Day
	if e := m.events[name]; e != nil {
		for d := range e.days {
			if at, _ := m.has(name, id, store.Period{First: d, Last: d}); at.Has && p.Contains(d) {
				want = append(want, d)
			}
		}
		slices.Sort(want)
	}
	if (err == nil && (!slices.Equal(got, want) || shared != at.Shared || at.Has != (len(want) > 0))) || !sameError(err, wantErr) {
		t.Fatalf("days of %s %s %s: %v, %v, %v, want %v, %+v, %v", name, id, p, got, shared, err, want, at, wantErr)
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

// positionsOf puts the chunks of an event together.
func positionsOf(t tb, s *store.Snapshot, e store.Event, p store.Period) *roaring.Bitmap {
	t.Helper()
	numbers, err := s.ChunkNumbers(e, p)
	if err != nil {
		t.Fatalf("chunks: %v", err)
	}
	all := roaring.New()
	for _, n := range numbers {
		part, err := s.Chunk(e, p, n)
		if err != nil {
			t.Fatalf("chunk: %v", err)
		}
		all.Or(part)
	}
	return all
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
		if m.dense {
			seen = roaring.New()
			for pos := range uint32(len(m.first[b])) {
				if len(m.idsAt(b, pos)) > 0 {
					seen.Add(pos)
				}
			}
		}
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
	store.ErrNoEvent, store.ErrInvalidSet, store.ErrNoSet, store.ErrReadOnly, store.ErrClosed, store.ErrCorrupt, context.Canceled,
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
	db := mustOpen(t, path, m.options())
	ctx := context.Background()
	for b, ids := range m.known {
		// Known without a mark: marked on an event that is deleted again.
		if len(ids) == 0 {
			continue
		}
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
				for _, id := range m.idsAt(e.brand, p) {
					rows = append(rows, store.Mark{Event: name, ID: id, Day: day})
				}
			}
		}
		if len(e.days) == 0 { // bound, with nothing left
			m.bind(t, db, name, e.brand)
		}
	}
	m.rebuildSets(t, db)
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	for len(rows) > 0 {
		n := 1 + rng.IntN(len(rows))
		addAny(t, db, rng, rows[:n])
		rows = rows[n:]
	}
	return db
}

// bind makes an event of a brand without days.
func (m *model) bind(t tb, db *store.DB, name string, b placement.Brand) {
	t.Helper()
	id, known := "", m.known[b].ids()
	switch {
	case len(known) > 0:
		id = known[0]
	case m.kind == placement.Branded:
		id = branded(b.String(), 1<<50)
	default:
		id = "77"
	}
	if _, err := db.Mark(ctx, name, id, 0); err != nil {
		t.Fatalf("%v", err)
	}
	if err := db.DeleteDay(ctx, name, 0); err != nil {
		t.Fatalf("%v", err)
	}
	if len(known) == 0 { // no id is known
		if done, err := db.Erase(ctx, id); err != nil || done.Result != store.Cleared {
			t.Fatalf("erase: %+v, %v", done, err)
		}
	}
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
