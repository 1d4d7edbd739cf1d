package store

import (
	"runtime"
	"sync/atomic"
)

// Callers gather their requests into groups and work out themselves, in memory, what
// each changes, while the committer waits for the disk with the group before; when it
// is free it gets the next, as one record to write to the log. What a group changes can
// only be known from the view that the group before leaves, so a draft is built on a
// draft; where a fold, a load or a failed commit came in between, the committer sees
// that the view is another one, and works the group out again. A group that names a new
// event, and every group before there is a log, is a transaction of the store's file.

// groupMax bounds the facts of one group commit, and with them its record.
const groupMax = 8192

// gathered is the requests of one group commit.
type gathered struct {
	requests []*request
	facts    int
	before   *gathered     // the group before, until it is known what that leaves
	ended    chan struct{} // closed when the group is committed or failed
	woken    bool          // ended is closed

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

// newGroup returns an empty group that comes after another.
func newGroup(before *gathered) *gathered {
	if before == nil {
		before = new(gathered)
		before.done.Store(true)
	}
	return &gathered{before: before, ended: make(chan struct{})}
}

// gather adds a request to the last group that is gathered, and works it out where the
// view before the group is known.
func (db *DB) gather(r *request) *gathered {
	db.gatherMu.Lock()
	defer db.gatherMu.Unlock()
	g := db.groups[len(db.groups)-1]
	if g.facts >= groupMax {
		db.settle(g)
		g = newGroup(g)
		db.groups = append(db.groups, g)
	}
	g.requests = append(g.requests, r)
	g.facts += r.size()
	switch {
	case g.w != nil:
		db.workOut(g, r)
	case g.before.done.Load():
		db.workFrom(g, db.view.Load())
	default:
		db.workFrom(g, g.before.after.Load())
	}
	return g
}

// enough is the size from which a group does not wait for callers on their way.
const enough = 16

// nextGroup takes the next group to commit, ready for it; nil where there is none.
// Callers that the last commit woke are on their way with their next mark, so it lets
// them run a few times: larger groups for a microsecond of a lone caller.
func (db *DB) nextGroup() *gathered {
	for range 3 {
		switch n := db.gatheredRequests(); {
		case n == 0:
			return nil
		case n >= enough:
			return db.takeGroup()
		}
		runtime.Gosched()
	}
	return db.takeGroup()
}

// gatheredRequests returns how many requests wait in the next group.
func (db *DB) gatheredRequests() int {
	db.gatherMu.Lock()
	defer db.gatherMu.Unlock()
	return len(db.groups[0].requests)
}

func (db *DB) takeGroup() *gathered {
	db.gatherMu.Lock()
	defer db.gatherMu.Unlock()
	g := db.groups[0]
	if g.w == nil {
		db.workFrom(g, db.view.Load()) // the group before is committed
	}
	db.settle(g)
	g.before = nil
	if len(db.groups) > 1 {
		db.groups = db.groups[1:]
	} else {
		db.groups[0] = newGroup(g)
	}
	return g
}

// workFrom starts the group's draft on a view, if that is known, and works out the
// requests that it has.
func (db *DB) workFrom(g *gathered, base *view) {
	if base == nil || !db.logging.Load() { // it needs a transaction, whose number is not known
		return
	}
	g.base, g.before = base, nil
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

// settle ends the gathering of a group: it is known then what it leaves, if it was
// worked out.
func (db *DB) settle(g *gathered) {
	if g.base != nil && g.after.Load() == nil {
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
