package store

import "context"

// request is a caller's facts on their way through the committer.
type request struct {
	facts   []fact
	results []Result // as long as facts; those before the failed one are set
	err     error    // set when the group has ended

	oneFact   [1]fact // room for the one fact of most requests
	oneResult [1]Result
}

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

// submit has the request committed and returns when it is, or refused. The error is
// ctx's where it had ended before; the request's own outcome stands in it.
func (db *DB) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g := db.gather(r)
	select {
	case db.wakeCommit <- struct{}{}:
	default:
	}
	<-g.ended
	return nil
}

// commitOne has one fact committed and returns what came of it. Requests are used
// again, which spares the collector an allocation a mark.
func (db *DB) commitOne(ctx context.Context, f fact) (Result, error) {
	r, ok := db.idle.Get().(*request)
	if !ok {
		r = new(request)
	}
	r.oneFact[0] = f
	r.facts, r.results = r.oneFact[:], r.oneResult[:]
	err := db.submit(ctx, r)
	if err == nil {
		err = r.err
	}
	result := r.oneResult[0]
	*r = request{}
	db.idle.Put(r)
	return result, err
}
