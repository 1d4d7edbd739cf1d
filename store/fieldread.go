package store

import (
	"bytes"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// FieldValue is the value of a field for one id, or that it has none.
type FieldValue struct {
	Value int64
	Has   bool
}

// FieldValue returns the value of a field for an id; has is false where it has none,
// or the field was never defined.
//
// Errors: placement.ErrInvalidID, ErrOtherBrand, and ErrShared where, in a hashed
// store, another known id stands at the placement. Cost: a search in the registry and
// in each slice of one chunk.
func (s *Snapshot) FieldValue(field, id string) (value int64, has bool, err error) {
	v, err := s.FieldValues(id, field)
	if err != nil {
		return 0, false, err
	}
	return v[0].Value, v[0].Has, nil
}

// FieldValues returns the values of several fields for one id, in their order. Errors
// are those of FieldValue.
func (s *Snapshot) FieldValues(id string, fields ...string) (values []FieldValue, err error) {
	brand, mixed, err := s.set.ids.Parse(id)
	if err != nil {
		return nil, err
	}
	values = make([]FieldValue, len(fields))
	err = s.do(fmt.Sprintf("fields of id %q", id), func() error {
		at, err := s.known(brand, mixed)
		if err != nil {
			return err
		}
		for i, name := range fields {
			f, ok, err := s.field(name)
			switch {
			case err != nil:
				return err
			case !ok || f.Brand.IsZero() && !brand.IsZero():
				continue
			case f.Brand != brand:
				return &FieldBrandError{Field: name, FieldBrand: f.Brand, ID: id, OffendBrand: brand}
			case s.set.shares(at):
				return s.sharedError(id, brand, mixed)
			case !at.self:
				continue
			}
			v, _, err := s.valueAt(f, at.pos)
			if err != nil {
				return fmt.Errorf("field %q: %w", name, err)
			}
			values[i] = FieldValue{v.value, v.has}
		}
		return nil
	})
	return values, err
}

// valueAt returns the value at a position, and whether the slices have one.
func (r *reader) valueAt(f Field, pos uint32) (s fieldState, base bool, err error) {
	k := makeFieldChunk(f.number, pos>>r.set.chunkBits())
	if op, ok := r.view.fieldOp(k, pos); ok {
		return op.fieldState, op.base, nil
	}
	s, err = r.foldedValue(f, pos)
	return s, s.has, err
}

// foldedValue is valueAt without the journal.
func (r *reader) foldedValue(f Field, pos uint32) (s fieldState, err error) {
	var m uint64
	negative := false
	err = r.eachSlice(f, pos>>r.set.chunkBits(), func(slice int, c chunk) error {
		if slice != sliceExists && !s.has {
			return errNoMoreSlices
		}
		set, err := c.contains(pos)
		switch {
		case err != nil || !set:
		case slice == sliceExists:
			s.has = true
		case slice == sliceNegative:
			negative = true
		default:
			m |= 1 << (slice - sliceBits)
		}
		return err
	})
	s.value = int64(m)
	if negative {
		s.value = -int64(m)
	}
	return s, err
}

// errNoMoreSlices ends eachSlice early.
var errNoMoreSlices = fmt.Errorf("no more slices are wanted")

// eachSlice calls fn with the slices of a chunk of a field that are in the file, in
// their order, until it returns errNoMoreSlices, which is no error. What stands before
// and behind them must be whole: it might be one of them whose key was damaged.
func (r *reader) eachSlice(f Field, number uint32, fn func(slice int, c chunk) error) error {
	bucket, err := r.sliceBucket(f)
	if bucket == nil || err != nil {
		return err
	}
	cur := bucket.Cursor()
	first := sliceKey(number, sliceExists)
	key, value := cur.Seek(first)
	if !bytes.Equal(key, first) { // there should be none: the one before would be out of its place
		if before, v := previous(cur, key); before != nil && !r.sliceHolds(f.number, before, v) {
			return corruptf("slice %x does not hold", before)
		}
		key, value = cur.Seek(first)
	}
	for last := -1; key != nil; key, value = cur.Next() {
		n, slice, ok := parseSliceKey(key)
		if !ok || n == number && (slice <= last || slice >= sliceBits+f.Bits || last < 0 && slice != sliceExists) {
			return corruptf("slice %x is out of order, or none of the field's", key)
		}
		p, ok := r.verified.unseal(tagFieldSlice, sliceSealKey(f.number, key), value)
		if !ok {
			return corruptf("chunk %d, slice %d: checksum does not hold", n, slice)
		}
		if n != number {
			return nil
		}
		last = slice
		c, err := parseChunk(number<<r.set.chunkBits(), p)
		c.valid = true
		if err == nil {
			err = fn(slice, c)
		}
		if err != nil {
			if err == errNoMoreSlices {
				return nil
			}
			return err
		}
	}
	return nil
}

func (r *reader) sliceHolds(field uint32, key, value []byte) bool {
	_, ok := r.verified.unseal(tagFieldSlice, sliceSealKey(field, key), value)
	return ok
}

// sliceBucket returns the slices of a field, nil where it has none.
func (r *reader) sliceBucket(f Field) (bucket *bolt.Bucket, err error) {
	if f.Count == 0 {
		return nil, nil
	}
	if all := r.fieldSlices(); all != nil {
		bucket = all.Bucket(fieldBucketKey(f.number))
	}
	if bucket == nil {
		return nil, corruptf("field %q: its slices are missing", f.Name)
	}
	return bucket, r.isWholeField(bucket, f)
}
