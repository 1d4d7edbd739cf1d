package query

import (
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// This file works on the slices of one chunk of a field, after O'Neil and Quass,
// Improved Query Performance with Variant Indexes, SIGMOD 1997. The values are numbers
// with a sign and a magnitude, of which each bit has a slice. Bitmaps that are given
// are not changed; those that are returned are the caller's.

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
