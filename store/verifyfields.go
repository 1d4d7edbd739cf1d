package store

import (
	"context"
	"fmt"

	"cohort/placement"
)

// checkFields checks the slices of fields: their sums, that each is part of those that
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

func fieldNumberOf(key []byte) uint32 {
	return uint32(key[0])<<24 | uint32(key[1])<<16 | uint32(key[2])<<8 | uint32(key[3])
}
