package store

import (
	"bytes"
	"encoding/binary"

	"cohort/placement"

	bolt "go.etcd.io/bbolt"
)

// Values are sealed together with their keys, so a value is never taken for
// another one. But bbolt guards neither keys nor the flags and page numbers
// beside them: a damaged one makes an entry seem to be absent, and with it the
// bits of a day, or an id. So nothing is believed to be absent unless what
// stands there instead is whole, and what is read as a whole must add up to the
// total kept elsewhere.

// lookup returns the sealed value of a key, or nil where there is none. An entry
// whose key was damaged without leaving the order stands next to where it would
// be looked for: holds says whether an entry's seal fits its key, and is asked
// of both neighbours. A bucket that is not there, nil, is empty. Cost of an absent
// key: two checksums.
func lookup(b *bolt.Bucket, key []byte, holds func(key, value []byte) bool) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	c := b.Cursor()
	k, v := c.Seek(key)
	if k != nil && bytes.Equal(k, key) {
		if v == nil {
			return nil, corruptf("key %x: a bucket stands in the place of its value", key)
		}
		return v, nil
	}
	if k != nil && (bytes.Compare(k, key) < 0 || !holds(k, v)) {
		return nil, corruptf("key %x: what follows it, %x, does not hold", key, k)
	}
	if k, v = previous(c, k); k != nil && (bytes.Compare(k, key) > 0 || !holds(k, v)) {
		return nil, corruptf("key %x: what precedes it, %x, does not hold", key, k)
	}
	return nil, nil
}

// previous returns the entry before the one that a cursor found by Seek; found
// is nil where Seek went past the last one.
func previous(c *bolt.Cursor, found []byte) (key, value []byte) {
	if found == nil {
		return c.Last()
	}
	return c.Prev()
}

// The seals of the entries of each bucket.

func totalHolds(key, value []byte) bool {
	_, ok := unsealPair(tagTotal, key, value)
	return ok && len(key) == 8
}

func brandHolds(key, value []byte) bool {
	_, ok := unsealBrand(key, value)
	return ok && len(key) == 3
}

func eventHolds(key, value []byte) bool {
	_, err := unsealEvent(key, value)
	return err == nil
}

func foldedHolds(key, value []byte) bool {
	_, err := unsealFolded(key, value)
	return err == nil && len(key) == 8
}

func setHolds(key, value []byte) bool {
	_, err := unsealSet(key, value)
	return err == nil
}

// openChunkBucket is chunkBucket without what the reader keeps.
func (r *reader) openChunkBucket(k dayKey) (*bolt.Bucket, error) {
	if b := r.days().Bucket(k.bytes()); b != nil {
		return b, nil
	}
	t, err := r.total(k)
	if err == nil && t.first > 0 {
		err = corruptf("the chunks of %s are missing", k.day())
	}
	return nil, err
}

// chunkValue returns a sealed chunk from its day's bucket, or nil.
func (r *reader) chunkValue(b *bolt.Bucket, k dayKey, number uint32) ([]byte, error) {
	v, err := r.chunkOfWhole(b, k, number)
	if v == nil && err == nil {
		err = r.isWholeDay(b, k)
	}
	return v, err
}

// chunkOfWhole is chunkValue in a bucket that is known to be whole, as createDay
// returns it.
func (r *reader) chunkOfWhole(b *bolt.Bucket, k dayKey, number uint32) ([]byte, error) {
	return lookup(b, chunkKey(number), func(key, value []byte) bool {
		n, ok := parseChunkKey(key)
		if ok {
			_, ok = r.verified.unseal(tagChunk, chunkSealKey(k, n), value)
		}
		return ok
	})
}

// openBrandBucket is brandBucket without what the reader keeps.
func (r *reader) openBrandBucket(b placement.Brand) (*bolt.Bucket, error) {
	if bucket := r.registry().Bucket(brandBucketKey(b)); bucket != nil {
		return bucket, nil
	}
	n, err := r.foldedCounts(b)
	if err == nil && n.first > 0 {
		err = corruptf("the registry of brand %q is missing", b)
	}
	return nil, err
}

// idsValue returns a sealed registry chunk, or nil.
func (r *reader) idsValue(b placement.Brand, number uint32) ([]byte, error) {
	bucket, err := r.brandBucket(b)
	if bucket == nil || err != nil {
		return nil, err
	}
	return lookup(bucket, chunkKey(number), func(key, value []byte) bool {
		n, ok := parseChunkKey(key)
		if ok {
			_, ok = r.verified.unseal(tagIDs, idsSealKey(b, n), value)
		}
		return ok
	})
}

// listChunks appends the numbers of the chunks in a bucket, a day's, a brand's or a
// set's, and returns how many positions or ids the chunks say to hold.
func listChunks(b *bolt.Bucket, to []uint32) (numbers []uint32, sum uint64, err error) {
	sum, err = eachChunk(b, func(n uint32, _ []byte) { to = append(to, n) })
	return to, sum, err
}

// eachChunk calls fn with the number and the sealed value of each chunk in a bucket,
// in order, and returns how many positions or ids they say to hold: the second field
// of either payload.
func eachChunk(b *bolt.Bucket, fn func(number uint32, value []byte)) (sum uint64, err error) {
	c := b.Cursor()
	last := -1
	for key, value := c.First(); key != nil; key, value = c.Next() {
		n, ok := parseChunkKey(key)
		if !ok || int(n) <= last || len(value) < sealSize+chunkHeader {
			return 0, corruptf("key %x is that of no chunk, or out of order", key)
		}
		last = int(n)
		sum += uint64(binary.LittleEndian.Uint32(value[sealSize+1:]))
		fn(n, value)
	}
	return sum, nil
}
