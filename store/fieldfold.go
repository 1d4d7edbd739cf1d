package store

import (
	"context"
	"fmt"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// mergeField brings the slices of a chunk to what values, ascending by position, say,
// and counts what that changes in the field. Slices that stay as they are are not
// written. It returns the bytes written.
func (w *writer) mergeField(f *Field, number uint32, ops []fieldOp) (written int, err error) {
	if len(ops) == 0 {
		return 0, nil
	}
	all, err := w.decodeSlices(*f, number)
	if err != nil {
		return 0, err
	}
	bucket, err := w.tx.CreateBucketIfNotExists(bucketFieldSlices)
	if err == nil {
		bucket, err = bucket.CreateBucketIfNotExists(fieldBucketKey(f.number))
	}
	if err != nil {
		return 0, err
	}
	for slice := range sliceBits + f.Bits {
		b := roaring.New()
		if slice < len(all) && all[slice] != nil {
			b = all[slice]
		}
		before := b.GetCardinality()
		if !applyFieldOps(b, slice, ops) {
			continue
		}
		key := sliceKey(number, slice)
		value, err := sealChunkAs(tagFieldSlice, sliceSealKey(f.number, key), number, w.set.chunkBits(), b)
		if err != nil {
			return 0, err
		}
		f.Bytes += uint64(len(value)) - uint64(len(bucket.Get(key)))
		if slice == sliceExists {
			f.Count += b.GetCardinality() - before
		}
		if value == nil {
			err = bucket.Delete(key)
		} else {
			err = bucket.Put(key, value)
		}
		if err != nil {
			return 0, fmt.Errorf("chunk %d, slice %d: %w", number, slice, err)
		}
		written += len(value)
	}
	return written, nil
}

// closeField writes the record of a field whose slices were written. One without
// values has no slices.
func (w *writer) closeField(f Field) error {
	if f.Count == 0 && w.fieldSlices() != nil && w.fieldSlices().Bucket(fieldBucketKey(f.number)) != nil {
		if err := w.fieldSlices().DeleteBucket(fieldBucketKey(f.number)); err != nil {
			return err
		}
	}
	return w.putField(f)
}

// foldField folds units of the first one's field until limit bytes are written. It
// returns how many it folded and the bytes written.
func (w *writer) foldField(work []foldUnit, limit int) (n, written int, err error) {
	k := work[0].day
	live, err := w.fieldNumbers()
	if err != nil {
		return 0, 0, err
	}
	f, ok := live[k.event()] // or it was deleted meanwhile, and its values with it
	for n < len(work) && work[n].fields && work[n].day == k && written < limit {
		chunk := makeFieldChunk(k.event(), work[n].number)
		if ok {
			size, err := w.mergeField(&f, work[n].number, w.view.fieldOpsOf(chunk))
			if err != nil {
				return 0, 0, fmt.Errorf("field %q: %w", f.Name, err)
			}
			written += size
		}
		w.draft.dropFieldOps(chunk)
		w.units = append(w.units, foldedUnit{foldUnit: work[n]})
		n++
	}
	if !ok {
		return n, written, nil
	}
	if err := w.closeField(f); err != nil {
		return 0, 0, err
	}
	if len(w.view.fieldChunks(f.number)) > 0 {
		return n, written, nil
	}
	return n, written, w.markFolded(k)
}

// fromFields takes the values of the id away. Those at a placement that another known
// id shares go too: nobody could read them while there were two, and they may be this
// id's.
func (e *eraser) fromFields() error {
	fields, err := e.allFields()
	if err != nil {
		return err
	}
	for _, f := range fields {
		if f.Brand != e.brand {
			continue
		}
		s, err := e.foldedValue(f, e.pos)
		if err == nil && s.has {
			e.done.Fields++
			if _, err = e.mergeField(&f, e.pos>>e.set.chunkBits(), []fieldOp{{pos: e.pos, base: true}}); err == nil {
				err = e.closeField(f)
			}
		}
		if err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	return nil
}

// fieldParts checks the slices of fields: their sums, that each is part of those that
// have a value, that no zero is negative and no value out of range, and that the ids
// are known.
func (v *verifier) checkFields(context.Context) error {
	live := make(map[uint32]bool)
	v.check("fields", func() error {
		fields, err := v.fieldNumbers()
		if err != nil {
			return err
		}
		for _, f := range fields {
			live[f.number] = true
			v.done.Fields++
			if !v.isBroken(bucketFieldSlices, fieldBucketKey(f.number)) {
				v.check(fmt.Sprintf("field %q", f.Name), func() error { return v.checkField(f) })
			}
		}
		return nil
	})
	v.eachEntry("slices of fields", v.reader.fieldSlices(), func(key, _ []byte) error {
		if len(key) != 4 || !live[fieldNumberOf(key)] {
			return corruptf("key %x: slices without a field", key)
		}
		return nil
	})
	v.eachEntry("batches", v.fieldBatches(), func(key, value []byte) error {
		_, err := unsealBatch(key, value)
		if err == nil && !live[fieldNumberOf(key)] {
			err = corruptf("key %x: a batch without a field", key)
		}
		return err
	})
	return nil
}

func fieldNumberOf(key []byte) uint32 {
	return uint32(key[0])<<24 | uint32(key[1])<<16 | uint32(key[2])<<8 | uint32(key[3])
}

// checkField checks the slices of one field.
func (v *verifier) checkField(f Field) error {
	if err := CheckField(f.Name); err != nil {
		return corruptf("%v", err)
	}
	bucket, err := v.sliceBucket(f)
	if bucket == nil || err != nil {
		return err
	}
	var count, bytes uint64
	chunks := make(map[uint32]bool)
	var order []uint32
	c := bucket.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		n, _, ok := parseSliceKey(key)
		if !ok || n >= 1<<(32-v.set.chunkBits()) {
			return corruptf("key %x is that of no slice", key)
		}
		bytes += uint64(len(value))
		if !chunks[n] {
			chunks[n] = true
			order = append(order, n)
		}
	}
	for _, n := range order {
		v.check(fmt.Sprintf("field %q, chunk %d", f.Name, n), func() error {
			s, err := v.slicesOf(f, n, nil)
			if err != nil {
				return err
			}
			count += s.Exists.GetCardinality()
			return v.checkSlices(f, n, s)
		})
	}
	if count != f.Count || bytes != f.Bytes {
		return corruptf("%d values in %d bytes, where %d in %d are noted", count, bytes, f.Count, f.Bytes)
	}
	return nil
}

// checkSlices checks the slices of one chunk against one another.
func (v *verifier) checkSlices(f Field, number uint32, s FieldSlices) error {
	zero := s.Exists.Clone()
	for i, b := range append(s.Bits, s.Negative) {
		if b == nil {
			continue
		}
		if b.AndCardinality(s.Exists) != b.GetCardinality() {
			return corruptf("slice %d has bits where there is no value", i)
		}
		if i < len(s.Bits) {
			zero.AndNot(b)
		}
	}
	if zero.Intersects(s.Negative) {
		return corruptf("a zero is negative")
	}
	low, high := f.Limits()
	var bad error
	s.Values(func(pos uint32, value int64) {
		if bad == nil && (value < low || value > high || pos>>v.set.chunkBits() != number) {
			bad = corruptf("position %d has the value %d", pos, value)
		}
	})
	if bad != nil {
		return bad
	}
	seen, err := v.seenChunk(f.Brand, number)
	if err == nil && seen.AndCardinality(s.Exists) != s.Exists.GetCardinality() {
		err = corruptf("values at positions where no id of brand %q is known", placement.Brand(f.Brand))
	}
	return err
}
