package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cohort/placement"
)

// Loader marks in bulk: a backfill. Rows are collected, sorted by day and
// chunk, and merged into the chunks directly, a batch a transaction, past the
// journal: a few bytes written a mark. What it does is the same as marking the
// rows one by one in their order, and so are the results. While a batch is
// being written, other callers' marks wait.
//
// A Loader is for one goroutine. Any number may be open at a time.
type Loader struct {
	db      *DB
	ctx     context.Context // of Load; a loader is one operation in several calls
	today   Day
	batch   int  // rows a transaction
	journal bool // a small rest goes through the journal

	events map[string]*loadEvent
	days   map[loadKey]*loadDay
	last   *loadDay // the day of the row before
	rows   int
	bytes  int // of strings held

	committed Tally
	err       error // what ended the load
}

// Rows and bytes of strings that a batch holds at most: 1 << 20 rows take 12
// bytes each, and about 60 more while they are sorted and merged.
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

type loadKey struct {
	event *loadEvent
	day   Day
}

// loadDay is the batch's rows of one (event, day), in order.
type loadDay struct {
	key   loadKey
	mixed []placement.Mixed
	row   []uint32 // their place among all rows of the batch
	ids   []string // in stores that keep strings
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
		events: make(map[string]*loadEvent), days: make(map[loadKey]*loadDay),
	}, nil
}

// Add takes one row. It commits when the batch is full. A row that Mark would
// refuse gives its error (ErrInvalidEvent, placement.ErrInvalidID,
// ErrInvalidDay, ErrFutureDay or ErrOtherBrand, checked in this order), is left
// out, and does not end the load. After any other error the load is over.
func (l *Loader) Add(event, id string, day Day) error {
	if l.err != nil {
		return l.err
	}
	e, ok := l.events[event]
	if !ok {
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
	d := l.last
	if d == nil || d.key.event != e || d.key.day != day {
		d = l.day(loadKey{e, day})
	}
	d.mixed = append(d.mixed, mixed)
	d.row = append(d.row, uint32(l.rows))
	if l.db.set.keepStrings() {
		// The caller's string may be a piece of a larger one.
		d.ids = append(d.ids, strings.Clone(id))
		l.bytes += len(id)
	}
	l.rows++
	if l.rows >= l.batch || l.bytes >= loadStringBytes {
		l.err = l.commit()
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

func (l *Loader) day(k loadKey) *loadDay {
	d, ok := l.days[k]
	if !ok {
		d = &loadDay{key: k}
		l.days[k] = d
	}
	l.last = d
	return d
}

// Committed returns what became of the rows that are on disk.
func (l *Loader) Committed() Tally { return l.committed }

// Close commits the rows that are left and returns what became of all that are
// on disk. It must be called, once; the error is what ended the load.
func (l *Loader) Close() (Tally, error) {
	if l.err == nil {
		l.err = l.commit()
	}
	err := l.err
	if l.days != nil { // the first Close
		l.db.loaders.Add(-1)
	}
	l.err = fmt.Errorf("load: %w", ErrClosed)
	l.events, l.days, l.last = nil, nil, nil
	return l.committed, err
}

// commit writes the batch.
func (l *Loader) commit() error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	if l.rows == 0 {
		return nil
	}
	if err := l.db.enter(); err != nil {
		return err
	}
	defer l.db.leave()
	var err error
	if l.journal && l.rows < journalMax {
		err = l.commitJournal()
	} else {
		err = l.commitChunks()
	}
	l.rows, l.bytes, l.last = 0, 0, nil
	clear(l.days)
	return err
}

// sortedDays returns the batch's days in the order of their first rows.
func (l *Loader) sortedDays() []*loadDay {
	days := make([]*loadDay, 0, len(l.days))
	for _, d := range l.days {
		days = append(days, d)
	}
	slices.SortFunc(days, func(a, b *loadDay) int { return cmp.Compare(a.row[0], b.row[0]) })
	return days
}

// commitJournal sends the rows through the committer, in order.
func (l *Loader) commitJournal() error {
	facts := make([]fact, l.rows)
	for _, d := range l.days {
		for i, m := range d.mixed {
			f := fact{kind: opMark, event: d.key.event.name, brand: d.key.event.brand, mixed: m, day: d.key.day}
			if d.ids != nil {
				f.id = d.ids[i]
			}
			facts[d.row[i]] = f
		}
	}
	for part := range slices.Chunk(facts, recordMarks) {
		r := &request{facts: part, results: make([]Result, len(part)), done: make(chan struct{}, 1)}
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

// commitChunks merges the batch into chunks and registry, in one transaction.
func (l *Loader) commitChunks() error {
	l.db.chunkMu.Lock()
	defer l.db.chunkMu.Unlock()
	var t Tally
	err := l.db.rewrite("load", func(w *writer) (bool, error) {
		b := batch{w: w, days: l.sortedDays()}
		var err error
		t, err = b.write()
		return true, err
	})
	if err == nil {
		l.committed.New += t.New
		l.committed.Already += t.Already
		l.committed.Shared += t.Shared
	}
	return err
}
