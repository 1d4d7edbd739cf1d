package store_test

import (
	"fmt"
	"testing"
	"time"

	"cohort/store"
)

// TestKeptSnapshot asks again and again between commits: a kept snapshot must never be
// older than the last commit, outlive the start of the next one in the file, nor freeze
// the current day.
func TestKeptSnapshot(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	opts := &store.Options{Now: func() time.Time { return now }}
	for _, after := range []int{0, 1} { // marks in the file, and in a log
		opts.SetLogAfter(after)
		db, err := store.Open(fmt.Sprintf("%s/%d.db", t.TempDir(), after), opts)
		if err != nil {
			t.Fatal(err)
		}
		day := store.Date(2026, 3, 1)
		var all []*store.Snapshot
		for n := range 20 {
			if _, err := db.Mark(ctx, "act", branded("USR", uint64(n)), day); err != nil {
				t.Fatal(err)
			}
			if n%5 == 4 {
				if err := db.Fold(ctx); err != nil {
					t.Fatal(err)
				}
				if open := db.Reading(); open > len(all) {
					t.Errorf("%d marks, folded: %d read transactions are open for %d snapshots", n+1, open, len(all))
				}
			}
			for i := range 3 {
				snap, err := db.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					all = append(all, snap)
				} else if err := snap.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if open := db.Reading(); open > len(all)+1 { // the looker of marks
				t.Errorf("%d marks: %d read transactions are open for %d snapshots", n+1, open, len(all))
			}
		}
		now = now.AddDate(0, 0, 1)
		for n, snap := range all {
			if count, err := snap.DayCount("act", day); err != nil || count != uint64(n+1) {
				t.Errorf("the snapshot after %d marks counts %d, %v", n+1, count, err)
			}
			if snap.Today() != day {
				t.Errorf("today of a snapshot turned to %s", snap.Today())
			}
		}
		snap, err := db.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if snap.Today() != day+1 {
			t.Errorf("today of a new snapshot is %s, want %s", snap.Today(), day+1)
		}
		for _, s := range append(all, snap) {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil { // waits for what reads
			t.Fatal(err)
		}
		now = now.AddDate(0, 0, -1)
	}
}

// TestNoneKeptWhileWriting asks before and within transactions of the file: with a
// snapshot kept meanwhile, one that outgrows the map would wait for ever.
func TestNoneKeptWhileWriting(t *testing.T) {
	db, err := store.Open(t.TempDir()+"/none.db", &store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	asked := 0
	ask := func(kept int) {
		asked++
		snap, err := db.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if err := snap.Close(); err != nil {
			t.Fatal(err)
		}
		if open := db.Reading(); open != kept {
			t.Errorf("%d read transactions are open after a question, want %d", open, kept)
		}
	}
	db.SetCommit(func(commit func() error) error {
		if open := db.Reading(); open != 0 {
			t.Errorf("%d read transactions are open in a commit", open)
		}
		ask(0)
		return commit()
	})
	for n := range 3 {
		ask(1)
		l, err := db.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Add("act", branded("USR", uint64(n)), store.Date(2026, 3, 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if ask(1); asked < 7 {
		t.Errorf("asked %d times", asked)
	}
	db.SetCommit(func(commit func() error) error { return commit() })
}
