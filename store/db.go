package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// DB is an open store. Its methods may be called from any number of
// goroutines. One process has a store open for writing at a time.
type DB struct {
	cfg  Config
	set  settings
	opts Options
	log  *slog.Logger
	bolt *bolt.DB

	workspaces sync.Pool // of *workspace

	verified  *verified
	precision uint8                // of sketches, from the first visit on that of the file
	view      atomic.Pointer[view] // what the journal holds, as of the last commit
	dirty     atomic.Bool          // a commit was made since the file was opened

	failed atomic.Pointer[error] // set when the file's state is not known any more
	commit func(*bolt.Tx) error  // its Commit; tests fail it

	// chunkMu is held by whoever rewrites chunks outside of a group commit: a
	// fold, a load's batch, a deletion, an erasure, a saved set, a pass of Remember,
	// the end of the log. It is taken before writeMu. It guards erasures.
	chunkMu  sync.Mutex
	erasures uint64 // how many ids were erased since the store was opened

	// writeMu is held from the beginning of a write transaction until its view
	// is published. bbolt's own lock ends with the commit, a moment earlier: the
	// next writer would build on the view before, and lose what was committed.
	writeMu sync.Mutex

	// viewMu is held by whoever publishes a view, from the look at the one before.
	// It guards journal. It is taken after writeMu.
	viewMu  sync.Mutex
	logPath string       // where the log's files stand, less their suffix
	journal *journalLog  // nil until there are so many marks that it pays
	logging atomic.Bool  // journal is there
	holdLog atomic.Int32 // how many need the store without a journalLog

	lookMu sync.Mutex             // guards alone, and who opens a looker
	looker atomic.Pointer[looker] // nil until it is wanted
	alone  bool                   // each caller takes a looker of its own
	mapped int                    // bytes of address space that the file has; 0 is unknown

	keepMu  sync.Mutex      // guards kept and writing
	kept    *sharedSnapshot // of the last commit, or of one before; nil where none is kept
	writing bool            // a transaction writes the file, or the store is closed: none is kept

	rememberMu sync.Mutex   // held by whoever remembers; taken before chunkMu
	loaders    atomic.Int32 // loads that are under way
	bitsets    sync.Pool    // of *bitset
	passRead   int          // the constant; tests take less

	idle    sync.Pool    // of *request
	reached atomic.Int32 // a day that the clock has shown

	gatherMu   sync.Mutex  // guards groups, and those in it
	groups     []*gathered // for the committer; requests go to the last
	wakeCommit chan struct{}
	wakeFold   chan struct{}

	stop       context.CancelFunc // ends the goroutines in the background
	background sync.WaitGroup     // the committer, the folder and who remembers

	closeMu sync.RWMutex // guards closed; held for reading while a call is under way
	closed  bool
}

// Config returns what the store was created with, and how it was opened.
func (db *DB) Config() Config { return db.cfg }

// Today returns the current day in the store's time zone.
func (db *DB) Today() Day { return db.DayOf(db.opts.Now()) }

// DayOf returns the civil date of an instant in the store's time zone.
func (db *DB) DayOf(t time.Time) Day { return dayOf(t.In(db.cfg.TimeZone)) }

// takeBitset returns a set for the positions of a chunk. It is put back into
// bitsets, filled or not.
func (db *DB) takeBitset() *bitset {
	if b, ok := db.bitsets.Get().(*bitset); ok {
		return b
	}
	return newBitset(db.set.chunkBits())
}

// enter keeps the store open until leave. Every exported method that touches
// the file begins with it.
func (db *DB) enter() error {
	db.closeMu.RLock()
	if db.closed {
		db.closeMu.RUnlock()
		return fmt.Errorf("%s: %w", db.cfg.Path, ErrClosed)
	}
	return nil
}

func (db *DB) leave() { db.closeMu.RUnlock() }

func (db *DB) fail(err error) {
	if db.failed.CompareAndSwap(nil, &err) {
		db.log.Error("store failed", "path", db.cfg.Path, "err", err)
	}
}

// failure returns why the store refuses to go on, or nil.
func (db *DB) failure() error {
	if p := db.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// Close folds what the journal holds, makes the next open quick, and releases
// the file. Snapshots must be closed first; Close waits for them, and for the
// calls under way. Marks acknowledged before are safe whatever it returns.
// Closing twice gives ErrClosed.
func (db *DB) Close() error {
	db.closeMu.Lock() // waits for the calls under way
	if db.closed {
		db.closeMu.Unlock()
		return fmt.Errorf("%s: %w", db.cfg.Path, ErrClosed)
	}
	db.closed = true
	db.closeMu.Unlock()
	db.stop()
	db.background.Wait()
	db.retireLooker(nil)
	db.keepNone(true)
	var errs []error
	if !db.cfg.ReadOnly && db.failure() == nil {
		errs = append(errs, db.closeJournal(), db.syncFreelist())
	}
	if db.journal != nil {
		errs = append(errs, db.journal.close())
	}
	errs = append(errs, boltError(db.bolt.Close()))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", db.cfg.Path, err)
	}
	return nil
}

// syncFreelist commits once with the free list written out. Without it, the
// next open has to read the whole file to find the free pages: 500 to 930 ms a
// GB, against less than a millisecond.
func (db *DB) syncFreelist() error {
	if !db.dirty.Load() {
		return nil
	}
	db.bolt.NoFreelistSync = false
	return db.update("write the free list", func(w *writer) (bool, error) { return true, nil })
}

// boltError puts the errors of bbolt and the system that callers may meet into
// the package's words.
func boltError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, berrors.ErrTimeout):
		return ErrInUse
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("disk is full: %w", err)
	}
	return err
}
