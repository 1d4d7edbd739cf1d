package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cohort/placement"
)

// Loader marks in bulk: a backfill. Rows are collected, sorted by day and
// chunk, and merged into the chunks directly, a batch a transaction, past the
// journal: a few bytes written a mark. What it does is the same as marking the
// rows one by one in their order, and so are the results. A batch is written
// while the rows of the next one are added; other callers' marks wait meanwhile.
//
// A Loader is for one goroutine. Any number may be open at a time.
type Loader struct {
	db      *DB
	ctx     context.Context // of Load; a loader is one operation in several calls
	today   Day
	batch   int  // rows a transaction
	journal bool // a small rest goes through the journal

	events map[string]*loadEvent
	rows   *rowBatch // being collected; nil when the load was closed
	spare  *rowBatch // of the batch before, emptied
	met    metIDs    // in a dense store

	written   *loadBatch // being committed; nil where none is
	committed Tally
	err       error // what ended the load
}

// loadBatch is a full batch, which is committed while the next one is collected.
type loadBatch struct {
	rows  *rowBatch
	done  chan struct{}
	tally Tally
	err   error
}

// Rows and bytes of strings that a batch holds at most: 1 << 20 rows take 16
// bytes each. There are two batches at a time, and the one that is written allocates
// some 200 bytes a row where all are new ids.
const (
	loadRows        = 1 << 20
	loadStringBytes = 64 << 20
)

// loadEvent is an event that rows of the batch name.
type loadEvent struct {
	name  string
	brand placement.Brand
	bound bool // brand is known: the event is stored, or a row named it
}

// Load starts a bulk load. When ctx ends, Add and Close return its error, and
// what was committed stays.
func (db *DB) Load(ctx context.Context) (*Loader, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer db.leave()
	if db.cfg.ReadOnly {
		return nil, fmt.Errorf("%s: %w", db.cfg.Path, ErrReadOnly)
	}
	db.loaders.Add(1)
	return &Loader{
		db: db, ctx: ctx, today: db.Today(), batch: loadRows,
		events: make(map[string]*loadEvent), rows: newRowBatch(),
	}, nil
}

// Add takes one row. A full batch is committed while further rows are added; an
// error of that ends a later Add, or Close. A row that Mark would refuse gives its
// error (ErrInvalidEvent, placement.ErrInvalidID,
// ErrInvalidDay, ErrFutureDay or ErrOtherBrand, checked in this order), is left
// out, and does not end the load. After any other error the load is over.
func (l *Loader) Add(event, id string, day Day) error {
	if l.err != nil {
		return l.err
	}
	var e *loadEvent
	if last := l.rows.last; last != nil && last.key.event.name == event {
		e = last.key.event
	} else if e = l.events[event]; e == nil {
		var err error
		if e, err = l.event(event); err != nil {
			return err
		}
	}
	brand, mixed, err := l.db.set.ids.Parse(id)
	if err != nil {
		return err
	}
	if err := checkDay(day, l.today); err != nil {
		return fmt.Errorf("event %q, id %q: %w", event, id, err)
	}
	if !e.bound {
		e.brand, e.bound = brand, true
	} else if err := checkBrand(event, e.brand, id, brand); err != nil {
		return err
	}
	return l.add(e, mixed, id, day)
}

// add takes a row that was checked.
func (l *Loader) add(e *loadEvent, mixed placement.Mixed, id string, day Day) error {
	l.rows.add(loadKey{e, day}, mixed, id, l.db.set.keepStrings())
	if len(l.rows.rows) >= l.batch || l.rows.bytes >= loadStringBytes {
		l.err = l.commitBatch()
	}
	return l.err
}

// event looks up an event that the load has not met yet.
func (l *Loader) event(name string) (*loadEvent, error) {
	if err := CheckEvent(name); err != nil {
		return nil, err
	}
	name = strings.Clone(name)
	e := &loadEvent{name: name}
	if err := l.db.enter(); err != nil {
		l.err = err
		return nil, err
	}
	defer l.db.leave()
	err := l.db.read("look up an event", func(r *reader) error {
		rec, ok, err := r.event(name)
		e.brand, e.bound = rec.brand, ok
		return err
	})
	if err != nil {
		l.err = err
		return nil, err
	}
	l.events[name] = e
	return e, nil
}

// Committed returns what became of the rows known to be on disk: not of those of
// the last full batch, which may still be written.
func (l *Loader) Committed() Tally { return l.committed }

// Close commits the rows that are left and returns what became of all that are
// on disk. It must be called, once; the error is what ended the load.
func (l *Loader) Close() (Tally, error) {
	if err := l.await(); l.err == nil {
		l.err = err
	}
	if l.err == nil {
		l.err = l.commitLast()
	}
	err := l.err
	if l.rows != nil { // the first Close
		l.db.loaders.Add(-1)
	}
	l.err = fmt.Errorf("load: %w", ErrClosed)
	l.events, l.rows, l.spare, l.met = nil, nil, nil, metIDs{}
	return l.committed, err
}

// commitBatch has the batch, which is full, committed, once the one before is.
func (l *Loader) commitBatch() error {
	if err := l.await(); err != nil {
		return err
	}
	if err := l.ctx.Err(); err != nil {
		return err
	}
	b := &loadBatch{rows: l.rows, done: make(chan struct{})}
	if l.rows = l.spare; l.rows == nil {
		l.rows = newRowBatch()
	}
	l.written = b
	go func() {
		defer close(b.done)
		b.tally, b.err = l.commitChunks(b.rows)
	}()
	return nil
}

// await waits for the batch that is being committed, and counts it.
func (l *Loader) await() error {
	b := l.written
	if b == nil {
		return nil
	}
	<-b.done
	l.written = nil
	l.count(b.tally)
	l.spare = b.rows
	l.spare.empty()
	return b.err
}

// commitLast commits what is left.
func (l *Loader) commitLast() error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if len(l.rows.rows) == 0 {
		return nil
	}
	if l.journal && len(l.rows.rows) < journalMax {
		return l.commitJournal()
	}
	t, err := l.commitChunks(l.rows)
	l.count(t)
	return err
}

func (l *Loader) count(t Tally) {
	l.committed.New += t.New
	l.committed.Already += t.Already
	l.committed.Shared += t.Shared
}

// commitJournal sends the rows through the committer, in order.
func (l *Loader) commitJournal() error {
	if err := l.db.enter(); err != nil {
		return err
	}
	defer l.db.leave()
	facts := make([]fact, len(l.rows.rows))
	for i, row := range l.rows.rows {
		k := l.rows.days[row.day].key
		facts[i] = fact{kind: opMark, event: k.event.name, brand: k.event.brand, mixed: row.mixed, day: k.day}
		if len(l.rows.ids) > 0 {
			facts[i].id = l.rows.ids[i]
		}
	}
	for part := range slices.Chunk(facts, recordMarks) {
		r := &request{facts: part, results: make([]Result, len(part))}
		if err := l.db.submit(l.ctx, r); err != nil {
			return err
		}
		for _, result := range r.results {
			l.committed.count(result)
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// commitChunks merges a batch into chunks and registry, in one transaction, and
// returns what became of its rows.
func (l *Loader) commitChunks(rows *rowBatch) (t Tally, err error) {
	if err := l.db.enter(); err != nil {
		return t, err
	}
	defer l.db.leave()
	l.db.chunkMu.Lock()
	defer l.db.chunkMu.Unlock()
	l.met.forgetErased(l.db.erasures)
	err = l.db.rewrite("load", func(w *writer) (bool, error) {
		b := batch{w: w, rows: rows, met: &l.met}
		var err error
		t, err = b.write()
		return true, err
	})
	if err != nil {
		return Tally{}, err
	}
	return t, nil
}
