package store

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// WriteTo writes a copy of the store: a whole file that Open takes, with every
// mark that was acknowledged before the call. It implements io.WriterTo. The
// journal is folded first. The copy is as long as the store's file at the time,
// its unused pages included, and memory does not depend on that. Marks go on
// meanwhile, but the file grows (see Snapshot). What was written to w when it
// fails is of no use.
//
// A store that is open for reading, and was not closed, has marks that are not in
// its file; it cannot be copied.
func (db *DB) WriteTo(w io.Writer) (n int64, err error) {
	s, err := db.wholeSnapshot()
	if err != nil {
		return 0, fmt.Errorf("copy: %w", err)
	}
	err = s.do("copy", func() error {
		if n, err = s.tx.WriteTo(w); err != nil {
			return fmt.Errorf("after %d bytes: %w", n, err)
		}
		return nil
	})
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return n, err
}

// wholeSnapshot returns a snapshot whose transaction has everything.
func (db *DB) wholeSnapshot() (*Snapshot, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer db.leave()
	if db.cfg.ReadOnly && db.logging.Load() {
		return nil, fmt.Errorf("%s was not closed, and part of it is in its journal: open it for writing once", db.cfg.Path)
	}
	if db.cfg.ReadOnly {
		return db.snapshot()
	}
	db.holdLog.Add(1) // no further log is started
	defer db.holdLog.Add(-1)
	for {
		if err := db.foldAll(context.Background()); err != nil {
			return nil, err
		}
		if err := db.endLog(); err != nil {
			return nil, err
		}
		s, err := db.snapshot()
		if err != nil {
			return nil, err
		}
		// One that was being started may have come in between.
		state, _, err := s.journalState()
		if err == nil && state.log == 0 {
			return s, nil
		}
		if err := errors.Join(err, s.Close()); err != nil {
			return nil, err
		}
	}
}
