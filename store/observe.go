package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"cohort/placement"
)

// Visit is one fact: the id visited the page on the day.
type Visit struct {
	Page string
	ID   string
	Day  Day
}

// Observe records that the id visited the page on the day, and returns when that
// is on disk. It is for what is visited by too many ids, or of which there is too
// much, to keep a bitmap of: a sketch of the page and day says about how many
// were there, and forgets who. Brands are counted apart: ids of two brands make
// two pages of one name. The id is not registered.
//
// The result is New where the visit changed a sketch, and Already where it did
// not: the sketch cannot tell whether it was this id that it has seen, and the
// fuller it is the more often it says so. Repeating a visit changes nothing.
//
// Errors: ErrInvalidEvent for the page's name, which is 1 to 255 bytes of UTF-8
// without control characters, placement.ErrInvalidID, ErrInvalidDay, ErrFutureDay
// for a day later than tomorrow, as of Mark, ErrReadOnly, or why the commit failed. Where ctx
// has ended, nothing is recorded and its error is returned.
//
// Cost: that of Mark. Concurrent callers, of Mark too, share a commit; a visit
// that changes nothing returns without writing.
func (db *DB) Observe(ctx context.Context, page, id string, day Day) (Result, error) {
	if err := db.enter(); err != nil {
		return 0, err
	}
	defer db.leave()
	f, err := db.fact(opVisit, page, id, day)
	if err != nil {
		return 0, err
	}
	if db.cfg.ReadOnly {
		return 0, fmt.Errorf("%s: %w", db.cfg.Path, ErrReadOnly)
	}
	if held, err := db.visited(&f); held || err != nil {
		return Already, err
	}
	return db.commitOne(ctx, f)
}

// visited reports whether a visit is on disk that changes as much as this one. It
// fills in what is folded of it.
func (db *DB) visited(f *fact) (held bool, err error) {
	err = db.look("observe", func(r *reader) (err error) {
		held, err = r.lookVisit(f)
		return err
	})
	v := db.view.Load()
	if err != nil || f.folded.chunks != v.chunks {
		return false, err
	}
	return held || v.visited(f.visitKey(), f.hash()), nil
}

// lookVisit reports whether a visit would change nothing in a sketch that is
// folded. It fills in when that was so, and where the page is: nothing where it has
// no number.
func (r *reader) lookVisit(f *fact) (held bool, err error) {
	page, err := r.pageNumber(f.event, f.brand)
	if page == 0 || err != nil {
		return false, err
	}
	f.folded.chunks, f.folded.key = r.view.chunks, makeDayKey(page, f.day)
	return r.visitHeld(f.visitKey(), f.hash())
}

// visitKey is the key of a visit whose page has a number.
func (f *fact) visitKey() visitKey { return makeVisitKey(f.day, f.folded.key.event()) }

// hash is what a visit is to its sketch.
func (f *fact) hash() uint64 { return f.mixed.Hash() }

// applyVisit carries out a visit of a page that has a number. It needs no
// transaction.
func (w *writer) applyVisit(f *fact, rec *records) Result {
	if !w.draft.addVisit(f.visitKey(), f.brand, f.hash()) {
		return Already
	}
	rec.add(w.set, opVisit, f.folded.key, f.brand, idEntry{mixed: placement.Mixed(f.hash())})
	return New
}

// observe carries a visit out in the transaction.
func (w *writer) observe(f *fact, rec *records) (Result, error) {
	if f.folded.chunks != w.view.chunks {
		if held, err := w.lookVisit(f); held || err != nil {
			return Already, err
		}
	}
	if f.folded.chunks != w.view.chunks { // a new page
		page, err := w.bindPage(f.event, f.brand)
		if err != nil {
			return 0, err
		}
		f.folded.key = makeDayKey(page, f.day)
	}
	return w.applyVisit(f, rec), nil
}

// ObserveMany records the visits of a sequence, in order, and returns when they
// are on disk. It commits as it goes, some hundred thousand visits at a time, and
// what is left at the end. The first visit that Observe would refuse ends it with
// an error that tells its index: all visits before that one are recorded, none
// after. When ctx ends it returns at the next commit. The tally counts what is on
// disk: New the visits that changed a sketch, Already the others.
//
// The sequence runs outside of any transaction, so it may read the store.
func (db *DB) ObserveMany(ctx context.Context, visits iter.Seq[Visit]) (Tally, error) {
	l, err := db.LoadVisits(ctx)
	if err != nil {
		return Tally{}, err
	}
	l.journal = true
	i := 0
	for v := range visits {
		if err := l.Add(v.Page, v.ID, v.Day); err != nil {
			t, closeErr := l.Close()
			switch {
			case closeErr == nil:
				err = fmt.Errorf("visit %d: %w", i, err)
			case errors.Is(err, closeErr): // a commit failed, whatever the visit
			default:
				err = fmt.Errorf("visit %d: %w; %w", i, err, closeErr)
			}
			return t, err
		}
		i++
	}
	return l.Close()
}

// DeleteVisits removes the sketches of the days of a period, of all pages, and
// returns when that is on disk. The pages stay listed. The site's sketches of
// weeks and months are made again from the days that are left.
func (db *DB) DeleteVisits(ctx context.Context, p Period) error {
	if err := db.enter(); err != nil {
		return err
	}
	defer db.leave()
	db.chunkMu.Lock()
	defer db.chunkMu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return db.rewrite("delete visits", func(w *writer) (bool, error) {
		if w.pages() == nil {
			return false, nil
		}
		return true, w.deleteSketches(p.Intersect(Period{MinDay, MaxDay}))
	})
}
