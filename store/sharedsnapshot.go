package store

import (
	"sync"
	"sync/atomic"
)

// sharedSnapshot is what the handles on one view have in common. The store keeps
// a handle of its own on the last one, for whoever asks before the next commit:
// what a question has looked up serves those after it, which cost a third.
type sharedSnapshot struct {
	reader
	db *DB

	timelines sync.Map // event number -> *timeline, of those asked about

	mu      sync.Mutex // guards handles
	handles int
}

// held are the lists that the readers of a snapshot have made.
type held struct {
	days  sync.Map     // dayKey -> *dayList
	bytes atomic.Int64 // of all lists, about
}

// keptBytes bounds the lists of the snapshot that the store keeps. One that has
// more is not handed out again.
const keptBytes = 8 << 20

// share takes another handle; false where the last one was released.
func (s *sharedSnapshot) share() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handles == 0 {
		return false
	}
	s.handles++
	return true
}

// release gives a handle back, and ends the transaction with the last one.
func (s *sharedSnapshot) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handles--; s.handles > 0 {
		return nil
	}
	return s.tx.Rollback()
}

// timelineOf returns the timeline of an event, which it keeps.
func (s *sharedSnapshot) timelineOf(event uint32) (*timeline, error) {
	if t, ok := s.timelines.Load(event); ok {
		return t.(*timeline), nil
	}
	t, err := s.timeline(event)
	if err == nil {
		s.held.bytes.Add(t.size())
		s.timelines.Store(event, t)
	}
	return t, err
}

// takeKept returns a handle on the snapshot that the store keeps, or nil where
// that is not one of the last commit.
func (db *DB) takeKept() *sharedSnapshot {
	db.keepMu.Lock()
	defer db.keepMu.Unlock()
	s := db.kept
	if s == nil || s.view != db.view.Load() || s.held.bytes.Load() > keptBytes || db.failure() != nil || !s.share() {
		return nil
	}
	return s
}

// keep has the store keep a snapshot in the place of the one before, unless the
// file is being written: a file that outgrows its map waits until no snapshot is
// open.
func (db *DB) keep(s *sharedSnapshot) {
	db.keepMu.Lock()
	defer db.keepMu.Unlock()
	if !db.writing && s.view == db.view.Load() && s.share() {
		db.dropKept()
		db.kept = s
	}
}

// dropKept gives the kept snapshot back, with keepMu held.
func (db *DB) dropKept() {
	if db.kept != nil {
		_ = db.kept.release() // a read transaction has nothing to lose
		db.kept = nil
	}
}

// keepNone gives the kept snapshot back and has none kept, or has one kept again.
func (db *DB) keepNone(writing bool) {
	db.keepMu.Lock()
	defer db.keepMu.Unlock()
	db.writing = writing
	db.dropKept()
}
