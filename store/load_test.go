package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"
)

// TestLoadIsMarking loads rows of several brands, with ids erased and facts marked
// between its batches, and makes the same of another store row by row: tallies, digests
// and, in a dense store, positions are the same.
func TestLoadIsMarking(t *testing.T) {
	for seed := range uint64(long(4, 60)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { loadIsMarking(t, seed, kindOf(int(seed))) })
	}
}

func loadIsMarking(t *testing.T, seed uint64, kind store.Positions) {
	random := rand.New(rand.NewPCG(seed, seed))
	dir := t.TempDir()
	var dbs [2]*store.DB // loaded, and marked
	for i := range dbs {
		opts := options(placement.Branded)
		opts.Positions = kind
		dbs[i] = mustOpen(t, filepath.Join(dir, fmt.Sprint(i)), opts)
		defer mustClose(t, dbs[i])
	}
	brands := []string{"AAA", "USR", "ZZZ"}
	many := 1 + random.IntN(200)
	draw := func() store.Mark {
		brand := brands[random.IntN(len(brands))]
		return store.Mark{
			Event: fmt.Sprint(brand, random.IntN(2)), ID: branded(brand, uint64(1+random.IntN(many))), Day: today - store.Day(random.IntN(5)),
		}
	}
	both := func(fn func(db *store.DB) error) {
		for i, db := range dbs {
			if err := fn(db); err != nil {
				t.Fatalf("store %d: %v", i, err)
			}
		}
	}
	var want store.Tally
	mark := func(m store.Mark) {
		r, err := dbs[1].Mark(ctx, m.Event, m.ID, m.Day)
		if err != nil {
			t.Fatal(err)
		}
		switch r {
		case store.New:
			want.New++
		case store.Already:
			want.Already++
		case store.Shared:
			want.Shared++
		}
	}
	for range 20 {
		m := draw()
		both(func(db *store.DB) error { _, err := db.Mark(ctx, m.Event, m.ID, m.Day); return err })
	}
	both(func(db *store.DB) error { return db.Fold(ctx) })
	l, err := dbs[0].Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 6 {
		rows := 1 + random.IntN(60)
		l.SetBatch(rows)
		before := dbs[0].Commits()
		for range rows {
			m := draw()
			if err := l.Add(m.Event, m.ID, m.Day); err != nil {
				t.Fatal(err)
			}
			mark(m)
		}
		for dbs[0].Commits() == before { // until the batch is written
			time.Sleep(100 * time.Microsecond)
		}
		m := draw()
		switch random.IntN(3) {
		case 0:
			both(func(db *store.DB) error { _, err := db.Erase(ctx, m.ID); return err })
		case 1: // which the next batch finds in the journal
			both(func(db *store.DB) error { _, err := db.Mark(ctx, m.Event, m.ID, m.Day); return err })
		}
	}
	if got, err := l.Close(); err != nil || got != want {
		t.Errorf("loaded: %+v, %v, want %+v", got, err, want)
	}
	for _, brand := range brands {
		for n := range many {
			id := branded(brand, uint64(1+n))
			var at [2]string
			for i, db := range dbs {
				at[i] = positionOf(t, db, id)
			}
			if at[0] != at[1] {
				t.Errorf("%s is at %s, marked at %s", id, at[0], at[1])
			}
		}
	}
	if a, b := digestOf(t, dbs[0]), digestOf(t, dbs[1]); a != b {
		t.Errorf("digest %s, marked %s", a, b)
	}
	for _, db := range dbs {
		v, err := db.Verify(ctx, store.VerifyOptions{Fault: func(f store.Fault) { t.Error(f) }})
		if err != nil || v.Faults > 0 {
			t.Errorf("verified: %+v, %v", v, err)
		}
	}
}

func positionOf(t *testing.T, db *store.DB, id string) string {
	t.Helper()
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	pos, ok, err := s.Position(id)
	return fmt.Sprint(pos, ok, err)
}
