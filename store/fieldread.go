package store

import (
	"bytes"
	"fmt"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
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
		err = corruptf("field %q: its slices are missing", f.Name)
	}
	return bucket, err
}

// FieldSlices are the values of one chunk of a field, bit-sliced. The bitmaps are the
// caller's; those that are nil are empty.
type FieldSlices struct {
	Exists   *roaring.Bitmap   // positions that have a value
	Negative *roaring.Bitmap   // whose value is negative
	Bits     []*roaring.Bitmap // bit i of the magnitude
}

// FieldChunkNumbers lists, ascending, the chunks in which a field, as Field gives it,
// may have a value.
func (s *Snapshot) FieldChunkNumbers(f Field) (numbers []uint32, err error) {
	err = s.do(fmt.Sprintf("field %q", f.Name), func() error {
		numbers, err = s.fieldNumbersOf(f)
		return err
	})
	return numbers, err
}

// fieldNumbersOf lists the chunks of a field, whose slices must add up to its count.
func (r *reader) fieldNumbersOf(f Field) (numbers []uint32, err error) {
	f, ok, err := r.field(f.Name) // its count is that of the file
	if err != nil || !ok {
		return nil, err
	}
	bucket, err := r.sliceBucket(f)
	if err != nil {
		return nil, err
	}
	if bucket != nil {
		var sum uint64
		c := bucket.Cursor()
		for number := uint32(0); number < 1<<16; {
			key, value := c.Seek(sliceKey(number, sliceExists))
			if key == nil {
				break
			}
			n, slice, ok := parseSliceKey(key)
			if !ok || slice != sliceExists || n < number || !r.sliceHolds(f.number, key, value) {
				return nil, corruptf("slice %x does not hold, or its chunk has no list of values", key)
			}
			ch, err := parseChunk(n<<r.set.chunkBits(), value[sealSize:])
			if err != nil {
				return nil, err
			}
			sum += uint64(ch.card)
			numbers = append(numbers, n)
			number = n + 1
		}
		if sum != f.Count {
			return nil, corruptf("its chunks have %d values, not %d", sum, f.Count)
		}
	}
	for _, k := range r.view.fieldChunks(f.number) {
		numbers = append(numbers, k.number())
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// FieldChunk returns the values of a field, as Field gives it, as far as they lie in
// one chunk. Cost: each slice of the chunk that is not empty is decoded.
func (s *Snapshot) FieldChunk(f Field, number uint32) (values FieldSlices, err error) {
	err = s.do(fmt.Sprintf("field %q", f.Name), func() error {
		f, ok, err := s.field(f.Name)
		if err == nil && ok {
			values, err = s.slicesOf(f, number, s.view.fieldOpsOf(makeFieldChunk(f.number, number)))
		}
		return err
	})
	return values, err
}

// slicesOf decodes a chunk of a field and applies values that are not in its slices.
func (r *reader) slicesOf(f Field, number uint32, ops []fieldOp) (v FieldSlices, err error) {
	all, err := r.decodeSlices(f, number)
	if err != nil {
		return v, err
	}
	if len(ops) > 0 {
		for len(all) < sliceBits+f.Bits {
			all = append(all, nil)
		}
		for slice := range all {
			if all[slice] == nil {
				all[slice] = roaring.New()
			}
			applyFieldOps(all[slice], slice, ops)
			if all[slice].IsEmpty() {
				all[slice] = nil
			}
		}
	}
	v.Exists, v.Negative = roaring.New(), roaring.New()
	if len(all) > 0 && all[sliceExists] != nil {
		v.Exists = all[sliceExists]
	}
	if len(all) > sliceNegative && all[sliceNegative] != nil {
		v.Negative = all[sliceNegative]
	}
	if len(all) > sliceBits {
		v.Bits = all[sliceBits:]
	}
	for len(v.Bits) > 0 && v.Bits[len(v.Bits)-1] == nil {
		v.Bits = v.Bits[:len(v.Bits)-1]
	}
	return v, nil
}

// decodeSlices returns the slices of a chunk that are in the file, by number, nil
// where one is empty.
func (r *reader) decodeSlices(f Field, number uint32) (all []*roaring.Bitmap, err error) {
	err = r.eachSlice(f, number, func(slice int, c chunk) error {
		for len(all) < slice {
			all = append(all, nil)
		}
		b, err := c.bitmap()
		all = append(all, b)
		return err
	})
	return all, err
}

// FieldCounts returns how many positions each slice of a chunk of a field has, in the
// order of FieldSlices: those with a value, those whose value is negative, and those
// of each bit of the magnitude. ok is false where the journal has values of the chunk,
// or some are negative: then FieldChunk is to be asked. Cost: a few bytes a slice.
func (s *Snapshot) FieldCounts(f Field, number uint32) (exists uint64, bits []uint64, ok bool, err error) {
	err = s.do(fmt.Sprintf("field %q", f.Name), func() error {
		if _, pending := s.view.fields.Get(makeFieldChunk(f.number, number)); pending {
			return nil
		}
		f, there, err := s.field(f.Name)
		if err != nil || !there {
			return err
		}
		ok = true
		return s.eachSlice(f, number, func(slice int, c chunk) error {
			switch {
			case slice == sliceExists:
				exists = uint64(c.card)
			case slice == sliceNegative:
				ok = false
				return errNoMoreSlices
			default:
				for len(bits) <= slice-sliceBits {
					bits = append(bits, 0)
				}
				bits[slice-sliceBits] = uint64(c.card)
			}
			return nil
		})
	})
	return exists, bits, ok && err == nil, err
}

// Values calls fn with each position that has a value, ascending, and the value.
func (v FieldSlices) Values(fn func(pos uint32, value int64)) {
	positions := v.Exists.ToArray()
	values := make([]uint64, len(positions))
	each := func(b *roaring.Bitmap, do func(i int)) {
		if b == nil {
			return
		}
		i := 0
		for it := b.Iterator(); it.HasNext(); {
			pos := it.Next()
			for i < len(positions) && positions[i] < pos {
				i++
			}
			if i < len(positions) && positions[i] == pos {
				do(i)
			}
		}
	}
	for bit, b := range v.Bits {
		each(b, func(i int) { values[i] |= 1 << bit })
	}
	each(v.Negative, func(i int) { values[i] = -values[i] })
	for i, pos := range positions {
		fn(pos, int64(values[i]))
	}
}

// fieldTable returns all values of a field: the positions, ascending, and the values.
func (r *reader) fieldTable(f Field) (positions []uint32, values []int64, err error) {
	numbers, err := r.fieldNumbersOf(f)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range numbers {
		s, err := r.slicesOf(f, n, r.view.fieldOpsOf(makeFieldChunk(f.number, n)))
		if err != nil {
			return nil, nil, err
		}
		s.Values(func(pos uint32, value int64) {
			positions, values = append(positions, pos), append(values, value)
		})
	}
	return positions, values, nil
}

// digestFields adds nothing where no field is defined.
func (s *Snapshot) digestFields(d *digester) error {
	fields, err := s.allFields()
	if err != nil || len(fields) == 0 {
		return err
	}
	d.text("fields")
	d.number(uint64(len(fields)))
	for _, f := range fields {
		d.text(f.Name)
		d.text(f.Brand.String())
		d.text(FieldOptions{f.Bits, f.Signed}.String())
		d.number(s.countOf(f))
		if err := s.digestValues(d, f); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	return nil
}

// digestValues adds the ids that have a value, in order, with their values.
func (s *Snapshot) digestValues(d *digester, f Field) error {
	positions, values, err := s.fieldTable(f)
	if err != nil || len(positions) == 0 {
		return err
	}
	return s.eachKnown(f.Brand, func(e idEntry) error {
		if i, ok := slices.BinarySearch(positions, e.pos); ok {
			d.number(uint64(e.mixed))
			d.number(uint64(values[i]))
		}
		return nil
	})
}

// eachKnown calls fn with the known ids of a brand, in order.
func (r *reader) eachKnown(b placement.Brand, fn func(idEntry) error) error {
	numbers, err := r.registryNumbers(b)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		ids, err := r.idsIn(b, n)
		if err != nil {
			return err
		}
		for _, e := range ids {
			if err := fn(e); err != nil {
				return err
			}
		}
	}
	return nil
}
