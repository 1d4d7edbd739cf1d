package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"cohort/placement"
)

// Folding takes what the journal holds and merges it into chunks, totals and
// registry, chunk by chunk, in transactions of about foldBytes. What a
// transaction wrote leaves the view with it. A day whose last chunk was folded
// gets a fold mark: the journal has nothing more for it up to that sequence
// number, so that after a crash a replay does not undo what bypassed the
// journal since, a load or a deletion. When everything that was there at the
// start is folded, the journal's records up to then go, and the marks with
// them. Marks go on meanwhile; what comes in during a transaction stays in the
// view that it leaves.

// foldBytes is about what one fold transaction writes. At a million ids a day's
// 256 chunks are 2.6 MB, so a day takes three. While one is synced, so are the
// commits of marks: with 4 MB the slowest hundredth took half as long again.
const foldBytes = 1 << 20

// foldLoop is the folder: it folds when the committer asks, and when the oldest
// operation has come of age.
func (db *DB) foldLoop(ctx context.Context) {
	defer db.background.Done()
	var tick <-chan time.Time
	if age := db.opts.FoldAge; age > 0 {
		t := time.NewTicker(max(age/4, time.Millisecond))
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-db.wakeFold:
		case <-tick:
			v := db.view.Load()
			if v.ops == 0 || time.Since(v.oldest) < db.opts.FoldAge {
				continue
			}
		}
		if err := db.foldAll(ctx); err != nil && ctx.Err() == nil {
			db.log.Error("fold", "path", db.cfg.Path, "err", err)
		}
	}
}

// Fold merges the journal into the chunks of its days and the registry, in
// transactions of about a megabyte beside which marks and readers go on, and
// returns when all that was in the journal at the call is folded. A store does
// that by itself (see Options.FoldMarks and FoldAge). When ctx ends it stops
// after a whole transaction.
func (db *DB) Fold(ctx context.Context) error {
	if err := db.enter(); err != nil {
		return err
	}
	defer db.leave()
	if db.cfg.ReadOnly {
		return fmt.Errorf("%s: %w", db.cfg.Path, ErrReadOnly)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return db.foldAll(ctx)
}

// foldAll folds everything that the journal holds when it begins, and makes the log
// ready for the next fold.
func (db *DB) foldAll(ctx context.Context) error {
	db.chunkMu.Lock()
	defer db.chunkMu.Unlock()
	floor, err := db.fold(ctx)
	if err != nil {
		return err
	}
	return db.wipeLog(floor)
}

// fold is foldAll of a journal that may end with it; chunkMu is held. It returns the
// number of the last record folded.
func (db *DB) fold(ctx context.Context) (floor uint64, err error) {
	v, start := db.beginFold(), time.Now()
	if v.records() == 0 {
		return v.floor, nil
	}
	work, p := foldWork(v), db.newPace()
	for len(work) > 0 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		err := db.transact("fold", true, func(w *writer) (bool, error) {
			w.draft.chunks, w.pace = w.draft.txid, p
			n, err := w.foldSome(work)
			work = work[n:]
			return true, err
		})
		if err != nil {
			return 0, err
		}
		p.rest(commitRest)
	}
	if err := db.trimJournal(ctx, v.seq, start); err != nil {
		return 0, err
	}
	p.rest(commitRest)
	return v.seq, nil
}

// beginFold returns the view to fold. What is marked later goes to the other half
// of the log.
func (db *DB) beginFold() *view {
	db.viewMu.Lock()
	defer db.viewMu.Unlock()
	v := db.view.Load()
	if db.journal != nil {
		db.journal.turn(v.floor)
	}
	return v
}

// foldUnit is what is folded at once: a chunk of a day, a chunk of a brand's
// registry, or its ordinals; the visits of a block of pages on a day; or a chunk of a
// field.
type foldUnit struct {
	day    dayKey
	ids    bool // of the brand's registry: a chunk, or with table its ordinals
	table  bool
	visits bool
	fields bool // a chunk of a field, which day names
	brand  placement.Brand
	number uint32
}

// of reports whether it is a chunk of the day.
func (u foldUnit) of(k dayKey) bool { return !u.ids && !u.visits && !u.fields && u.day == k }

// foldWork lists the chunks that a view has operations for, days first, and the
// blocks it has visits of.
func foldWork(v *view) []foldUnit {
	var work []foldUnit
	v.days.Scan(func(k dayKey, d *dayOps) bool {
		for _, c := range d.chunks {
			work = append(work, foldUnit{day: k, number: c.number})
		}
		return true
	})
	v.ids.Scan(func(k uint32, o *brandOps) bool {
		for _, c := range o.chunks {
			work = append(work, foldUnit{ids: true, brand: brandOf(k), number: c.number})
		}
		return true
	})
	v.visits.Scan(func(k visitKey, _ *visitOps) bool {
		u := foldUnit{visits: true, day: foldedSketches(k.day()), number: blockOf(k.page())}
		if n := len(work); n == 0 || work[n-1] != u {
			work = append(work, u)
		}
		return true
	})
	v.fields.Scan(func(k fieldChunk, _ *fieldOps) bool {
		work = append(work, foldUnit{fields: true, day: fieldKey(k.field()), number: k.number()})
		return true
	})
	v.ordinals.Scan(func(k uint32, o *ordinalOps) bool {
		if o.placed.size() > 0 {
			work = append(work, foldUnit{ids: true, table: true, brand: brandOf(k)})
		}
		return true
	})
	return work
}

// foldSome folds units from the front until it has written enough, and returns
// how many.
func (w *writer) foldSome(work []foldUnit) (int, error) {
	written, i := 0, 0
	for i < len(work) && written < foldBytes {
		if work[i].ids {
			size, err := w.foldIDs(work[i])
			if err != nil {
				return 0, err
			}
			written += size
			i++
			continue
		}
		fold := w.foldDay
		if work[i].visits {
			fold = w.foldVisits
		} else if work[i].fields {
			fold = w.foldField
		}
		n, size, err := fold(work[i:], foldBytes-written)
		if err != nil {
			return 0, err
		}
		written += size
		i += n
	}
	return i, nil
}

// foldRest folds all that the view has, in the transaction at hand.
func (w *writer) foldRest() error {
	for work := foldWork(w.view); len(work) > 0; {
		n, err := w.foldSome(work)
		if err != nil {
			return err
		}
		work = work[n:]
	}
	return nil
}

// foldIDs folds a chunk of a brand's registry, or its ordinals, and returns the
// bytes written.
func (w *writer) foldIDs(u foldUnit) (int, error) {
	if u.table {
		w.units = append(w.units, foldedUnit{foldUnit: u})
		return w.foldOrdinals(u.brand, nil)
	}
	c, err := w.newIDsChange(u.brand, u.number)
	if err == nil {
		err = w.mergeRegistry(c)
	}
	if err == nil {
		err = w.putIDs(c)
	}
	w.units = append(w.units, foldedUnit{u, c.pendingPlacements})
	w.pace.rest(chunkRest)
	return len(c.value), err
}

// foldDay folds units of the first one's day until limit bytes are written. It
// returns how many it folded and the bytes written.
func (w *writer) foldDay(work []foldUnit, limit int) (n, written int, err error) {
	k := work[0].day
	if _, ok := w.view.days.Get(k); !ok { // deleted meanwhile
		for n < len(work) && work[n].of(k) {
			n++
		}
		return n, 0, nil
	}
	bucket, err := w.createDay(k)
	if err != nil {
		return 0, 0, err
	}
	var total dayTotal
	for n < len(work) && work[n].of(k) && written < limit {
		c, err := w.newChunkChange(bucket, k, work[n].number, nil)
		if err == nil {
			err = w.mergeChunk(c)
		}
		if err == nil {
			err = w.putChunk(bucket, c, &total)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("day %s: %w", k.day(), err)
		}
		w.units = append(w.units, foldedUnit{foldUnit: work[n]})
		w.pace.rest(chunkRest)
		written += len(c.value)
		n++
	}
	if err := w.addTotal(k, total); err != nil {
		return 0, 0, err
	}
	if _, left := w.view.days.Get(k); left {
		return n, written, nil
	}
	return n, written, w.markFolded(k)
}

// trimSome bounds the keys that one transaction of trimJournal deletes.
const trimSome = 4096

// trimJournal notes that the journal's records up to a sequence number are not
// needed any more, deletes those in the file, and the fold marks that only they
// need. What is left came after start.
func (db *DB) trimJournal(ctx context.Context, upTo uint64, start time.Time) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		done := false
		err := db.transact("trim the journal", true, func(w *writer) (bool, error) {
			w.draft.floor = upTo
			err := w.putFloor(upTo)
			var n int
			if err == nil {
				n, err = w.trimRecords(upTo)
			}
			if err == nil && n < trimSome {
				done = true
				w.draft.oldest = start
				err = w.trimFolded(upTo)
			}
			return true, err
		})
		if err != nil || done {
			return err
		}
	}
}

// trimRecords deletes up to trimSome records. The keys are collected first:
// deleting under a cursor makes it skip.
func (w *writer) trimRecords(upTo uint64) (int, error) {
	var keys [][]byte
	c := w.journal().Cursor()
	for k, _ := c.First(); k != nil && len(keys) < trimSome; k, _ = c.Next() {
		if len(k) != 8 {
			return 0, corruptf("journal: a key of %d bytes", len(k))
		}
		if binary.BigEndian.Uint64(k) > upTo {
			break
		}
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys {
		if err := w.journal().Delete(k); err != nil {
			return 0, fmt.Errorf("journal: %w", err)
		}
	}
	return len(keys), nil
}

func (w *writer) trimFolded(upTo uint64) error {
	var keys [][]byte
	c := w.folded().Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		seq, err := unsealFolded(k, v)
		if err != nil {
			return err
		}
		if seq <= upTo {
			keys = append(keys, bytes.Clone(k))
		}
	}
	for _, k := range keys {
		if err := w.folded().Delete(k); err != nil {
			return fmt.Errorf("fold mark: %w", err)
		}
	}
	return nil
}
