package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"cohort/placement"
	"cohort/store"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

func (k *machine) erase(t *rapid.T) {
	id := rapid.SampledFrom(k.ids).Draw(t, "id")
	if rapid.IntRange(0, 15).Draw(t, "refused") == 0 {
		id = rapid.SampledFrom(badIDs(k.kind)).Draw(t, "bad id")
	}
	want, wantErr := k.model.erase(id)
	got, err := k.db.Erase(ctx, id)
	if got != want || !sameError(err, wantErr) {
		t.Fatalf("erase %q: got %+v, %v, want %+v, %v", id, got, err, want, wantErr)
	}
}

// TestEraseLeavesNothing: no page in use has an erased id, its string or its bits,
// whether they were folded or in the journal.
func TestEraseLeavesNothing(t *testing.T) {
	const secret = "secret-4f1c93@example.com"
	_, mixed, err := placement.String.Parse(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, folded := range []bool{true, false} {
		t.Run(fmt.Sprintf("folded=%v", folded), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db")
			db := mustOpen(t, path, options(placement.String))
			for i := range 100 {
				if _, err := db.Mark(ctx, "active", fmt.Sprintf("visitor-%d", i), today); err != nil {
					t.Fatal(err)
				}
			}
			for d := range store.Day(3) {
				if _, err := db.Mark(ctx, "active", secret, today-d); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := db.Unmark(ctx, "active", secret, today); err != nil {
				t.Fatal(err)
			}
			if folded {
				if err := db.Fold(ctx); err != nil {
					t.Fatal(err)
				}
			}
			done, err := db.Erase(ctx, secret)
			if err != nil || done.Result != store.Cleared || done.Days != 2 || done.Events != 1 {
				t.Fatalf("%+v, %v", done, err)
			}
			if again, err := db.Erase(ctx, secret); err != nil || again != (store.Erasure{Result: store.Absent}) {
				t.Errorf("again: %+v, %v", again, err)
			}
			copied := filepath.Join(t.TempDir(), "copy")
			if err := db.CopyFile(copied); err != nil {
				t.Fatal(err)
			}
			mustClose(t, db)
			for half := range 2 {
				if _, err := os.Stat(store.LogPath(copied, half)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a journal stands beside the file: %v", err)
				}
			}
			for _, path := range []string{copied, path} {
				eachValue(t, path, func(where string, value []byte) {
					if bytes.Contains(value, []byte(secret)) || bytes.Contains(value, binary.LittleEndian.AppendUint64(nil, uint64(mixed))) {
						t.Errorf("%s has the id", where)
					}
				})
			}
			db = mustOpen(t, copied, options(placement.String))
			defer mustClose(t, db)
			snap, err := db.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, snap)
			known, _, err := snap.Known(secret)
			at, hasErr := snap.Has("active", secret, store.Period{First: store.MinDay, Last: store.MaxDay})
			if known || at.Has || err != nil || hasErr != nil {
				t.Errorf("known %v, %v, has %+v, %v", known, err, at, hasErr)
			}
		})
	}
}

// eachValue calls fn with every value in a file's pages in use.
func eachValue(t *testing.T, path string, fn func(where string, value []byte)) {
	t.Helper()
	b, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, b)
	var walk func(where string, b *bolt.Bucket)
	walk = func(where string, b *bolt.Bucket) {
		c := b.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			at := fmt.Sprintf("%s/%x", where, k)
			if v == nil {
				walk(at, b.Bucket(k))
				continue
			}
			fn(at, v)
		}
	}
	err = b.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error {
			walk(string(name), b)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEraseWhileMarking erases ids while others mark them, load, fold and read: what
// each call says must fit into one order of all calls, and in the end the store has
// what its last acknowledged calls say.
func TestEraseWhileMarking(t *testing.T) {
	opts := options(placement.Branded)
	opts.FoldMarks = 64
	path := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, path, opts)
	pairs := collidingPairs(t)
	var all sync.WaitGroup
	for w := range 4 {
		rng := rand.New(rand.NewPCG(uint64(w), 1))
		ids := []string{branded("USR", uint64(w)<<32), branded("USR", uint64(w)<<32+1)}
		event := fmt.Sprint("event-", w)
		all.Go(func() {
			set := make(map[string]bool) // bits on the day
			known := make(map[string]bool)
			for range 150 {
				id := ids[rng.IntN(2)]
				switch rng.IntN(4) {
				case 0:
					done, err := db.Erase(ctx, id)
					want := store.Absent
					if known[id] {
						want = store.Cleared
					}
					if err != nil || done.Result != want || (done.Days == 1) != set[id] {
						t.Errorf("erase %s: %+v, %v, want %v of %v", id, done, err, want, set[id])
					}
					known[id], set[id] = false, false
				case 1:
					tally, err := loadRows(db, marksOf(event, today, ids), 2)
					if want := clearOf(set[ids[0]], set[ids[1]]); err != nil || tally.New != want {
						t.Errorf("load: %+v, %v, want %d new", tally, err, want)
					}
					for _, id := range ids {
						known[id], set[id] = true, true
					}
				default:
					r, err := db.Mark(ctx, event, id, today)
					if err != nil || (r == store.New) == set[id] {
						t.Errorf("mark %s: %v, %v, set before: %v", id, r, err, set[id])
					}
					known[id], set[id] = true, true
				}
			}
		})
	}
	all.Go(func() { // two ids of one placement, and a reader
		pair := pairs[0]
		second, first, days := store.Shared, store.Shared, 0 // of the other's mark, of its own erasure
		if dense() {
			second, first, days = store.New, store.Cleared, 1
		}
		for range 100 {
			if _, err := db.Mark(ctx, "shared", pair[0], today); err != nil {
				t.Error(err)
			}
			if r, err := db.Mark(ctx, "shared", pair[1], today); err != nil || r != second {
				t.Errorf("%v, %v", r, err)
			}
			if done, err := db.Erase(ctx, pair[0]); err != nil || done.Result != first || done.Days != days {
				t.Errorf("%+v, %v", done, err)
			}
			if at, err := db.Has("shared", pair[1], today); err != nil || !at.Has || at.Shared {
				t.Errorf("%+v, %v", at, err)
			}
			if done, err := db.Erase(ctx, pair[1]); err != nil || done.Result != store.Cleared || done.Days != 1 {
				t.Errorf("%+v, %v", done, err)
			}
		}
	})
	all.Wait()
	if err := db.Sums(); err != nil {
		t.Error(err)
	}
	before := digestOf(t, db)
	crashed := filepath.Join(t.TempDir(), "crashed")
	if err := db.CopyFile(crashed); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	for _, path := range []string{path, crashed} {
		db := mustOpen(t, path, opts)
		if after := digestOf(t, db); after != before {
			t.Errorf("%s: digest %s, before %s", path, after, before)
		}
		mustClose(t, db)
	}
}

// clearOf counts the bits that are not set.
func clearOf(a, b bool) (n uint64) {
	for _, set := range []bool{a, b} {
		if !set {
			n++
		}
	}
	return n
}

// TestEraseWithinLoad erases an id that a load into a dense store has met: further rows
// of it must be of a new ordinal.
func TestEraseWithinLoad(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), inDense(options(placement.Branded)))
	defer mustClose(t, db)
	l, err := db.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l.SetBatch(3)
	id := branded("USR", 1)
	for n := range 5 {
		for i, of := range []string{id, branded("USR", 2), branded("USR", uint64(n)+10)} {
			if err := l.Add("act", of, today-store.Day(n)); err != nil {
				t.Fatalf("row %d of batch %d: %v", i, n, err)
			}
		}
		if n != 2 {
			continue
		}
		if err := l.Add("act", branded("USR", 3), today); err != nil { // the next batch is begun, and waits for nothing
			t.Fatal(err)
		}
		if _, err := db.Erase(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Close(); err != nil {
		t.Fatal(err)
	}
	snap, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for n := range store.Day(5) {
		at, err := snap.Has("act", id, store.Period{First: today - n, Last: today - n})
		// Whether the third batch was written before is chance.
		if want := n > 2; n != 2 && (at.Has != want || err != nil) {
			t.Errorf("%d days ago: %v, %v, want %t", n, at, err, want)
		}
	}
	v, err := db.Verify(ctx, store.VerifyOptions{Fault: func(f store.Fault) { t.Error(f) }})
	if err != nil || v.Faults > 0 {
		t.Errorf("verified: %+v, %v", v, err)
	}
}
