package store

import "sync/atomic"

// A looker is a read transaction that callers of Mark share to look up what is
// folded of their marks. Journal commits do not change that, so it serves some
// of them, and keeps the buckets it has opened: a look-up costs a third of one
// in a transaction of its own.
type looker struct {
	reader
	users atomic.Int64 // its users, less lookerRetired once no more may come
}

// lookerRetired is more than the users of a looker. One that is retired is closed with
// its last user.
const lookerRetired = 1 << 32

// lookerCommits bounds the commits that a looker outlives. While it is open the
// pages that they free cannot be used again, a few each.
const lookerCommits = 32

// look runs fn on the looker, in guard.
func (db *DB) look(what string, fn func(r *reader) error) error {
	l, err := db.takeLooker(what)
	if err != nil {
		return err
	}
	defer l.less(1)
	return guard(what, func() error { return fn(&l.reader) })
}

func (db *DB) takeLooker(what string) (*looker, error) {
	if l := db.looker.Load(); l != nil && l.take() {
		return l, nil
	}
	db.lookMu.Lock()
	if db.alone {
		db.lookMu.Unlock()
		l, err := db.newLooker(what)
		if err == nil {
			l.users.Add(-lookerRetired)
		}
		return l, err
	}
	defer db.lookMu.Unlock()
	if l := db.looker.Load(); l != nil && l.take() {
		return l, nil
	}
	l, err := db.newLooker(what)
	if err == nil {
		db.looker.Store(l)
	}
	return l, err
}

// take adds a user, unless the looker is retired.
func (l *looker) take() bool {
	for n := l.users.Load(); n >= 0; n = l.users.Load() {
		if l.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// less takes users away, and closes a retired looker that has no more.
func (l *looker) less(users int64) {
	if l.users.Add(-users) == -lookerRetired {
		_ = l.tx.Rollback() // a read transaction has nothing to lose
	}
}

// newLooker returns a looker with one user.
func (db *DB) newLooker(what string) (*looker, error) {
	l := new(looker)
	l.users.Store(1)
	err := guard(what, func() (err error) {
		l.reader, err = db.begin()
		return err
	})
	l.opened = new(opened)
	return l, err
}

// retireLooker has the next caller open another looker, where the view is one
// that this one cannot serve, or one of many commits later. A nil view is none, or
// one with names that this one has not.
func (db *DB) retireLooker(v *view) {
	db.lookMu.Lock()
	defer db.lookMu.Unlock()
	l := db.looker.Load()
	if l == nil || (v != nil && v.chunks == l.view.chunks && v.txid-l.view.txid < lookerCommits) {
		return
	}
	db.looker.Store(nil)
	l.less(lookerRetired)
}

// mapRoom is more than a transaction makes the file grow.
const mapRoom = 8 << 30

// lookAlone has callers take lookers of their own, which end with their look-ups. A
// transaction of the file that outgrows the map waits until nobody reads, and would
// wait for ever for a looker that is only retired behind it.
func (db *DB) lookAlone(alone bool) {
	db.lookMu.Lock()
	db.alone = alone
	db.lookMu.Unlock()
	if alone {
		db.retireLooker(nil)
	}
}
