package store

import (
	"errors"
	"fmt"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// writer is a reader of a write transaction whose view is the draft of the
// next one.
type writer struct {
	reader
	draft *draft
	bound map[string]eventRecord // events met in this transaction
	units []foldedUnit           // what a fold has written
	pace  *pace                  // of a fold that marks go on beside
	ended bool                   // the log is not needed any more
	named bool                   // it created an event or a page, which no looker knows
}

// update runs fn in a write transaction and commits it, unless fn says that
// there is nothing to commit. On success the draft becomes the store's view.
// On failure nothing has changed. Marks wait meanwhile.
func (db *DB) update(what string, fn func(w *writer) (commit bool, err error)) error {
	return db.transact(what, false, fn)
}

// transact is update, where marks go on beside the transaction if fn does
// nothing to the draft but to take what it folds, or to raise the floor.
func (db *DB) transact(what string, beside bool, fn func(w *writer) (commit bool, err error)) error {
	if db.cfg.ReadOnly {
		return fmt.Errorf("%s: %s: %w", what, db.cfg.Path, ErrReadOnly)
	}
	return guard(what, func() error {
		db.writeMu.Lock()
		defer db.writeMu.Unlock()
		if !beside {
			db.viewMu.Lock()
			defer db.viewMu.Unlock()
		}
		if err := db.failure(); err != nil {
			return err
		}
		db.keepNone(true)
		defer db.keepNone(false)
		tx, err := db.bolt.Begin(true)
		if err != nil {
			return boltError(err)
		}
		committed := false
		defer func() {
			if !committed {
				db.rollback(tx)
			}
		}()
		if tx.Size()+mapRoom > int64(db.mapped) {
			db.lookAlone(true)
			defer db.lookAlone(false)
		}
		from := db.view.Load()
		if tx.ID() != from.txid+1 {
			return errHead
		}
		w := db.newWriter(tx, from)
		commit, err := fn(w)
		if err != nil || !commit {
			return err
		}
		known := false // whether it is known what is in the file
		defer func() {
			if !known { // something panicked
				db.fail(fmt.Errorf("%s: interrupted in a commit; close the store and open it again", what))
			}
		}()
		if err := db.commit(tx); err != nil {
			known = true
			return db.commitFailed(err)
		}
		committed = true
		db.dirty.Store(true)
		if beside {
			db.viewMu.Lock()
			defer db.viewMu.Unlock()
		}
		v := w.rebase(from, db.view.Load())
		db.view.Store(v)
		known = true
		if w.ended {
			db.dropLog()
		}
		if w.named {
			v = nil
		}
		db.retireLooker(v)
		return nil
	})
}

// rewrite is update for what writes chunks or the registry.
func (db *DB) rewrite(what string, fn func(w *writer) (commit bool, err error)) error {
	return db.update(what, func(w *writer) (bool, error) {
		w.draft.chunks = w.draft.txid
		return fn(w)
	})
}

func (db *DB) newWriter(tx *bolt.Tx, v *view) *writer {
	d := v.draft(tx.ID())
	w := &writer{reader: reader{set: db.set, verified: db.verified, tx: tx, view: &d.view, precision: db.precision}, draft: d, bound: make(map[string]eventRecord)}
	w.journal().FillPercent = 1 // it only grows at its end
	return w
}

// rollback gives a transaction up. A damaged file can make even that panic, or
// a commit that failed has done it already.
func (db *DB) rollback(tx *bolt.Tx) {
	defer func() {
		if p := recover(); p != nil {
			db.fail(corruptf("rollback: %v", p))
		}
	}()
	_ = tx.Rollback() // the only error: it is closed already
}

// commitFailed tells whether the file still stands at the last commit. Where
// only the sync of the new head failed, it cannot be known whether the commit
// will survive: the store refuses everything from then on.
func (db *DB) commitFailed(cause error) error {
	cause = fmt.Errorf("commit: %w; what was committed before is intact", cause)
	tx, err := db.bolt.Begin(false)
	if err != nil {
		db.fail(cause)
		return cause
	}
	at := tx.ID()
	if err := tx.Rollback(); err != nil || at != db.view.Load().txid {
		cause = fmt.Errorf("%w; close the store and open it again", cause)
		db.fail(cause)
	}
	return cause
}

// errNewEvent says that an event or a page must be created, or a field bound to a
// brand, in a transaction that cannot.
var errNewEvent = errors.New("the event or page is new")

// bindEvent returns the event's record, creating it for the brand where it was
// never written. It refuses another brand than the event's.
func (w *writer) bindEvent(name, id string, b placement.Brand) (eventRecord, error) {
	e, ok := w.bound[name]
	if !ok {
		var err error
		if e, ok, err = w.event(name); err != nil {
			return e, err
		}
	}
	if ok {
		w.bound[name] = e
		return e, checkBrand(name, e.brand, id, b)
	}
	if !w.tx.Writable() {
		return e, errNewEvent
	}
	number, err := nextNumber(w.events())
	if err == nil {
		e = eventRecord{number, b}
		err = w.events().Put([]byte(name), e.seal([]byte(name)))
	}
	if err != nil {
		return e, fmt.Errorf("event %q: %w", name, err)
	}
	w.named = true
	return e, nil
}

// nextNumber gives away the next number of a bucket's events, pages or fields.
func nextNumber(b *bolt.Bucket) (uint32, error) {
	n, err := b.NextSequence()
	if err == nil && n > 1<<32-1 {
		err = errors.New("all 4,294,967,295 numbers are given away")
	}
	return uint32(n), err
}

func checkBrand(event string, of placement.Brand, id string, b placement.Brand) error {
	if of != b {
		return &BrandError{Event: event, EventBrand: of, ID: id, OffendBrand: b}
	}
	return nil
}

// addID makes an id known that is not.
func (w *writer) addID(b placement.Brand, e idEntry, others bool) {
	if !w.set.keepStrings() {
		e.id = ""
	}
	w.draft.addID(b, e.mixed.Placement()>>w.set.registryBits(), e, !others)
	if w.set.dense() {
		w.draft.place(b, e.pos, e.mixed.Placement())
	}
}

// dayTotal collects what writing a day's chunks changes in its total.
type dayTotal struct {
	cardinality, bytes int64
	changed            bool // a bit was set or cleared
}

// chunkChange is what merging positions makes of one chunk of a day. mergeChunk
// may run beside that of other chunks; only putChunk needs the transaction.
type chunkChange struct {
	key    dayKey
	number uint32
	old    []byte    // the sealed chunk, or nil
	ops    *chunkOps // of the journal, or nil
	add    []uint32  // in any order, repeats allowed
	remove []uint32  // of what is there, not of add

	value         []byte // the new sealed chunk, nil where no bit is left
	before, after uint64 // cardinalities of the old and the new chunk
	added         uint64 // positions that neither the chunk nor the journal had
	changed, lost bool   // a bit was set or cleared, was cleared
}

// newChunkChange collects what a change of a chunk starts from.
func (w *writer) newChunkChange(bucket *bolt.Bucket, k dayKey, number uint32, add []uint32) (*chunkChange, error) {
	old, err := w.chunkOfWhole(bucket, k, number)
	return &chunkChange{key: k, number: number, old: old, ops: w.view.opsOf(k, number), add: add}, err
}

// sparse is the number of positions a chunk of which each container has a few
// hundred at most: merged as lists they take a quarter of the time.
func (s settings) sparse() int { return 1 << s.chunkBits() / 256 }

// mergeChunk computes the new chunk.
func (r *reader) mergeChunk(c *chunkChange) error {
	c.sort(r.set.chunkBits())
	if len(c.remove) == 0 {
		if done, err := r.mergeLists(c); done || err != nil {
			return err
		}
	}
	b := roaring.New()
	if c.old != nil {
		old, err := r.openChunk(c.key, c.number, c.old)
		if err != nil {
			return err
		}
		if b, err = old.bitmap(); err != nil {
			return err
		}
	}
	c.before = b.GetCardinality()
	c.ops.apply(b)
	c.noteOps()
	for _, p := range c.remove {
		if b.CheckedRemove(p) {
			c.changed, c.lost = true, true
		}
	}
	unfolded := b.GetCardinality()
	b.AddMany(c.add)
	c.after = b.GetCardinality()
	c.added = c.after - unfolded
	c.changed = c.changed || c.added > 0
	var err error
	c.value, err = sealChunk(c.key, c.number, r.set.chunkBits(), b)
	return err
}

// sort brings what is to be added in order. Where that is a good part of the chunk,
// setting bits and reading them is quicker than comparing: 3 ns a position for 60.
func (c *chunkChange) sort(bits uint) {
	if len(c.add) < 1<<bits/64 {
		c.add = sortSpread(c.add, func(p uint32) uint64 { return uint64(p) << (64 - bits) }, slices.Sort)
		return
	}
	all := newBitset(bits)
	all.begin(c.number << bits)
	all.add(c.add)
	c.add = all.positions()
}

// noteOps notes whether the operations set or clear a bit.
func (c *chunkChange) noteOps() {
	if c.ops == nil {
		return
	}
	for _, o := range c.ops.ops.all(compareOps) {
		c.changed = c.changed || o.set != o.base
		c.lost = c.lost || o.base && !o.set
	}
}

// mergeLists is mergeChunk of a sparse chunk from which nothing is to be removed. It
// reports whether it did it.
func (r *reader) mergeLists(c *chunkChange) (done bool, err error) {
	var old chunk
	if c.old != nil {
		if old, err = r.openChunk(c.key, c.number, c.old); err != nil {
			return false, err
		}
	}
	n := int(old.card) + c.ops.size() + len(c.add)
	if n > r.set.sparse() {
		return false, nil
	}
	had, err := old.list(make([]uint32, 0, old.card))
	if err != nil {
		return false, err
	}
	c.before = uint64(len(had))
	if c.ops != nil {
		had = c.ops.applied(had)
		c.noteOps()
	}
	merged := make([]uint32, 0, n)
	for a, b := had, c.add; len(a) > 0 || len(b) > 0; {
		var v uint32
		switch {
		case len(b) == 0 || (len(a) > 0 && a[0] < b[0]):
			v, a = a[0], a[1:]
		default:
			v, b = b[0], b[1:]
		}
		if len(merged) == 0 || merged[len(merged)-1] != v {
			merged = append(merged, v)
		}
	}
	c.after = uint64(len(merged))
	c.added = c.after - uint64(len(had))
	c.changed = c.changed || c.added > 0
	c.value = sealPositions(c.key, c.number, r.set.chunkBits(), merged)
	return true, nil
}

// putChunk writes a merged chunk and adds to the day's total.
func (w *writer) putChunk(bucket *bolt.Bucket, c *chunkChange, total *dayTotal) error {
	var err error
	if c.value == nil {
		err = bucket.Delete(chunkKey(c.number))
	} else {
		err = bucket.Put(chunkKey(c.number), c.value)
	}
	if err != nil {
		return fmt.Errorf("chunk %d: %w", c.number, err)
	}
	total.cardinality += int64(c.after) - int64(c.before)
	total.bytes += int64(len(c.value)) - int64(len(c.old))
	total.changed = total.changed || c.changed
	if c.lost {
		if err := w.dropFromRollups(c.key, c.number); err != nil {
			return err
		}
	}
	w.draft.dropChunk(c.key, c.number)
	return nil
}

// createDay returns the bucket of a day's chunks, creating it where none is
// folded.
func (w *writer) createDay(k dayKey) (*bolt.Bucket, error) {
	b, err := w.chunkBucket(k)
	switch {
	case err != nil:
	case b == nil:
		b, err = w.days().CreateBucket(k.bytes())
	default:
		err = w.isWholeDay(b, k)
	}
	if err != nil {
		return nil, fmt.Errorf("chunks of %s: %w", k.day(), err)
	}
	return b, nil
}

// addTotal changes the total of a day, and drops a day without bits. A day whose
// bits changed is marked as stale.
func (w *writer) addTotal(k dayKey, t dayTotal) error {
	if t.changed {
		if err := w.markStale(k); err != nil {
			return err
		}
	}
	have, err := w.total(k)
	if err != nil {
		return err
	}
	sum := pair{uint64(int64(have.first) + t.cardinality), uint64(int64(have.second) + t.bytes)}
	if int64(sum.first) < 0 {
		return corruptf("the total of %s, %d bits, is less than its chunks have", k.day(), have.first)
	}
	key := k.bytes()
	if sum.first == 0 {
		if err := w.totals().Delete(key); err != nil {
			return fmt.Errorf("total of %s: %w", k.day(), err)
		}
		if w.days().Bucket(key) == nil {
			return nil
		}
		if err := w.days().DeleteBucket(key); err != nil {
			return fmt.Errorf("chunks of %s: %w", k.day(), err)
		}
		return nil
	}
	if err := w.totals().Put(key, sum.seal(tagTotal, key)); err != nil {
		return fmt.Errorf("total of %s: %w", k.day(), err)
	}
	return nil
}

// markFolded records that the chunks of a day hold all that the journal has on
// it, so that a replay passes over it.
func (w *writer) markFolded(k dayKey) error {
	if err := w.folded().Put(k.bytes(), sealFolded(k.bytes(), w.view.seq)); err != nil {
		return fmt.Errorf("fold mark of %s: %w", k.day(), err)
	}
	return nil
}
