package store

import (
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

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
