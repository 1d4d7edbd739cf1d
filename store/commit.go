package store

import (
	"context"
	"errors"
	"fmt"
)

// commitLoop is the committer. It takes the next group before it wakes the callers of
// the one before, who would get in the way.
func (db *DB) commitLoop(ctx context.Context) {
	defer db.background.Done()
	written := newGroup(nil)
	for requests := 0; ; {
		if requests >= db.opts.logAfter && !db.logging.Load() && db.holdLog.Load() == 0 {
			written.wake()
			db.startLog()
			requests = 0
		}
		g := db.nextGroup()
		written.wake()
		if g != nil {
			db.commitGroup(g)
			db.afterCommit(ctx, g)
			written = g
			requests += len(g.requests)
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-db.wakeCommit:
		}
	}
}

// wake tells the callers that their requests are committed or failed; once is
// enough.
func (g *gathered) wake() {
	if !g.woken {
		g.woken = true
		close(g.ended)
	}
}

// commitGroup commits the requests, all of them or none. A fact that is refused
// fails its own request only, whose facts before it are made.
func (db *DB) commitGroup(g *gathered) {
	err := db.commitLogged(g)
	if errors.Is(err, errNewEvent) {
		err = db.commitFile(g)
	}
	g.done.Store(true)
	for _, r := range g.requests {
		if err != nil {
			r.err = err
			clear(r.results) // none of it was made
		}
	}
}

// commitLogged commits the group to the log. Where the view is not the one that
// the group was worked out on, it works it out again on what there is.
// errNewEvent says that it takes a transaction.
func (db *DB) commitLogged(g *gathered) error {
	for {
		if err := db.failure(); err != nil {
			return err
		}
		if !db.logging.Load() {
			return errNewEvent
		}
		if g.base == nil {
			if err := db.rework(g); err != nil {
				return err
			}
		}
		if done, err := db.appendGroup(g); done || err != nil {
			return err
		}
		g.base = nil
		g.after.Store(nil)
	}
}

// rework works the group out on the view that is the store's now.
func (db *DB) rework(g *gathered) error {
	return db.read("mark", func(r *reader) error {
		d := r.view.draft(r.view.txid)
		g.base, g.rec = r.view, nil
		g.w = &writer{reader: *r, draft: d, bound: make(map[string]eventRecord)}
		g.w.view = &d.view
		for _, req := range g.requests {
			if err := g.w.applyRequest(req, &g.rec); err != nil {
				g.base = nil
				return err
			}
		}
		g.after.Store(g.finish())
		return nil
	})
}

// appendGroup writes the group to the log and publishes the view that it leaves.
// It reports false where the view is not the one that the group was worked out
// on.
func (db *DB) appendGroup(g *gathered) (done bool, err error) {
	db.viewMu.Lock()
	defer db.viewMu.Unlock()
	if g.base != db.view.Load() || db.journal == nil {
		return false, nil
	}
	if len(g.rec) == 0 {
		return true, nil
	}
	err = db.journal.append(g.w.draft.seq, g.rec, db.set)
	if errors.Is(err, errUnsettled) {
		err = fmt.Errorf("mark: %w; close the store and open it again", err)
		db.fail(err)
	}
	if err != nil {
		g.after.Store(nil)
		return true, fmt.Errorf("mark: %w; what was committed before is intact", err)
	}
	db.view.Store(g.after.Load())
	return true, nil
}

// commitFile commits the group in a transaction of the store's file.
func (db *DB) commitFile(g *gathered) error {
	g.after.Store(nil)
	return db.update("mark", func(w *writer) (bool, error) {
		var rec records
		for _, r := range g.requests {
			if err := w.applyRequest(r, &rec); err != nil {
				return false, err
			}
		}
		if len(rec) == 0 {
			return false, nil
		}
		w.draft.number(len(rec))
		return true, w.putRecords(rec)
	})
}

// applyRequest applies the facts of one request, up to the first that is
// refused.
func (w *writer) applyRequest(r *request, rec *records) error {
	r.err = nil
	clear(r.results)
	for i, f := range r.facts {
		result, err := w.apply(f, rec)
		if refused(err) {
			r.err = err
			return nil
		}
		if err != nil {
			return err
		}
		r.results[i] = result
	}
	return nil
}

// afterCommit starts a fold after a group, when there is enough to fold. Past four times as
// much, the folder does not keep up: marks wait until it is done, so that the
// journal and the memory it takes stay bounded.
func (db *DB) afterCommit(ctx context.Context, g *gathered) {
	ops := db.view.Load().unfolded()
	if ops < db.opts.FoldMarks {
		return
	}
	if ops < 4*db.opts.FoldMarks {
		select {
		case db.wakeFold <- struct{}{}:
		default:
		}
		return
	}
	g.wake()
	if err := db.foldAll(ctx); err != nil && ctx.Err() == nil {
		db.log.Error("fold", "path", db.cfg.Path, "err", err)
	}
}
