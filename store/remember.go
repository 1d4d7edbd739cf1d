package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Remember brings what is remembered of every event up to date: the first days of
// its ids, and the unions of closed weeks, months, quarters and years (closed: the
// last day lies before the current one). Answers do not depend on it, only their
// cost. A store does it by itself now and then (see Options.RememberEvery); it is
// worth a call after a large load. Chunks are worked out beside readers and marks
// and written about a megabyte a transaction. When ctx ends it stops after a whole
// transaction, and what was done so far is not lost.
//
// Cost: about as much as reading what changed, and the firsts of all days, once.
func (db *DB) Remember(ctx context.Context) error {
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
	return db.remember(ctx, true)
}

// rememberLoop remembers in the background.
func (db *DB) rememberLoop(ctx context.Context) {
	defer db.background.Done()
	tick := time.NewTicker(db.opts.RememberEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if db.loaders.Load() > 0 { // what they change would have to be taken in again
			continue
		}
		if err := db.remember(ctx, false); err != nil && ctx.Err() == nil {
			db.log.Error("remember", "path", db.cfg.Path, "err", err)
		}
	}
}

// remember passes over the events. With all false it leaves those out of which only
// the current day, or a later one, changed.
func (db *DB) remember(ctx context.Context, all bool) error {
	db.rememberMu.Lock()
	defer db.rememberMu.Unlock()
	var events []uint32
	err := db.read("remember", func(r *reader) error {
		live, err := r.eventNumbers()
		for n := range live {
			events = append(events, n)
		}
		return err
	})
	slices.Sort(events)
	for _, e := range events {
		// The longer periods are built of the shorter ones: a pass each.
		for more := true; more && err == nil; {
			more, err = db.rememberEvent(ctx, e, all)
		}
	}
	return err
}

// rememberEvent makes one pass over an event, and reports whether there may be more
// periods to build.
func (db *DB) rememberEvent(ctx context.Context, event uint32, all bool) (more bool, err error) {
	p, err := db.planPass(event, all)
	if p == nil || err != nil {
		return false, err
	}
	err = db.startPass(p)
	for err == nil && len(p.chunks) > 0 {
		if err = ctx.Err(); err == nil {
			err = db.passSome(p)
		}
	}
	if err == nil {
		err = db.finishPass(p)
	}
	if errors.Is(err, errEventGone) {
		return false, nil
	}
	return err == nil && len(p.build) > 0, err
}

// folded runs fn on a reader that sees the file without the journal.
func (db *DB) folded(fn func(r *reader) error) error {
	return db.read("remember", func(r *reader) error {
		r.view = emptyView()
		return fn(r)
	})
}
