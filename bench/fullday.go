package main

import (
	"context"
	"errors"
	"iter"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// The event and day that the writing sections mark.
const markedEvent = "active"

var markedDay = store.Date(2026, 1, 30)

// fullDay is a store with one day of b.ids ids, and the same day for the
// baseline, from which each round starts with a copy.
type fullDay struct {
	b     *bench
	kind  placement.Kind
	of    idOf
	base  []uint32 // placements of the day's ids
	store string   // path of the store
	plain string   // path of the baseline's file; "" without one
}

// newFullDay makes the stores. Ids 0 to b.ids−1 are the day's; later ones are
// new to it.
func newFullDay(ctx context.Context, b *bench, kind placement.Kind, of idOf) (*fullDay, error) {
	d := &fullDay{b: b, kind: kind, of: of, store: b.path("full-" + kind.String() + ".db")}
	ids := of.ids(0, b.ids)
	var err error
	if d.base, err = placements(kind, ids); err != nil {
		return nil, err
	}
	db, err := store.Open(d.store, &store.Options{IDs: kind, Create: store.CreateOnly})
	if err != nil {
		return nil, err
	}
	return d, errors.Join(loadDay(ctx, db, markedEvent, markedDay, ids), db.Close())
}

// withBaseline makes the baseline's file, too.
func (d *fullDay) withBaseline() error {
	d.plain = d.b.path("baseline.db")
	r, err := openRewriter(d.plain)
	if err != nil {
		return err
	}
	return errors.Join(r.fill(d.base), r.close())
}

// fresh returns n ids that are new to the day, and how many bits they set.
func (d *fullDay) fresh(n int) (ids []string, bits int, err error) {
	ids = d.of.ids(d.b.ids, n)
	at, err := placements(d.kind, ids)
	if err != nil {
		return nil, 0, err
	}
	return ids, distinct(d.base, at) - distinct(d.base), nil
}

// open opens a fresh copy of the store, with the default options but for the
// fold by age: a section that marks less than FoldMarks folds when it says so.
// A cold copy has no page in the page cache.
func (d *fullDay) open(cold bool) (*store.DB, error) {
	path := d.b.path("round.db")
	if err := copyFile(path, d.store); err != nil {
		return nil, err
	}
	if cold {
		if err := evict(path); err != nil {
			return nil, err
		}
	}
	return store.Open(path, &store.Options{Create: store.CreateNever, FoldAge: -1})
}

// openBaseline opens a fresh copy of the baseline's file.
func (d *fullDay) openBaseline() (*rewriter, error) {
	path := d.b.path("round-baseline.db")
	if err := copyFile(path, d.plain); err != nil {
		return nil, err
	}
	return openRewriter(path)
}

// checkCount compares the marked day's count with the day's ids and more bits.
func (d *fullDay) checkCount(ctx context.Context, db *store.DB, more int) error {
	n, err := query.Count(ctx, db, markedEvent, query.Day(markedDay))
	if err != nil {
		return err
	}
	return checkf(int(n), distinct(d.base)+more, "count of the day")
}

// loadDay loads ids on one day, past the journal.
func loadDay(ctx context.Context, db *store.DB, event string, day store.Day, ids []string) error {
	l, err := db.Load(ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := l.Add(event, id, day); err != nil {
			_, closeErr := l.Close()
			return errors.Join(err, closeErr)
		}
	}
	_, err = l.Close()
	return err
}

// marksOf yields marks of ids on one day.
func marksOf(event string, day store.Day, ids []string) iter.Seq[store.Mark] {
	return func(yield func(store.Mark) bool) {
		for _, id := range ids {
			if !yield(store.Mark{Event: event, ID: id, Day: day}) {
				return
			}
		}
	}
}
