package store

import (
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
)

// Snapshot is a view of the store at one commit. What is marked later does not
// show. Its methods may be called from several goroutines, Close last. Close it
// soon: while it is open, the pages that later commits free cannot be used
// again, and the file grows (a 20 MB file grew to 224 MB under 500 commits). It
// remembers where the chunks of the days that were asked about lie: 28 bytes each.
type Snapshot struct {
	*sharedSnapshot
	today  Day
	closed atomic.Bool
}

// begin opens a transaction and the view that goes with it. A commit shows in
// the file a moment before its view is published, when it is not yet certain to
// be on disk; begin waits for that.
func (db *DB) begin() (reader, error) {
	for i := 0; ; i++ {
		if r, ok, err := db.tryBegin(); ok || err != nil {
			return r, err
		}
		if i < 10 {
			runtime.Gosched()
			continue
		}
		if db.writeMu.TryLock() { // nobody is about to publish
			defer db.writeMu.Unlock()
			return db.beginAlone()
		}
		time.Sleep(20 * time.Microsecond)
	}
}

// errHead says that what the file's head tells of is not what the store wrote last.
var errHead = corruptf("the head of the file is not that of the last commit: it was changed while the store was open")

// beginAlone is begin where writeMu is held: file and view are of the same commit.
func (db *DB) beginAlone() (reader, error) {
	r, ok, err := db.tryBegin()
	if !ok && err == nil {
		err = errHead
	}
	return r, err
}

// tryBegin opens a transaction; ok is false where the view is of another commit.
func (db *DB) tryBegin() (r reader, ok bool, err error) {
	if err := db.failure(); err != nil {
		return r, false, err
	}
	tx, err := db.bolt.Begin(false)
	if err != nil {
		return r, false, boltError(err)
	}
	v := db.view.Load()
	if tx.ID() != v.txid {
		_ = tx.Rollback() // a read transaction has nothing to lose
		return r, false, nil
	}
	return reader{set: db.set, verified: db.verified, tx: tx, view: v, precision: db.precision}, true, nil
}

// read runs fn on a reader of its own.
func (db *DB) read(what string, fn func(r *reader) error) error {
	return guard(what, func() error {
		r, err := db.begin()
		if err != nil {
			return err
		}
		defer func() { _ = r.tx.Rollback() }() // a read transaction has nothing to lose
		return fn(&r)
	})
}

// Snapshot opens a view of the store as of the last commit. Cost: a microsecond,
// whatever the store holds, and two where something was committed since the last one.
func (db *DB) Snapshot() (*Snapshot, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer db.leave()
	return db.snapshot()
}

// snapshot is Snapshot within a call that has entered the store.
func (db *DB) snapshot() (*Snapshot, error) {
	s := db.takeKept()
	if s == nil {
		r, err := reader{}, error(nil)
		err = guard("snapshot", func() error {
			r, err = db.begin()
			return err
		})
		if err != nil {
			return nil, err
		}
		r.held = new(held)
		s = &sharedSnapshot{reader: r, db: db, handles: 1}
		db.keep(s)
	}
	return &Snapshot{sharedSnapshot: s, today: db.Today()}, nil
}

// Snapshot returns another handle on the same view. Each handle is closed on
// its own.
func (s *Snapshot) Snapshot() (*Snapshot, error) {
	if s.closed.Load() || !s.share() {
		return nil, fmt.Errorf("snapshot: %w", ErrClosed)
	}
	return &Snapshot{sharedSnapshot: s.sharedSnapshot, today: s.today}, nil
}

// Close releases the handle, and the view with its last handle. Closing a
// handle twice gives ErrClosed.
func (s *Snapshot) Close() error {
	err := ErrClosed
	if !s.closed.Swap(true) {
		err = s.release()
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return nil
}

// do runs a question in the snapshot.
func (s *Snapshot) do(what string, fn func() error) error {
	if s.closed.Load() {
		return fmt.Errorf("%s: snapshot: %w", what, ErrClosed)
	}
	return guard(what, fn)
}

// Config returns what the store was created with, and how it was opened.
func (s *Snapshot) Config() Config { return s.db.cfg }

// Today returns the store's current day at the time the snapshot was taken.
func (s *Snapshot) Today() Day { return s.today }

// ChunkBits returns the width of a chunk: chunk number c holds the positions
// from c<<ChunkBits to (c+1)<<ChunkBits−1.
func (s *Snapshot) ChunkBits() uint { return s.set.chunkBits() }

// DayCount is the cardinality of one day.
type DayCount struct {
	Day   Day
	Count uint64
}

// Days lists the days of the period on which the event has at least one bit,
// ascending, with their exact cardinalities. Cost: one small record a day; no
// bitmap is read.
func (s *Snapshot) Days(e Event, p Period) (days []DayCount, err error) {
	err = s.do("days of event "+e.Name, func() error {
		days, err = s.dayCounts(e.number, p)
		return err
	})
	return days, err
}

// dayCounts merges the folded totals with the days that only the journal has.
func (r *reader) dayCounts(event uint32, p Period) ([]DayCount, error) {
	days, _, err := r.daySizes(event, p)
	return days, err
}

// daySizes is dayCounts, and the bytes that the chunks of these days take in the
// file.
func (r *reader) daySizes(event uint32, p Period) (days []DayCount, bytes uint64, err error) {
	p = p.Intersect(Period{MinDay, MaxDay})
	if p.Empty() {
		return nil, 0, nil
	}
	first, last := makeDayKey(event, p.First), makeDayKey(event, p.Last)
	c := r.totals().Cursor()
	kb, _ := c.Seek(first.bytes())
	if before, v := previous(c, kb); before != nil && !totalHolds(before, v) {
		return nil, 0, corruptf("totals: key %x does not hold", before)
	}
	for kb, v := c.Seek(first.bytes()); kb != nil; kb, v = c.Next() {
		k, ok := parseDayKey(kb)
		if !ok {
			return nil, 0, corruptf("totals: a key of %d bytes", len(kb))
		}
		// The one behind the period too: it may be a day of it whose key is damaged.
		t, err := openTotal(k, v)
		if err != nil {
			return nil, 0, err
		}
		if k > last {
			break
		}
		days = append(days, DayCount{k.day(), t.first})
		bytes += t.second
	}
	merge := false
	r.view.days.Ascend(first, func(k dayKey, d *dayOps) bool {
		if k > last {
			return false
		}
		i, ok := slices.BinarySearchFunc(days, k.day(), func(c DayCount, d Day) int { return int(c.Day) - int(d) })
		if !ok {
			days = slices.Insert(days, i, DayCount{Day: k.day()})
		}
		days[i].Count = uint64(int64(days[i].Count) + d.delta)
		merge = true
		return true
	})
	if merge {
		days = slices.DeleteFunc(days, func(c DayCount) bool { return c.Count == 0 })
	}
	return days, bytes, nil
}

// DayCount returns the exact cardinality of one day of an event, 0 for an event
// never written. Cost: two small records, however much the store holds.
func (s *Snapshot) DayCount(event string, day Day) (count uint64, err error) {
	err = s.do("count of event "+event, func() error {
		e, ok, err := s.event(event)
		if err != nil || !ok {
			return err
		}
		count, err = s.cardinality(makeDayKey(e.number, day))
		return err
	})
	return count, err
}

// storedKeys returns the keys of the period's stored days, ascending.
func (r *reader) storedKeys(event uint32, p Period) ([]dayKey, error) {
	days, err := r.dayCounts(event, p)
	keys := make([]dayKey, len(days))
	for i, d := range days {
		keys[i] = makeDayKey(event, d.Day)
	}
	return keys, err
}

// ChunkNumbers lists, ascending, the chunks in which the event may have bits on
// days of the period: what to ask for the same period chunk by chunk.
func (s *Snapshot) ChunkNumbers(e Event, p Period) (numbers []uint32, err error) {
	err = s.do("chunks of event "+e.Name, func() error {
		t, err := s.timelineOf(e.number)
		if err != nil {
			return err
		}
		numbers, err = s.periodNumbers(t, p)
		return err
	})
	return numbers, err
}

// sortedChunks lists the chunks of one day, ascending.
func (r *reader) sortedChunks(k dayKey) ([]uint32, error) {
	numbers, err := r.chunkNumbers(k, nil)
	slices.Sort(numbers)
	return slices.Compact(numbers), err
}

// chunkNumbers appends the chunks of one day, folded and not.
func (r *reader) chunkNumbers(k dayKey, to []uint32) ([]uint32, error) {
	l, err := r.list(k)
	if err != nil {
		return to, fmt.Errorf("%s: %w", k.day(), err)
	}
	to = append(to, l.numbers...)
	if d, ok := r.view.days.Get(k); ok {
		for _, c := range d.chunks {
			to = append(to, c.number)
		}
	}
	return to, nil
}

// Chunk returns the union of the event's days in the period, as far as it lies
// in one chunk: the positions as they stand, in a bitmap that is the caller's.
// It is never nil. Cost: the chunks of the fewest remembered unions and days that
// make the period are read.
func (s *Snapshot) Chunk(e Event, p Period, number uint32) (*roaring.Bitmap, error) {
	x, err := s.Marked(e, p)
	if err != nil {
		return nil, err
	}
	return x.Bitmap(number)
}

// dayChunk returns one chunk of one day, with what the journal holds for it.
func (r *reader) dayChunk(k dayKey, number uint32) (*roaring.Bitmap, error) {
	s, err := r.daySource(k, number)
	if err != nil {
		return nil, err
	}
	return s.bitmap()
}

// Bitmap returns the union of the event's days in the period as one bitmap over
// placements, which is the caller's. It is empty for an event never written. In a
// dense store the placements of the ids are looked up: two ids may be one of them, and
// MembersAt, not Members, lists who stands there.
func (s *Snapshot) Bitmap(event string, p Period) (*roaring.Bitmap, error) {
	e, ok, err := s.Event(event)
	if err != nil || !ok {
		return roaring.New(), err
	}
	x, err := s.Marked(e, p)
	if err != nil {
		return nil, err
	}
	numbers, err := s.ChunkNumbers(e, p)
	if err != nil {
		return nil, err
	}
	parts := make([]*roaring.Bitmap, len(numbers))
	for i, n := range numbers {
		if parts[i], err = x.Bitmap(n); err != nil {
			return nil, err
		}
	}
	return s.Placements(e.Brand, roaring.FastOr(parts...))
}
