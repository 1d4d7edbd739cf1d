package store

import (
	"sync"
	"sync/atomic"

	"cohort/placement"

	bolt "go.etcd.io/bbolt"
)

// A looker is a read transaction that callers of Mark share to look up what is
// folded of their marks. Journal commits do not change that, so it serves some
// of them, and keeps the buckets it has opened: a look-up costs a third of one
// in a transaction of its own.
type looker struct {
	reader
	users   int  // guarded by DB.lookMu
	retired bool // guarded by DB.lookMu: closed with its last user
}

// lookerCommits bounds the commits that a looker outlives. While it is open the
// pages that they free cannot be used again, a few each.
const lookerCommits = 32

// look runs fn on the looker, in guard.
func (db *DB) look(what string, fn func(r *reader) error) error {
	l, err := db.takeLooker(what)
	if err != nil {
		return err
	}
	defer db.dropLooker(l)
	return guard(what, func() error { return fn(&l.reader) })
}

func (db *DB) takeLooker(what string) (*looker, error) {
	db.lookMu.Lock()
	if db.alone {
		db.lookMu.Unlock()
		l, err := db.newLooker(what)
		if err == nil {
			l.retired = true
		}
		return l, err
	}
	defer db.lookMu.Unlock()
	if db.looker != nil {
		db.looker.users++
		return db.looker, nil
	}
	l, err := db.newLooker(what)
	if err == nil {
		db.looker = l
	}
	return l, err
}

// newLooker returns a looker with one user.
func (db *DB) newLooker(what string) (*looker, error) {
	l := &looker{users: 1}
	err := guard(what, func() (err error) {
		l.reader, err = db.begin()
		return err
	})
	l.opened = new(opened)
	return l, err
}

func (db *DB) dropLooker(l *looker) {
	db.lookMu.Lock()
	defer db.lookMu.Unlock()
	if l.users--; l.users == 0 && l.retired {
		_ = l.tx.Rollback() // a read transaction has nothing to lose
	}
}

// retireLooker has the next caller open another looker, where the view is one
// that this one cannot serve, or one of many commits later. A nil view is none, or
// one with names that this one has not.
func (db *DB) retireLooker(v *view) {
	db.lookMu.Lock()
	defer db.lookMu.Unlock()
	l := db.looker
	if l == nil || (v != nil && v.chunks == l.view.chunks && v.txid-l.view.txid < lookerCommits) {
		return
	}
	db.looker, l.retired = nil, true
	if l.users == 0 {
		_ = l.tx.Rollback() // as above
	}
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

// opened are what a reader has found before. Of names only those that are there are
// kept; of buckets and chunks also that there is none, which a new day's are until
// they are folded.
type opened struct {
	events sync.Map // event name -> eventRecord
	days   sync.Map // dayKey -> *bolt.Bucket of chunks
	brands sync.Map // placement.Brand -> *bolt.Bucket of registry chunks
	pages  sync.Map // key of a page -> its number
	chunks sync.Map // chunkRef -> *chunk
	ids    sync.Map // idsRef -> *idsValue
	held   atomic.Int32
}

// openedMax bounds the buckets and chunks that a looker keeps: about 10 MB.
const openedMax = 1 << 16

type chunkRef struct {
	day    dayKey
	number uint32
}

type idsRef struct {
	brand  placement.Brand
	number uint32
}

// keep returns what m has of the key, or else what open finds, which it keeps
// unless it is the zero value.
func keep[K, V comparable](m *sync.Map, key K, open func() (V, error)) (V, error) {
	if v, ok := m.Load(key); ok {
		return v.(V), nil
	}
	v, err := open()
	var none V
	if err == nil && v != none {
		m.Store(key, v)
	}
	return v, err
}

// keepSome is keep of buckets and chunks, of which nil says that there is none, as long
// as there is room.
func keepSome[K comparable, V any](o *opened, m *sync.Map, key K, open func() (*V, error)) (*V, error) {
	if v, ok := m.Load(key); ok {
		return v.(*V), nil
	}
	v, err := open()
	if err == nil && o.held.Load() < openedMax {
		o.held.Add(1)
		m.Store(key, v)
	}
	return v, err
}

// foldedChunk returns a chunk of a day, or nil where it has none.
func (r *reader) foldedChunk(k dayKey, number uint32) (*chunk, error) {
	if r.opened == nil {
		return r.readChunk(k, number)
	}
	return keepSome(r.opened, &r.opened.chunks, chunkRef{k, number}, func() (*chunk, error) { return r.readChunk(k, number) })
}

// registryChunk returns a chunk of a brand's registry, or nil where it has none.
func (r *reader) registryChunk(b placement.Brand, number uint32) (*idsValue, error) {
	if r.opened == nil {
		return r.readIDs(b, number)
	}
	return keepSome(r.opened, &r.opened.ids, idsRef{b, number}, func() (*idsValue, error) { return r.readIDs(b, number) })
}

// chunkBucket returns the bucket of a day's chunks, or nil where none is folded.
func (r *reader) chunkBucket(k dayKey) (*bolt.Bucket, error) {
	if r.opened == nil {
		return r.openChunkBucket(k)
	}
	return keepSome(r.opened, &r.opened.days, k, func() (*bolt.Bucket, error) { return r.openChunkBucket(k) })
}

// brandBucket returns the bucket of a brand's registry chunks, or nil where none
// is folded.
func (r *reader) brandBucket(b placement.Brand) (*bolt.Bucket, error) {
	if r.opened == nil {
		return r.openBrandBucket(b)
	}
	return keepSome(r.opened, &r.opened.brands, b, func() (*bolt.Bucket, error) { return r.openBrandBucket(b) })
}

// event returns the record of the named event; ok is false where it was never
// written.
func (r *reader) event(name string) (e eventRecord, ok bool, err error) {
	if r.opened == nil {
		e, err = r.openEvent(name)
	} else {
		e, err = keep(&r.opened.events, name, func() (eventRecord, error) { return r.openEvent(name) })
	}
	return e, err == nil && e.number != 0, err
}
