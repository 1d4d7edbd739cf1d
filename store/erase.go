package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// Erasure says what Erase did, in figures.
type Erasure struct {
	// Result is Cleared where no bit is left of the id; Shared where another known
	// id has the same bit, whose marks they are now; Absent where the id was
	// not known, and nothing was done.
	Result Result
	Events int // events on a day of which its bit was cleared
	Days   int // days of these events
	Sets   int // saved sets of which its bit was cleared
	Fields int // fields of which its value was taken away
}

// Erase removes an id from every day of every event, every saved set, every field and
// the registry, and all it did from the journal, and returns when that is on disk: all of
// it in one transaction. Then the id is not known, and no page in use has it. What is
// free, pages of the file and the files of a journal beside it that were removed,
// keeps the bytes that it had until it is used again. Sketches cannot forget one id: its
// visits stay counted, and [Snapshot.VisitsHolding] names those that may hold it.
//
// A bit that another known id shares is not cleared: it may be a mark of that one.
// The registry forgets the id all the same, and the result is Shared. An event that
// loses its last day stays listed and bound to its brand.
//
// Snapshots taken before still have the id. A mark of it that is acknowledged later
// is a mark of an id never seen: rows of it that a Loader has taken and not yet
// committed are such marks.
//
// Errors: placement.ErrInvalidID, ErrReadOnly, ctx's before the transaction, or why
// it failed. Cost: the journal is folded, and a binary search made in one chunk of
// every stored day of the brand's events, while marks go on; then a transaction that
// folds what came since and writes the chunks that have the id.
func (db *DB) Erase(ctx context.Context, id string) (Erasure, error) {
	brand, mixed, err := db.set.ids.Parse(id)
	if err != nil {
		return Erasure{}, err
	}
	if err := db.enter(); err != nil {
		return Erasure{}, err
	}
	defer db.leave()
	if db.cfg.ReadOnly {
		return Erasure{}, fmt.Errorf("erase: %s: %w", db.cfg.Path, ErrReadOnly)
	}
	if err := db.foldAll(ctx); err != nil {
		return Erasure{}, err
	}
	db.chunkMu.Lock() // chunks stay what they are between the search and the transaction
	defer db.chunkMu.Unlock()
	var days []dayKey
	err = db.read("erase", func(r *reader) error {
		at, err := r.known(brand, mixed)
		if err == nil && at.placed {
			days, err = r.foldedDaysOf(ctx, brand, at.pos)
		}
		return err
	})
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return Erasure{}, err
	}
	e := eraser{brand: brand, mixed: mixed}
	db.erasures++
	err = db.rewrite("erase", func(w *writer) (bool, error) {
		e.writer = w
		known, err := e.run(days)
		if err == nil && known {
			err = e.clearJournal(db.logging.Load())
		}
		return known, err
	})
	if err != nil {
		return Erasure{}, err
	}
	return e.done, nil
}

// foldedDaysOf lists the days of a brand's events in whose chunks a bit is set.
func (r *reader) foldedDaysOf(ctx context.Context, b placement.Brand, pos uint32) (days []dayKey, err error) {
	ours, err := r.eventsOf(b)
	if err != nil {
		return nil, err
	}
	c := r.totals().Cursor()
	for kb, v := c.First(); kb != nil; kb, v = c.Next() {
		k, ok := parseDayKey(kb)
		if !ok {
			return nil, corruptf("totals: a key of %d bytes", len(kb))
		}
		if _, err := openTotal(k, v); err != nil {
			return nil, err
		}
		if !ours[k.event()] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		set, err := r.foldedBit(k, pos)
		if err != nil {
			return nil, err
		}
		if set {
			days = append(days, k)
		}
	}
	return days, nil
}

// eventsOf returns the numbers of a brand's events.
func (r *reader) eventsOf(b placement.Brand) (map[uint32]bool, error) {
	numbers := make(map[uint32]bool)
	c := r.events().Cursor()
	for name, v := c.First(); name != nil; name, v = c.Next() {
		e, err := unsealEvent(name, v)
		if err != nil {
			return nil, err
		}
		if e.brand == b {
			numbers[e.number] = true
		}
	}
	return numbers, nil
}

// eraser erases one id in a transaction.
type eraser struct {
	*writer
	brand  placement.Brand
	mixed  placement.Mixed
	pos    uint32
	shared bool // another known id has the bit
	done   Erasure
}

// run erases the id, given the days in whose chunks its bit is set, of those that
// were folded before. It reports whether the id was known.
func (e *eraser) run(days []dayKey) (known bool, err error) {
	at, err := e.known(e.brand, e.mixed)
	e.pos, e.shared = at.pos, e.set.shares(at)
	switch {
	case err != nil:
		return false, err
	case !at.self:
		e.done.Result = Absent
		return false, nil
	case e.shared:
		e.done.Result = Shared
	default:
		e.done.Result = Cleared
	}
	days = append(days, e.unfoldedDays()...)
	if err := e.foldRest(); err != nil {
		return true, err
	}
	if !e.shared {
		if err := e.fromDays(days); err != nil {
			return true, err
		}
		if err := e.fromSets(); err != nil {
			return true, err
		}
	}
	if err := e.fromFields(); err != nil {
		return true, err
	}
	return true, e.fromRegistry()
}

// unfoldedDays lists the days of which the journal has an operation on the bit.
func (e *eraser) unfoldedDays() (days []dayKey) {
	e.view.days.Scan(func(k dayKey, _ *dayOps) bool {
		if _, ok := e.view.opsOf(k, e.pos>>e.set.chunkBits()).get(e.pos, nil); ok {
			days = append(days, k)
		}
		return true
	})
	return days
}

// fromDays clears the bit on those of some days that are the brand's.
func (e *eraser) fromDays(days []dayKey) error {
	ours, err := e.eventsOf(e.brand)
	if err != nil {
		return err
	}
	for event := range ours { // also those that lost the bit since they were taken in
		if err := e.eraseFirst(event, e.pos); err != nil {
			return err
		}
	}
	events := make(map[uint32]bool)
	slices.Sort(days)
	for _, k := range slices.Compact(days) {
		if !ours[k.event()] {
			continue
		}
		cleared, err := e.fromDay(k)
		if err != nil {
			return fmt.Errorf("day %s: %w", k.day(), err)
		}
		if cleared {
			events[k.event()] = true
			e.done.Days++
		}
	}
	e.done.Events = len(events)
	return nil
}

// fromDay clears the bit on a day, where it is set.
func (e *eraser) fromDay(k dayKey) (cleared bool, err error) {
	if set, err := e.foldedBit(k, e.pos); !set || err != nil {
		return false, err
	}
	bucket, err := e.createDay(k)
	if err != nil {
		return false, err
	}
	c, err := e.newChunkChange(bucket, k, e.pos>>e.set.chunkBits(), nil)
	if err != nil {
		return false, err
	}
	c.remove = []uint32{e.pos}
	if err := e.mergeChunk(c); err != nil {
		return false, err
	}
	var total dayTotal
	if err := e.putChunk(bucket, c, &total); err != nil {
		return false, err
	}
	return true, e.addTotal(k, total)
}

// fromSets clears the bit in the saved sets of the brand.
func (e *eraser) fromSets() error {
	sets, err := e.savedSets()
	if err != nil {
		return err
	}
	number := e.pos >> e.set.chunkBits()
	for _, set := range sets {
		if set.Brand != e.brand {
			continue
		}
		b, err := e.setChunk(set, number)
		if err != nil {
			return fmt.Errorf("set %s: %w", set.Name, err)
		}
		if !b.Contains(e.pos) {
			continue
		}
		if err := e.fromSet(set, number, b); err != nil {
			return fmt.Errorf("set %s: %w", set.Name, err)
		}
		e.done.Sets++
	}
	return nil
}

// fromSet clears the bit in a chunk of a saved set that has it.
func (e *eraser) fromSet(set SavedSet, number uint32, b *roaring.Bitmap) error {
	bucket, err := e.setBucket(set)
	if err != nil {
		return err
	}
	set.Bytes -= uint64(len(bucket.Get(chunkKey(number))))
	set.Count -= b.GetCardinality()
	b.Remove(e.pos)
	if err := bucket.Delete(chunkKey(number)); err != nil {
		return err
	}
	if err := e.putSetChunk(&set, number, b); err != nil {
		return err
	}
	if set.Count == 0 {
		if err := e.setChunks().DeleteBucket([]byte(set.Name)); err != nil {
			return err
		}
	}
	return e.putSetRecord(set)
}

// fromRegistry writes the id's registry chunk without it. All of it is folded.
func (e *eraser) fromRegistry() error {
	number := e.mixed.Placement() >> e.set.registryBits()
	old, err := e.idsIn(e.brand, number)
	if err != nil {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(old), func(id idEntry) bool { return id.mixed == e.mixed })
	if err := e.putRegistryChunk(e.brand, number, left); err != nil {
		return err
	}
	if e.set.dense() {
		if err := e.eraseOrdinal(e.brand, e.pos); err != nil {
			return err
		}
	}
	before := pair{uint64(len(old)), placementsOf(old)}
	return e.countIDs(e.brand, pair{uint64(len(left)), placementsOf(left)}.less(before), 0)
}

// clearJournal removes all records: what they say is in the chunks.
func (e *eraser) clearJournal(logging bool) error {
	if err := e.endJournal(logging); err != nil {
		return err
	}
	for {
		n, err := e.trimRecords(e.draft.seq)
		if err != nil {
			return err
		}
		if n < trimSome {
			return e.trimFolded(e.draft.seq)
		}
	}
}

// placementsOf counts the placements of ids, ascending.
func placementsOf(ids []idEntry) (n uint64) {
	for i, id := range ids {
		if i == 0 || ids[i-1].mixed.Placement() != id.mixed.Placement() {
			n++
		}
	}
	return n
}

// fromFields takes the values of the id away. Those at a placement that another known
// id shares go too: nobody could read them while there were two, and they may be this
// id's.
func (e *eraser) fromFields() error {
	fields, err := e.allFields()
	if err != nil {
		return err
	}
	for _, f := range fields {
		if f.Brand != e.brand {
			continue
		}
		s, err := e.foldedValue(f, e.pos)
		if err == nil && s.has {
			e.done.Fields++
			if _, err = e.mergeField(&f, e.pos>>e.set.chunkBits(), []fieldOp{{pos: e.pos, base: true}}); err == nil {
				err = e.closeField(f)
			}
		}
		if err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	return nil
}
