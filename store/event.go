package store

import (
	"bytes"
	"context"
	"fmt"

	"cohort/placement"
)

// Event is a stored event, as of a snapshot.
type Event struct {
	Name        string
	Brand       placement.Brand
	First, Last Day    // first and last day with a bit; meaningless where Days is 0
	Days        int    // days with at least one bit
	Marks       uint64 // bits over all days
	Bytes       uint64 // of its chunks in the file, without what the journal holds

	number uint32
}

// Period returns the days from First to Last; it is empty where Days is 0.
func (e Event) Period() Period {
	if e.Days == 0 {
		return Period{First: 1, Last: 0}
	}
	return Period{e.First, e.Last}
}

// Event returns the named event; ok is false where it was never written, or was
// deleted. Cost: one small record a stored day.
func (s *Snapshot) Event(name string) (e Event, ok bool, err error) {
	err = s.do("event "+name, func() error {
		var rec eventRecord
		if rec, ok, err = s.event(name); err != nil || !ok {
			return err
		}
		t, err := s.timelineOf(rec.number)
		if err != nil {
			return err
		}
		e = rec.describe(name, t.days, t.bytes)
		return nil
	})
	return e, ok && err == nil, err
}

// Events lists the events whose names begin with the prefix, in order of the
// names' bytes. An event whose last bit was unmarked is still listed.
func (s *Snapshot) Events(prefix string) (events []Event, err error) {
	err = s.do("events", func() error {
		c := s.events().Cursor()
		k, _ := c.Seek([]byte(prefix))
		if before, v := previous(c, k); before != nil && !eventHolds(before, v) {
			return corruptf("event %q: checksum does not hold", before)
		}
		for k, v := c.Seek([]byte(prefix)); k != nil; k, v = c.Next() {
			// The one behind the prefix too: its name may be damaged.
			rec, err := unsealEvent(k, v)
			if err != nil {
				return err
			}
			if !bytes.HasPrefix(k, []byte(prefix)) {
				break
			}
			days, size, err := s.daySizes(rec.number, Period{MinDay, MaxDay})
			if err != nil {
				return fmt.Errorf("%q: %w", k, err)
			}
			events = append(events, rec.describe(string(k), days, size))
		}
		return nil
	})
	return events, err
}

// describe returns what is known of an event from its stored days, and the bytes that
// their chunks take.
func (rec eventRecord) describe(name string, days []DayCount, bytes uint64) Event {
	e := Event{Name: name, Brand: rec.brand, number: rec.number, Bytes: bytes}
	for _, d := range days {
		e.Marks += d.Count
	}
	if e.Days = len(days); e.Days > 0 {
		e.First, e.Last = days[0].Day, days[len(days)-1].Day
	}
	return e
}

// DeleteEvent removes an event with all its days, and its binding to a brand,
// and returns when that is on disk. Its ids stay known. ErrNoEvent where it was
// never written. The file does not shrink; its pages are used again.
func (db *DB) DeleteEvent(ctx context.Context, event string) error {
	return db.deleteDays(ctx, event, Period{MinDay, MaxDay}, true)
}

// DeleteDay removes one day of an event, and returns when that is on disk. The
// event stays listed, and its ids known. A day without bits is no error;
// ErrNoEvent where the event was never written.
func (db *DB) DeleteDay(ctx context.Context, event string, day Day) error {
	if !day.Valid() {
		return fmt.Errorf("event %q: %w: %s", event, ErrInvalidDay, day)
	}
	return db.deleteDays(ctx, event, Period{day, day}, false)
}

func (db *DB) deleteDays(ctx context.Context, event string, p Period, unbind bool) error {
	if err := CheckEvent(event); err != nil {
		return err
	}
	if err := db.enter(); err != nil {
		return err
	}
	defer db.leave()
	db.chunkMu.Lock()
	defer db.chunkMu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return db.rewrite("delete from event "+event, func(w *writer) (bool, error) {
		e, ok, err := w.event(event)
		if err != nil {
			return false, err
		}
		if !ok {
			return false, ErrNoEvent
		}
		if err := w.deleteDays(e.number, p); err != nil {
			return false, err
		}
		if !unbind {
			return true, nil
		}
		if err := w.forgetEvent(e.number); err != nil {
			return false, err
		}
		return true, w.events().Delete([]byte(event))
	})
}

// deleteDays removes the chunks, totals and unfolded operations of an event's
// days in the period. The journal still holds their operations: fold marks
// keep a replay from bringing them back.
func (w *writer) deleteDays(event uint32, p Period) error {
	first, last := makeDayKey(event, p.First), makeDayKey(event, p.Last)
	gone := make(map[dayKey]bool)
	c := w.totals().Cursor()
	for kb, _ := c.Seek(first.bytes()); kb != nil; kb, _ = c.Next() {
		k, ok := parseDayKey(kb)
		if !ok {
			return corruptf("totals: a key of %d bytes", len(kb))
		}
		if k > last {
			break
		}
		gone[k] = true
	}
	w.view.days.Ascend(first, func(k dayKey, _ *dayOps) bool {
		if k <= last {
			gone[k] = true
		}
		return k <= last
	})
	for k := range gone {
		if err := w.totals().Delete(k.bytes()); err != nil {
			return err
		}
		if w.days().Bucket(k.bytes()) != nil {
			if err := w.days().DeleteBucket(k.bytes()); err != nil {
				return err
			}
		}
		if err := w.forgetDay(k); err != nil {
			return err
		}
		w.draft.dropDay(k)
		if w.view.records() > 0 {
			if err := w.markFolded(k); err != nil {
				return err
			}
		}
	}
	return nil
}

// eventNumbers returns the numbers of the events there are. No two may have the
// same, and the next one must be another.
func (r *reader) eventNumbers() (map[uint32]bool, error) {
	live := make(map[uint32]bool)
	c := r.events().Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		e, err := unsealEvent(k, v)
		if err != nil {
			return nil, err
		}
		if live[e.number] || uint64(e.number) > r.events().Sequence() {
			return nil, corruptf("event %q: number %d is used twice, or will be", k, e.number)
		}
		live[e.number] = true
	}
	return live, nil
}
