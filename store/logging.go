package store

import (
	"context"
	"errors"
	"fmt"
)

// startLog makes the store's log. Where that fails the journal stays in the
// file, which is slower, and no loss.
func (db *DB) startLog() {
	l, err := createLog(db.logPath, db.opts.openLog)
	if err == nil {
		err = db.update("start the log", func(w *writer) (bool, error) {
			return true, w.putJournalState(journalState{w.view.floor, l.id})
		})
		if err != nil && db.failure() == nil {
			err = errors.Join(err, l.remove())
		} else if err != nil {
			err = errors.Join(err, l.close()) // the file may name it
		}
	}
	if err != nil {
		db.log.Warn("no log beside the file", "path", db.cfg.Path, "err", err)
		return
	}
	db.viewMu.Lock()
	defer db.viewMu.Unlock()
	db.journal = l
	db.logging.Store(true)
}

// wipeLog wipes the half of the log that is not written, if nothing in it is needed: up
// to floor. A commit that found old records where it writes would have to wipe them,
// and every mark behind it would wait. chunkMu is held, so no fold turns to that half.
func (db *DB) wipeLog(floor uint64) error {
	db.viewMu.Lock()
	l := db.journal
	db.viewMu.Unlock()
	if l == nil {
		return nil
	}
	idle := &l.half[1-l.at]
	if idle.last > floor || idle.end == logHeader {
		return nil
	}
	h, err := idle.wiped()
	if err != nil {
		return fmt.Errorf("wipe the log: %w", boltError(err))
	}
	db.viewMu.Lock()
	defer db.viewMu.Unlock()
	*idle = h
	return nil
}

// closeJournal folds all that the journal holds, and ends the log.
func (db *DB) closeJournal() error {
	db.chunkMu.Lock()
	_, err := db.fold(context.Background())
	db.chunkMu.Unlock()
	return errors.Join(err, db.endLog())
}

// endLog folds what is left and removes the log: from then on the file has
// everything.
func (db *DB) endLog() error {
	db.chunkMu.Lock()
	defer db.chunkMu.Unlock()
	if !db.logging.Load() {
		return nil
	}
	return db.rewrite("end the log", func(w *writer) (bool, error) {
		if err := w.foldRest(); err != nil {
			return false, err
		}
		return true, w.endJournal(true)
	})
}

// endJournal notes that nothing in the journal is needed any more: all of it is
// folded. Where a log is open, it ends, and the file has everything; one that is
// just being started goes on.
func (w *writer) endJournal(logging bool) error {
	w.draft.floor = w.draft.seq
	if err := w.putFloor(w.draft.floor); err != nil {
		return err
	}
	if logging {
		w.ended = true
		if err := w.putJournalState(journalState{w.draft.floor, 0}); err != nil {
			return err
		}
	}
	return w.journal().SetSequence(w.draft.seq)
}

// dropLog removes the log's files; viewMu is held.
func (db *DB) dropLog() {
	l := db.journal
	db.journal = nil
	db.logging.Store(false)
	if err := l.remove(); err != nil {
		db.log.Warn("the log's files are not needed any more, but stay", "path", db.cfg.Path, "err", err)
	}
}

// logBytes returns what the records in the log take.
func (db *DB) logBytes() (n uint64) {
	db.viewMu.Lock()
	defer db.viewMu.Unlock()
	if db.journal == nil {
		return 0
	}
	for _, h := range db.journal.half {
		if h.last > db.view.Load().floor {
			n += uint64(h.end - logHeader)
		}
	}
	return n
}
