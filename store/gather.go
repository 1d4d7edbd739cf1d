package store

import (
	"context"
	"runtime"
	"sync/atomic"
)

// Marks pass two goroutines on their way to disk. The gatherer takes what callers
// hand in and works out, in memory, what it changes, while the committer waits for
// the disk with the group before; when the committer is ready it gets the group,
// as one record to write to the log. What a group changes it can only know from
// the view that the group before leaves, so a draft is built on a draft; where a
// fold, a load or a failed commit came in between, the committer sees that the view
// is another one, and works the group out again. A group that names a new event,
// and every group before there is a log, is a transaction of the store's file.

// groupMax bounds the facts of one group commit, and with them its record.
const groupMax = 8192

// gathered is the requests of one group commit.
type gathered struct {
	requests []*request
	facts    int

	// base is the view that the group was worked out on, nil where it was not;
	// then the committer does it. The rest is what came of it.
	base *view
	w    *writer // without a transaction
	rec  records

	// after is the view that the group will leave, once that is known; done says
	// that it was committed or failed.
	after atomic.Pointer[view]
	done  atomic.Bool
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
	g.facts += r.size()
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
	if g.base == nil {
		return
	}
	d := base.draft(base.txid)
	g.w = &writer{reader: reader{set: db.set, verified: db.verified, view: &d.view, precision: db.precision}, draft: d}
	for _, r := range g.requests {
		db.workOut(g, r)
	}
}

// workOut applies a request to the group's draft. Where it needs to look into
// the file for that, the group is left to the committer.
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
				g.base = nil // the committer meets it again, and says so
				return
			}
		default:
			var err error
			if r.results[i], err = g.w.applyFolded(f, &g.rec); err != nil {
				g.base = nil // the committer meets it again, and says so
				return
			}
		}
	}
}

// settle makes the group ready for the committer, which has nothing else to do now:
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
