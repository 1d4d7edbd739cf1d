package store

import (
	"runtime"
	"time"
)

// A pace keeps a fold from crowding out marks: beside marks that are committed it rests
// restTimes as long as it has worked, after each chunk and after each commit. On two
// cores a fold that only yields has one for itself, while the sync of the marks' log
// often holds the other; and its own syncs stand before theirs at the disk.
type pace struct {
	db   *DB
	seq  uint64    // the journal's last record at the last rest
	from time.Time // the end of that
}

func (db *DB) newPace() *pace { return &pace{db, db.view.Load().seq, time.Now()} }

const (
	restTimes  = 4
	chunkRest  = time.Millisecond // the longest rest in a transaction, which others wait for
	commitRest = 10 * time.Millisecond
)

// rest ends a piece of the fold's work, with a rest of up to longest. Where no marks
// came meanwhile, and where so many came that the fold falls behind, it only yields. A
// nil pace is that of a fold that marks wait for.
func (p *pace) rest(longest time.Duration) {
	if p == nil {
		return
	}
	v := p.db.view.Load()
	if v.seq != p.seq && v.unfolded() < 2*p.db.opts.FoldMarks {
		time.Sleep(min(restTimes*time.Since(p.from), longest))
	} else {
		runtime.Gosched() // on few cores a mark would wait for a time slice
	}
	p.seq, p.from = v.seq, time.Now()
}
