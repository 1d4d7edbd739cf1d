package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"

	bolt "go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

func (k *machine) verify(t *rapid.T) { verifyModel(t, k.db, k.model) }

// verifyModel verifies a store that is whole, and compares what it has looked at with
// the model.
func verifyModel(t tb, db *store.DB, m *model) {
	t.Helper()
	faults, got := verify(t, db)
	if len(faults) > 0 || got.Events != len(m.events) || got.Sets != len(m.sets) || got.Pages == 0 {
		t.Fatalf("%+v, want %d events, %d sets; faults:\n%s", got, len(m.events), len(m.sets), strings.Join(faults, "\n"))
	}
}

func verify(t tb, db *store.DB) (faults []string, got store.Verified) {
	t.Helper()
	got, err := db.Verify(ctx, store.VerifyOptions{Fault: func(f store.Fault) { faults = append(faults, f.String()) }})
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	if got.Faults != len(faults) {
		t.Fatalf("%d faults reported, %d counted", len(faults), got.Faults)
	}
	return faults, got
}

// TestVerify changes a closed store in ways that Open does not see, one by one and
// all together, and sees that each is reported, with where it is.
func TestVerify(t *testing.T) {
	day := store.DayKey(1, today)
	later := store.DayKey(1, today+1)
	changes := []struct {
		what string
		do   func(tx *bolt.Tx) error
		want string // what the fault begins with
	}{
		{"a bit in a chunk", func(tx *bolt.Tx) error {
			return changeChunk(tx.Bucket([]byte("days")).Bucket(day), 0, func(v []byte) { v[len(v)-1] ^= 1 })
		}, `event "active", ` + today.String() + ", chunk 0: "},
		{"a total", func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("totals")).Put(later, store.SealTotal(later, 7, 100))
		}, `event "active", ` + (today + 1).String() + ": store is damaged: 2 bits in chunks of "},
		{"a total without chunks", func(tx *bolt.Tx) error {
			k := store.DayKey(1, today-7)
			return tx.Bucket([]byte("totals")).Put(k, store.SealTotal(k, 7, 100))
		}, `event "active", ` + (today - 7).String() + ": store is damaged: its chunks are missing"},
		{"chunks without a total", func(tx *bolt.Tx) error {
			_, err := tx.Bucket([]byte("days")).CreateBucket(store.DayKey(1, today-9))
			return err
		}, `event "active", ` + (today - 9).String() + ": store is damaged: chunks without a total"},
		{"days of an event that is gone", func(tx *bolt.Tx) error {
			k := store.DayKey(99, today)
			return tx.Bucket([]byte("totals")).Put(k, store.SealTotal(k, 7, 100))
		}, "event 99, " + today.String() + ": store is damaged: 7 bits of no event"},
		{"a bit of no known id", func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("days")).Bucket(later).Put([]byte{0, 0}, store.SealDay(later, 0, placement.Number, 3, 777))
		}, `event "active", ` + (today + 1).String() + ", chunk 0: store is damaged: 1 bits of no known id, the first at position 777"},
		{"a registry chunk", func(tx *bolt.Tx) error {
			return changeChunk(tx.Bucket([]byte("registry")).Bucket(make([]byte, 3)), 2, func(v []byte) { v[9] ^= 4 })
		}, `registry of brand "", chunk 2: `},
		{"the counts of a brand", func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("brands")).Put(make([]byte, 3), store.SealBrand(make([]byte, 3), 7, 7))
		}, `brand "": store is damaged: `},
		{"a registry without counts", func(tx *bolt.Tx) error {
			_, err := tx.Bucket([]byte("registry")).CreateBucket([]byte("USR"))
			return err
		}, `brand "USR": store is damaged: a registry without counts`},
		{"the record of a set", func(tx *bolt.Tx) error { return tx.Bucket([]byte("sets")).Delete([]byte("lost")) },
			`set "lost": store is damaged: chunks without a record`},
		{"the chunks of a set", func(tx *bolt.Tx) error { return tx.Bucket([]byte("setchunks")).DeleteBucket([]byte("empty")) },
			`set "empty": store is damaged: its chunks are missing`},
		{"a bit in a set", func(tx *bolt.Tx) error {
			return changeChunk(tx.Bucket([]byte("setchunks")).Bucket([]byte("bots")), 0, func(v []byte) { v[len(v)-1] ^= 1 })
		}, `set "bots", chunk 0: `},
		{"a fold mark", func(tx *bolt.Tx) error {
			return tx.Bucket([]byte("folded")).Put(day, store.SealFolded(day, 1<<40))
		}, `event "active", ` + today.String() + ": store is damaged: a fold mark"},
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "whole")
	db := mustOpen(t, path, options(placement.Number))
	for i, id := range []string{"1", "2", "3", "1048576", "1048580"} {
		if _, err := db.Mark(ctx, "active", id, today+store.Day(i%2)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bots", "lost", "empty"} {
		if _, err := db.SaveIDs(ctx, name, noErrors([]string{"1", "2"})); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, db)
	find := func(want []string, do ...func(*bolt.Tx) error) []string {
		t.Helper()
		damaged := filepath.Join(dir, "damaged")
		copyFile(t, path, damaged)
		b, err := bolt.Open(damaged, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range do {
			if err := b.Update(do); err != nil {
				t.Fatal(err)
			}
		}
		mustClose(t, b)
		if err := os.Chmod(damaged, 0o400); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(damaged)
		db := mustOpen(t, damaged, &store.Options{ReadOnly: true})
		defer mustClose(t, db)
		faults, _ := verify(t, db)
		for _, want := range want {
			if !slices.ContainsFunc(faults, func(f string) bool { return strings.HasPrefix(f, want) }) {
				t.Errorf("no fault that begins with %q:\n%s", want, strings.Join(faults, "\n"))
			}
		}
		return faults
	}
	if faults := find(nil); len(faults) > 0 {
		t.Fatalf("faults of a whole store: %q", faults)
	}
	var all []func(*bolt.Tx) error
	var want []string
	for _, c := range changes {
		t.Run(c.what, func(t *testing.T) {
			if faults := find([]string{c.want}, c.do); len(faults) > 2 {
				t.Errorf("%d faults: %q", len(faults), faults)
			}
		})
		if c.what != "a total" { // another change is of the same day
			all, want = append(all, c.do), append(want, c.want)
		}
	}
	want = slices.DeleteFunc(want, func(w string) bool { return strings.Contains(w, "no known id") }) // cannot be told
	find(want, all...)
}

// changeChunk changes a chunk in place, without sealing it anew.
func changeChunk(b *bolt.Bucket, number byte, fn func([]byte)) error {
	v := slices.Clone(b.Get([]byte{0, number}))
	if v == nil {
		return fmt.Errorf("no chunk %d", number)
	}
	fn(v)
	return b.Put([]byte{0, number}, v)
}

// TestVerifyPages damages the pages of several buckets: all of them are named, though
// Open refuses the file at the first.
func TestVerifyPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	damaged(t, path, true, true)
	file := mustRead(t, path)
	offsets, names := structure(file)
	for _, key := range [][]byte{store.DayKey(1, today-45), []byte("bots")} {
		name := fmt.Sprintf("leaf key %q", key)
		for _, at := range offsets {
			if names[at] == name && names[at-1] != name {
				file[at] = 0xff // out of order; in pages that are free too
			}
		}
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(path, options(0)); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("open: %v", err)
	}
	var faults []string
	got, err := store.VerifyPages(path, func(f store.Fault) { faults = append(faults, f.Where) })
	for _, bucket := range []string{"days", "totals", "setchunks"} {
		if !slices.Contains(faults, fmt.Sprintf("bucket %q", bucket)) {
			t.Errorf("%+v, %v, faults %q, not of bucket %q", got, err, faults, bucket)
		}
	}
}

// TestVerifyWhileMarking verifies a store that is written to all the while.
func TestVerifyWhileMarking(t *testing.T) {
	opts := options(placement.Branded)
	opts.FoldMarks = 100
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), opts)
	defer mustClose(t, db)
	stop, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() {
		var err error
		for i := uint64(0); stop.Err() == nil && err == nil; i++ {
			_, err = db.MarkMany(ctx, someMarks("active", 30, i*20))
			if err == nil && i%5 == 0 {
				_, err = db.Erase(ctx, branded("USR", i*20))
			}
			if err == nil && i%11 == 0 {
				err = db.Remember(ctx)
			}
			if err == nil && i%7 == 0 {
				_, err = db.SaveIDs(ctx, "bots", noErrors([]string{branded("USR", i*20+3)}))
			}
		}
		done <- err
	}()
	for until := time.Now().Add(time.Second); time.Now().Before(until); {
		if faults, _ := verify(t, db); len(faults) > 0 {
			t.Fatalf("faults of a whole store: %q", faults)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
