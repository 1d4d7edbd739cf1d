package store

import (
	"context"
	"sync/atomic"
)

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

// size is what a request adds to its group, in marks.
func (r *request) size() int {
	n := 0
	for i := range r.facts {
		n++
		if w := r.facts[i].fields; w != nil {
			n += len(w.updates)
		}
	}
	return n
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
