package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// request is a caller's facts on their way through the committer.
type request struct {
	state   atomic.Uint32 // requestQueued, then taken or withdrawn, once
	facts   []fact
	results []Result // as long as facts; those before the failed one are set
	err     error    // set with done
	done    chan struct{}
}

const (
	requestQueued = iota
	requestTaken
	requestWithdrawn
)

// groupMax bounds the facts of one group commit, and with them its record.
const groupMax = 8192

// submit hands the request to the committer and waits until it is committed or
// refused. The error is ctx's where it ended before the commit began; the
// request's own outcome stands in it.
func (db *DB) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case db.requests <- r:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		if r.state.CompareAndSwap(requestQueued, requestWithdrawn) {
			return ctx.Err()
		}
		<-r.done
		return nil
	}
}

// commitLoop is the committer: it takes what callers have queued, commits it
// together, and starts a fold when the journal has grown enough.
func (db *DB) commitLoop(ctx context.Context) {
	defer db.background.Done()
	var group []*request
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-db.requests:
			group = db.gather(append(group[:0], r))
		}
		db.commitGroup(group)
		clear(group)
		db.afterCommit(ctx)
	}
}

// gather adds the requests that are waiting. Callers that the last commit woke
// are on their way with their next mark, so it lets them run twice: groups of
// sixty instead of thirty with 64 callers, for a microsecond of a lone one.
func (db *DB) gather(group []*request) []*request {
	n := len(group[0].facts)
	for round := 0; ; round++ {
		for more := true; more && n < groupMax; {
			select {
			case r := <-db.requests:
				group = append(group, r)
				n += len(r.facts)
			default:
				more = false
			}
		}
		if round == 2 || n >= groupMax {
			return group
		}
		runtime.Gosched()
	}
}

// commitGroup commits the requests in one transaction and wakes their callers.
// A fact that is refused fails its own request only, whose facts before it are
// made; when the transaction fails, all of them fail.
func (db *DB) commitGroup(group []*request) {
	taken := group[:0]
	for _, r := range group {
		if r.state.CompareAndSwap(requestQueued, requestTaken) {
			taken = append(taken, r)
		}
	}
	if len(taken) == 0 {
		return
	}
	err := db.update("mark", func(w *writer) (bool, error) {
		var rec record
		for _, r := range taken {
			if err := w.applyRequest(r, &rec); err != nil {
				return false, err
			}
		}
		if rec.empty() {
			return false, nil
		}
		if w.draft.oldest.IsZero() {
			w.draft.oldest = time.Now()
		}
		return true, w.appendRecord(&rec)
	})
	for _, r := range taken {
		if err != nil {
			r.err = err
			clear(r.results)
		}
		close(r.done)
	}
}

// applyRequest applies the facts of one request, up to the first that is
// refused.
func (w *writer) applyRequest(r *request, rec *record) error {
	for i, f := range r.facts {
		result, err := w.apply(f, rec)
		if errors.Is(err, ErrOtherBrand) {
			r.err = err
			r.facts = r.facts[:i]
			return nil
		}
		if err != nil {
			return err
		}
		r.results[i] = result
	}
	return nil
}

// afterCommit starts a fold when there is enough to fold. Past four times as
// much, the folder does not keep up: marks wait until it is done, so that the
// journal and the memory it takes stay bounded.
func (db *DB) afterCommit(ctx context.Context) {
	ops := db.view.Load().ops
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
	if err := db.foldAll(ctx); err != nil && ctx.Err() == nil {
		db.log.Error("fold", "path", db.cfg.Path, "err", err)
	}
}

// foldLoop is the folder: it folds when the committer asks, and when the oldest
// operation has come of age.
func (db *DB) foldLoop(ctx context.Context) {
	defer db.background.Done()
	var tick <-chan time.Time
	if age := db.opts.FoldAge; age > 0 {
		t := time.NewTicker(max(age/4, time.Millisecond))
		defer t.Stop()
		tick = t.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-db.wakeFold:
		case <-tick:
			v := db.view.Load()
			if v.ops == 0 || time.Since(v.oldest) < db.opts.FoldAge {
				continue
			}
		}
		if err := db.foldAll(ctx); err != nil && ctx.Err() == nil {
			db.log.Error("fold", "path", db.cfg.Path, "err", err)
		}
	}
}

// Fold merges the journal into the chunks of its days and the registry, in
// transactions of a few megabytes between which marks and readers go on, and
// returns when all that was in the journal at the call is folded. A store does
// that by itself (see Options.FoldMarks and FoldAge). When ctx ends it stops
// after a whole transaction.
func (db *DB) Fold(ctx context.Context) error {
	if err := db.enter(); err != nil {
		return err
	}
	defer db.leave()
	if db.cfg.ReadOnly {
		return fmt.Errorf("%s: %w", db.cfg.Path, ErrReadOnly)
	}
	return db.foldAll(ctx)
}
