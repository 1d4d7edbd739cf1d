package store

import (
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// reader answers about one transaction and the view that goes with it. The
// committer and snapshots share it. It may be used by several goroutines,
// unless its transaction is writable.
type reader struct {
	set      settings
	verified *verified
	tx       *bolt.Tx
	view     *view
	opened   *opened // nil where nothing is kept
	held     *held   // nil where days are not listed

	precision uint8 // of sketches
}

// The buckets of the file; open made sure that all of them are there.
func (r *reader) events() *bolt.Bucket   { return r.tx.Bucket(bucketEvents) }
func (r *reader) days() *bolt.Bucket     { return r.tx.Bucket(bucketDays) }
func (r *reader) totals() *bolt.Bucket   { return r.tx.Bucket(bucketTotals) }
func (r *reader) registry() *bolt.Bucket { return r.tx.Bucket(bucketRegistry) }
func (r *reader) brands() *bolt.Bucket   { return r.tx.Bucket(bucketBrands) }
func (r *reader) journal() *bolt.Bucket  { return r.tx.Bucket(bucketJournal) }
func (r *reader) folded() *bolt.Bucket   { return r.tx.Bucket(bucketFolded) }

// Buckets that may not be there yet: nil then.
func (r *reader) sets() *bolt.Bucket      { return r.tx.Bucket(bucketSets) }
func (r *reader) setChunks() *bolt.Bucket { return r.tx.Bucket(bucketSetChunks) }

// guard runs fn and turns what a damaged file makes bbolt and the memory map
// do, panics and faults, into ErrCorrupt. Whatever touches the file runs in it.
func guard(what string, fn func() error) error {
	if err := guarded(fn); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// guarded is guard of something without a name.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = corruptf("%v", p)
		}
	}()
	return fn()
}

// openEvent is event without what the reader keeps; number 0 says that the event
// was never written.
func (r *reader) openEvent(name string) (e eventRecord, err error) {
	v, err := lookup(r.events(), []byte(name), eventHolds)
	if v == nil || err != nil {
		return e, err
	}
	return unsealEvent([]byte(name), v)
}

// total returns the folded cardinality of a day, and the bytes of its chunks.
func (r *reader) total(k dayKey) (pair, error) {
	v, err := lookup(r.totals(), k.bytes(), totalHolds)
	if v == nil || err != nil {
		return pair{}, err
	}
	return openTotal(k, v)
}

func openTotal(k dayKey, v []byte) (pair, error) {
	t, ok := unsealPair(tagTotal, k.bytes(), v)
	if !ok {
		return pair{}, corruptf("the total of %s: checksum does not hold", k.day())
	}
	return t, nil
}

// cardinality returns the exact number of bits of a day, with those in the
// journal. Cost: one lookup.
func (r *reader) cardinality(k dayKey) (uint64, error) {
	t, err := r.total(k)
	if err != nil {
		return 0, err
	}
	if d, ok := r.view.days.Get(k); ok {
		return uint64(int64(t.first) + d.delta), nil
	}
	return t.first, nil
}

// bit returns whether a bit is set, and whether it is set in its chunk.
func (r *reader) bit(k dayKey, pos uint32) (set, base bool, err error) {
	if o, ok := r.view.opsOf(k, pos>>r.set.chunkBits()).get(pos, nil); ok {
		return o.set, o.base, nil
	}
	base, err = r.foldedBit(k, pos)
	return base, base, err
}

// foldedBit returns whether a bit is set in its chunk.
func (r *reader) foldedBit(k dayKey, pos uint32) (bool, error) {
	number := pos >> r.set.chunkBits()
	c, err := r.foldedChunk(k, number)
	if c == nil || err != nil {
		return false, err
	}
	return c.contains(pos)
}

// readChunk is foldedChunk without what the reader keeps.
func (r *reader) readChunk(k dayKey, number uint32) (*chunk, error) {
	bucket, err := r.chunkBucket(k)
	if bucket == nil || err != nil {
		return nil, err
	}
	v, err := r.chunkValue(bucket, k, number)
	if v == nil || err != nil {
		return nil, err
	}
	c, err := r.openChunk(k, number, v)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.day(), err)
	}
	return &c, nil
}
