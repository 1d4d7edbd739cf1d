package store

import (
	"fmt"

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
