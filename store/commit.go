package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// Marks pass two goroutines on their way to disk. The gatherer takes what callers
// hand in and works out, in memory, what it changes, while the writer waits for
// the disk with the group before; when the writer is ready it gets the group,
// as one record to write to the log. What a group changes it can only know from
// the view that the group before leaves, so a draft is built on a draft; where a
// fold, a load or a failed commit came in between, the writer sees that the view
// is another one, and works the group out again. A group that names a new event,
// and every group before there is a log, is a transaction of the store's file.

// request is a caller's facts on their way through the committer.
type request struct {
	state   atomic.Uint32 // requestQueued, then taken or withdrawn, once
	facts   []fact
	results []Result      // as long as facts; those before the failed one are set
	err     error         // set with done
	done    chan struct{} // room for one: that it is committed or refused

	oneFact   [1]fact // room for the one fact of most requests
	oneResult [1]Result
}

const (
	requestQueued = iota
	requestTaken
	requestWithdrawn
)

// groupMax bounds the facts of one group commit, and with them its record.
const groupMax = 8192

// gathered is the requests of one transaction.
type gathered struct {
	requests []*request
	facts    int

	// base is the view that the group was worked out on, nil where it was not;
	// then the writer does it. The rest is what came of it.
	base *view
	w    *writer // without a transaction
	rec  records

	// after is the view that the group will leave, once that is known; done says
	// that it was committed or failed.
	after atomic.Pointer[view]
	done  atomic.Bool
}

// newRequest returns a request without facts.
func (db *DB) newRequest() *request {
	if r, ok := db.idle.Get().(*request); ok {
		return r
	}
	return &request{done: make(chan struct{}, 1)}
}

// release takes back a request whose outcome was received; it spares the
// collector two allocations a mark.
func (db *DB) release(r *request) {
	*r = request{done: r.done}
	db.idle.Put(r)
}

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

// gatherLoop is the gatherer.
func (db *DB) gatherLoop(ctx context.Context) {
	defer db.background.Done()
	ready := false
	g, last := new(gathered), new(gathered)
	last.done.Store(true)
	for {
		requests := db.requests
		if g.facts >= groupMax {
			requests = nil
		}
		select {
		case <-ctx.Done():
			return
		case r := <-requests:
			db.gather(g, r, last)
		case <-db.ready:
			ready = true
		}
		if !ready || len(g.requests) == 0 {
			continue
		}
		db.gatherWaiting(g, last)
		db.settle(g)
		db.gathering.Store(false)
		select {
		case <-ctx.Done():
			return
		case db.groups <- g:
		}
		g, last, ready = new(gathered), g, false
	}
}

// enough is the size from which a group does not wait for callers on their way.
const enough = 12

// gatherWaiting adds the requests that are waiting. Callers that the last commit
// woke are on their way with their next mark, so it lets them run a few times:
// larger groups for a microsecond of a lone caller.
func (db *DB) gatherWaiting(g, last *gathered) {
	for range 3 {
		for more := true; more && g.facts < groupMax; {
			select {
			case r := <-db.requests:
				db.gather(g, r, last)
			default:
				more = false
			}
		}
		if len(g.requests) >= enough {
			return
		}
		runtime.Gosched()
	}
}

// gather adds a request to the group, unless it was withdrawn, and works it out
// where the view before the group is known.
func (db *DB) gather(g *gathered, r *request, last *gathered) {
	if !r.state.CompareAndSwap(requestQueued, requestTaken) {
		return
	}
	g.requests = append(g.requests, r)
	db.gathering.Store(true)
	g.facts += len(r.facts)
	if g.w != nil {
		db.workOut(g, r)
		return
	}
	base := last.after.Load()
	if last.done.Load() {
		base = db.view.Load()
	}
	if base != nil {
		db.workFrom(g, base)
	}
}

// workFrom starts the group's draft on a view and works out the requests that it
// has.
func (db *DB) workFrom(g *gathered, base *view) {
	g.base = base
	if !db.logging.Load() {
		g.base = nil // it needs a transaction, whose number is not known
	}
	d := base.draft(base.txid)
	g.w = &writer{reader: reader{set: db.set, verified: db.verified, view: &d.view, precision: db.precision}, draft: d}
	for _, r := range g.requests {
		db.workOut(g, r)
	}
}

// workOut applies a request to the group's draft. Where it needs to look into
// the file for that, the group is left to the writer.
func (db *DB) workOut(g *gathered, r *request) {
	for i := range r.facts {
		f := &r.facts[i]
		if g.base == nil {
			return
		}
		switch {
		case f.folded.chunks != g.base.chunks:
			g.base = nil
			return
		case f.kind == opVisit:
			r.results[i] = g.w.applyVisit(f, &g.rec)
		case f.kind == opField:
			if err := g.w.applyFields(f, &g.rec); err != nil {
				g.base = nil // the writer meets it again, and says so
				return
			}
		default:
			var err error
			if r.results[i], err = g.w.applyFolded(f, &g.rec); err != nil {
				g.base = nil // the writer meets it again, and says so
				return
			}
		}
	}
}

// settle makes the group ready for the writer, which has nothing else to do now:
// if it was not worked out yet, it can be.
func (db *DB) settle(g *gathered) {
	if g.w == nil {
		db.workFrom(g, db.view.Load())
	}
	if g.base != nil {
		g.after.Store(g.finish())
	}
}

// finish returns the view that a group leaves that goes to the log.
func (g *gathered) finish() *view {
	if len(g.rec) == 0 {
		return g.base
	}
	g.w.draft.number(1)
	return g.w.draft.finish()
}

// commitLoop is the writer. Where the next group is waiting, it takes it before it
// wakes the callers of the one before, who would get in the way.
func (db *DB) commitLoop(ctx context.Context) {
	defer db.background.Done()
	written := new(gathered)
	for commits := 0; ; commits++ {
		if !db.gathering.Load() {
			written.wake()
		}
		if commits >= db.opts.logAfter && !db.logging.Load() && db.holdLog.Load() == 0 {
			db.startLog()
			commits = 0
		}
		select {
		case <-ctx.Done():
			return
		case db.ready <- struct{}{}:
		}
		select {
		case <-ctx.Done():
			return
		case g := <-db.groups:
			written.wake()
			db.commitGroup(g)
			db.afterCommit(ctx, g)
			written = g
		}
	}
}

// wake tells the callers that their requests are committed or failed; once is
// enough.
func (g *gathered) wake() {
	for _, r := range g.requests {
		r.done <- struct{}{}
	}
	g.requests = nil
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
	g.wake()
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
