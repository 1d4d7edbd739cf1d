package store

import (
	bolt "go.etcd.io/bbolt"
)

// A store that was closed is opened without a look at the leaves in which its chunks
// stand (see openFile). How many entries a leaf has stands in the head of its page,
// which nothing guards: where that was damaged, the last entries of the leaf are hidden,
// and a look-up for one finds the first of the next leaf, and that holds. So before an
// entry of such a bucket is taken to be absent, or entries are read up to where they end,
// the values of the bucket must take as many bytes as is noted of them in another place.
// That is found out once of each state of a bucket since the store was opened. Writers,
// who note what they changed a moment after, ask before they begin with a bucket.

// isWhole returns an error unless the values of a bucket take so many bytes as are noted
// of it. Buckets small enough to stand in a page of their parent were looked at when the
// store was opened. Cost: the first time, a step for each entry.
func (r *reader) isWhole(t tag, key []byte, b *bolt.Bucket, noted func() (bytes uint64, err error)) error {
	root := uint64(b.Root())
	if root == 0 {
		return nil
	}
	return r.verified.once(t, key, root, func() error {
		want, err := noted()
		if err != nil {
			return err
		}
		var sum uint64
		c := b.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			sum += uint64(len(v))
		}
		if sum != want {
			return corruptf("the chunks take %d bytes, not %d", sum, want)
		}
		return nil
	})
}

// isWholeDay is isWhole of a day's chunks.
func (r *reader) isWholeDay(b *bolt.Bucket, k dayKey) error {
	return r.isWhole(tagChunk, k.bytes(), b, func() (uint64, error) {
		t, err := r.total(k)
		return t.second, err
	})
}

// isWholeSketches is isWhole of a day's sketches.
func (r *reader) isWholeSketches(b *bolt.Bucket, d Day) error {
	return r.isWhole(tagSketchBlock, sketchDayKey(d), b, func() (uint64, error) {
		t, err := r.sketchTotal(d)
		return t.second, err
	})
}

// isWholeKept is isWhole of something remembered.
func (r *reader) isWholeKept(b *bolt.Bucket, k keptKey) error {
	return r.isWhole(tagKept, k.bytes(), b, func() (uint64, error) {
		rec, _, err := r.keptRecord(k)
		return rec.bytes, err
	})
}

// isWholeSet is isWhole of a saved set's chunks.
func (r *reader) isWholeSet(b *bolt.Bucket, set SavedSet) error {
	return r.isWhole(tagSetChunk, []byte(set.Name), b, func() (uint64, error) { return set.Bytes, nil })
}

// isWholeField is isWhole of a field's slices.
func (r *reader) isWholeField(b *bolt.Bucket, f Field) error {
	return r.isWhole(tagFieldSlice, fieldBucketKey(f.number), b, func() (uint64, error) { return f.Bytes, nil })
}
