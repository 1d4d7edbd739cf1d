package query

import (
	"math/bits"

	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// This file works on the slices of one chunk of a field, after O'Neil and Quass,
// Improved Query Performance with Variant Indexes, SIGMOD 1997. The values are numbers
// with a sign and a magnitude, of which each bit has a slice. Bitmaps that are given
// are not changed; those that are returned are the caller's.

// rangeSet returns the positions of the values in a range.
func rangeSet(v store.FieldSlices, low, high int64) *roaring.Bitmap {
	switch {
	case low > high:
		return roaring.New()
	case high < 0:
		return between(v.Negative, v.Bits, magnitude(high), magnitude(low))
	case low >= 0:
		return between(roaring.AndNot(v.Exists, v.Negative), v.Bits, uint64(low), uint64(high))
	}
	set := between(roaring.AndNot(v.Exists, v.Negative), v.Bits, 0, uint64(high))
	set.Or(between(v.Negative, v.Bits, 1, magnitude(low)))
	return set
}

// valuesIn returns the positions of a chunk whose values a comparison is true of.
func valuesIn(snap *store.Snapshot, n fieldRange, chunk uint32) (*roaring.Bitmap, error) {
	v, err := snap.FieldChunk(n.field, chunk)
	if err != nil {
		return nil, err
	}
	low, high := n.field.Limits()
	if n.low == low && n.high == high && !n.not {
		return v.Exists, nil
	}
	set := rangeSet(v, n.low, n.high)
	if n.not {
		v.Exists.AndNot(set)
		set = v.Exists
	}
	return set, nil
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// between returns those of some positions whose magnitude is in a range.
func between(of *roaring.Bitmap, slices []*roaring.Bitmap, low, high uint64) *roaring.Bitmap {
	if low == high {
		return equal(of, slices, low)
	}
	less, same := below(of, slices, high)
	less.Or(same)
	if low > 0 {
		under, _ := below(less, slices, low)
		less.AndNot(under)
	}
	return less
}

// equal returns those of some positions whose magnitude is a number.
func equal(of *roaring.Bitmap, slices []*roaring.Bitmap, value uint64) *roaring.Bitmap {
	if bits.Len64(value) > len(slices) {
		return roaring.New()
	}
	same := of.Clone()
	for i := len(slices) - 1; i >= 0 && !same.IsEmpty(); i-- {
		keep(same, slices[i], value>>i&1 == 1)
	}
	return same
}

// keep leaves those of some positions that are in a slice, or that are not.
func keep(set, slice *roaring.Bitmap, in bool) {
	switch {
	case in && slice == nil:
		set.Clear()
	case in:
		set.And(slice)
	case slice != nil:
		set.AndNot(slice)
	}
}

// below returns those of some positions whose magnitude is less than a number, and
// those whose it is.
func below(of *roaring.Bitmap, slices []*roaring.Bitmap, value uint64) (less, same *roaring.Bitmap) {
	if bits.Len64(value) > len(slices) {
		return of.Clone(), roaring.New()
	}
	less, same = roaring.New(), of.Clone()
	for i := len(slices) - 1; i >= 0 && !same.IsEmpty(); i-- {
		one := value>>i&1 == 1
		if one {
			if slices[i] == nil {
				less.Or(same)
			} else {
				less.Or(roaring.AndNot(same, slices[i]))
			}
		}
		keep(same, slices[i], one)
	}
	return less, same
}

// extreme returns the greatest, or the least, magnitude of some positions, at least
// one.
func extreme(of *roaring.Bitmap, slices []*roaring.Bitmap, greatest bool) (value uint64) {
	left := of.Clone()
	for i := len(slices) - 1; i >= 0; i-- {
		if slices[i] == nil {
			continue
		}
		with := roaring.And(left, slices[i])
		switch {
		case with.IsEmpty():
		case greatest, with.GetCardinality() == left.GetCardinality():
			value |= 1 << i
			left = with
		default:
			left.AndNot(with)
		}
	}
	return value
}

// extremes returns the least and the greatest of the values at some positions, at
// least one.
func extremes(of *roaring.Bitmap, v store.FieldSlices) (least, greatest int64) {
	minus, plus := roaring.And(of, v.Negative), roaring.AndNot(of, v.Negative)
	if minus.IsEmpty() {
		least = int64(extreme(plus, v.Bits, false))
	} else {
		least = -int64(extreme(minus, v.Bits, true))
	}
	if plus.IsEmpty() {
		greatest = -int64(extreme(minus, v.Bits, false))
	} else {
		greatest = int64(extreme(plus, v.Bits, true))
	}
	return least, greatest
}

// eachWeight calls fn with the number of positions that have a bit of the magnitude
// and are not negative, less those that are.
func eachWeight(of *roaring.Bitmap, v store.FieldSlices, fn func(bit int, n int64)) {
	minus := roaring.And(of, v.Negative)
	for i, b := range v.Bits {
		if b == nil {
			continue
		}
		n := int64(of.AndCardinality(b))
		if !minus.IsEmpty() {
			n -= 2 * int64(minus.AndCardinality(b))
		}
		fn(i, n)
	}
}
