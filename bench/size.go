package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"cohort/placement"
	"cohort/store"

	bolt "go.etcd.io/bbolt"
)

var sizeSection = section{
	name:  "size",
	title: "bytes per id of a hashed day, and of the registry",
	about: "A store of one day, closed; the pages of the day's own bucket and of the registry's, branch and leaf with all their slack, as bbolt's Stats counts them, over the number of ids. " +
		"The file adds what bbolt needs for itself, and the pages it has free. " +
		"Loaded is one bulk load; marked is 1,000 marks a commit, folded as the defaults say.",
	run: runSize,
}

// sizes are the bytes of a store's parts.
type sizes struct{ day, registry, journal, file int64 }

func runSize(ctx context.Context, b *bench, r *result) error {
	t := r.table("ids", "how", "day, bytes/id", "registry, bytes/id", "journal, bytes", "file, bytes/id")
	full := append([]int{b.ids}, b.daySizes...)
	slices.Sort(full)
	for _, n := range full {
		s, err := b.measureSize(ctx, n, loadDay)
		if err != nil {
			return err
		}
		t.row(n, "loaded", perID(s.day, n), perID(s.registry, n), s.journal, perID(s.file, n))
		b.logf("%d ids: %.2f bytes an id", n, perID(s.day, n))
		if n != b.ids {
			continue
		}
		r.atMost("bytes per id of a day", perID(s.day, n), 2.7, "")
		if s, err = b.measureSize(ctx, n, markDay); err != nil {
			return err
		}
		t.row(n, "marked", perID(s.day, n), perID(s.registry, n), s.journal, perID(s.file, n))
	}
	return nil
}

func perID(bytes int64, n int) float64 { return float64(bytes) / float64(n) }

// fillDay puts ids into a day in some way.
type fillDay func(ctx context.Context, db *store.DB, event string, day store.Day, ids []string) error

// markDay marks in calls of 1,000.
func markDay(ctx context.Context, db *store.DB, event string, day store.Day, ids []string) error {
	for part := range slices.Chunk(ids, commitMarks) {
		if _, err := db.MarkMany(ctx, marksOf(event, day, part)); err != nil {
			return err
		}
	}
	return nil
}

// measureSize makes a store of one day of n ids, checks it, and measures it.
func (b *bench) measureSize(ctx context.Context, n int, fill fillDay) (s sizes, err error) {
	path := b.path("size.db")
	ids := brandedIDs(b.seed).ids(0, n)
	db, err := store.Open(path, &store.Options{Create: store.CreateOnly})
	if err != nil {
		return s, err
	}
	if err := errors.Join(fill(ctx, db, markedEvent, markedDay, ids), db.Close()); err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	at, err := placements(placement.Branded, ids)
	if err != nil {
		return s, err
	}
	if err := checkImported(ctx, path, imported{counts: map[eventDay]int{{markedEvent, markedDay}: distinct(at)}}); err != nil {
		return s, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	s, err = readSizes(path, 1)
	s.file = info.Size()
	return s, err
}

// readSizes measures the parts of a closed store of so many days and one brand, by
// bbolt alone.
func readSizes(path string, days int) (s sizes, err error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *bolt.Tx) error {
		for _, part := range []struct {
			name string
			n    int // buckets in it: days, brands
			to   *int64
		}{{"days", days, &s.day}, {"registry", 1, &s.registry}, {"ordinals", 1, &s.registry}} {
			top := tx.Bucket([]byte(part.name))
			if top == nil && part.name == "ordinals" {
				continue // the store is not dense
			}
			if top == nil {
				return fmt.Errorf("the file has no bucket %q", part.name)
			}
			n := 0
			err := top.ForEachBucket(func(k []byte) error {
				st := top.Bucket(k).Stats()
				*part.to += int64(st.LeafAlloc + st.BranchAlloc)
				n++
				return nil
			})
			if err != nil {
				return err
			}
			if err := checkf(n, part.n, "buckets in %s", part.name); err != nil {
				return err
			}
		}
		journal := tx.Bucket([]byte("journal"))
		if journal == nil {
			return errors.New("the file has no journal")
		}
		return journal.ForEach(func(k, v []byte) error {
			s.journal += int64(len(k) + len(v))
			return nil
		})
	})
	return s, err
}
