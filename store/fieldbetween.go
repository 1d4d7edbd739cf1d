package store

import (
	"fmt"
	"math/bits"

	"cohort/store/internal/kernel"
)

// between is the positions whose value of a field is in a range within its limits,
// both ends included.
type between struct {
	field     Field // as it is in the file
	low, high int64
}

// FieldBetween returns the positions whose value of a field, as Field gives it, is in
// a range, both ends included; they may lie outside of the field's own. It is empty
// where high is below low. Cost of a chunk: the checksum of each slice, once, and a
// pass over the slices from the lowest bit that decides, for each bound.
func (s *Snapshot) FieldBetween(f Field, low, high int64) (*Bits, error) {
	x := &Bits{snap: s}
	err := s.do(fmt.Sprintf("field %q", f.Name), func() error {
		f, ok, err := s.field(f.Name)
		if err != nil || !ok {
			return err
		}
		least, greatest := f.Limits()
		if low, high = max(low, least), min(high, greatest); low <= high {
			x.between = &between{f, low, high}
		}
		return nil
	})
	return x, err
}

// slicedChunk is the slices of one chunk of a field, of which unions are made when an
// expression needs them.
type slicedChunk struct {
	stored [maxSlices]chunk // of kind 0 where there is none
	unions [maxSlices]*kernel.Union
	n      int // bits of the greatest magnitude

	space *workspace
	err   error // the first one of making a union
}

// between gathers what a comparison has in the chunk. The values that the journal has
// of the chunk are compared themselves, and stand in for those of their positions.
func (w *workspace) between(x *Bits) (e *kernel.Expr, empty bool, err error) {
	err = x.snap.do(fmt.Sprintf("field %q", x.between.field.Name), func() error {
		e, empty, err = w.compare(&x.snap.reader, x.between)
		return err
	})
	return e, empty, err
}

func (w *workspace) compare(r *reader, b *between) (e *kernel.Expr, empty bool, err error) {
	v := &w.sliced
	v.space = w
	defer func() { *v = slicedChunk{} }() // nothing of a view is held between questions
	err = r.eachSlice(b.field, w.number, func(slice int, c chunk) error {
		v.stored[slice] = c
		v.n = max(v.n, slice-sliceBits+1)
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	if e, empty = v.between(b), v.stored[sliceExists].kind == 0; v.err != nil {
		return nil, false, v.err
	}
	ops := r.view.fieldOpsOf(makeFieldChunk(b.field.number, w.number))
	if len(ops) == 0 {
		return e, empty, nil
	}
	w.set, w.list = w.set[:0], w.list[:0]
	for _, o := range ops {
		w.list = append(w.list, o.pos)
		if o.has && o.value >= b.low && o.value <= b.high {
			w.set = append(w.set, o.pos)
		}
	}
	all, in := w.union(1), w.union(1)
	if !all.AddList(w.list, kernel.Changes{}) || !in.AddList(w.set, kernel.Changes{}) {
		return nil, false, corruptf("chunk %d: positions do not hold together with the journal", w.number)
	}
	e = kernel.Combine(kernel.Or, kernel.Combine(kernel.AndNot, e, kernel.Leaf(all)), kernel.Leaf(in))
	return e, empty && in.Empty(), nil
}

// between returns the positions of the values in a range, as they are stored.
func (v *slicedChunk) between(b *between) *kernel.Expr {
	least, greatest := b.field.Limits()
	if b.low == least && b.high == greatest {
		return kernel.Leaf(v.union(sliceExists))
	}
	// The first magnitude of each sign that is past the range; 0 where none is.
	past, pastNegative := uint64(b.high)+1, magnitude(b.low)+1
	if b.high == greatest {
		past = 0
	}
	if b.low == least {
		pastNegative = 0
	}
	switch {
	case b.low >= 0:
		return v.magnitudes(false, uint64(b.low), past)
	case b.high < 0:
		return v.magnitudes(true, magnitude(b.high), pastNegative)
	case v.stored[sliceNegative].kind == 0:
		return v.magnitudes(false, 0, past)
	}
	return kernel.Combine(kernel.Or, v.magnitudes(false, 0, past), v.magnitudes(true, 1, pastNegative))
}

// magnitudes returns the positions of the values of one sign whose magnitude is at
// least one number, and less than another, which is 0 where all are.
func (v *slicedChunk) magnitudes(negative bool, least, past uint64) (e *kernel.Expr) {
	one := least > 0 && past == least+1
	switch {
	case bits.Len64(least) > v.n:
		return kernel.Leaf(v.space.union(0))
	case one:
		e = v.equal(least)
	case negative && least == 1:
		e = kernel.Leaf(v.union(sliceNegative))
	case least > 0:
		e = v.atLeast(least)
	default:
		e = kernel.Leaf(v.union(sliceExists))
	}
	switch {
	case negative && (one || least > 1):
		e = kernel.Combine(kernel.And, e, kernel.Leaf(v.union(sliceNegative)))
	case !negative && v.stored[sliceNegative].kind != 0:
		e = kernel.Combine(kernel.AndNot, e, kernel.Leaf(v.union(sliceNegative)))
	}
	if !one && past > 0 && bits.Len64(past) <= v.n {
		e = kernel.Combine(kernel.AndNot, e, v.atLeast(past))
	}
	return e
}

func (v *slicedChunk) atLeast(least uint64) *kernel.Expr {
	return kernel.AtLeast(least, v.n, func(bit int) *kernel.Union { return v.union(sliceBits + bit) })
}

// equal returns the positions whose magnitude is a number above 0: those in each slice
// of its bits, and in no other.
func (v *slicedChunk) equal(value uint64) (e *kernel.Expr) {
	e = kernel.Leaf(v.union(sliceBits + bits.Len64(value) - 1))
	for bit := range bits.Len64(value) - 1 {
		if value>>bit&1 == 1 {
			e = kernel.Combine(kernel.And, e, kernel.Leaf(v.union(sliceBits+bit)))
		}
	}
	for bit := range v.n {
		if value>>bit&1 == 0 && v.stored[sliceBits+bit].kind != 0 {
			e = kernel.Combine(kernel.AndNot, e, kernel.Leaf(v.union(sliceBits+bit)))
		}
	}
	return e
}

// union returns a slice, empty where there is none.
func (v *slicedChunk) union(slice int) *kernel.Union {
	u := v.unions[slice]
	if u == nil {
		u = v.space.union(1)
		if v.stored[slice].kind != 0 && v.err == nil {
			v.err = v.space.add(u, source{chunk: v.stored[slice]})
		}
		v.unions[slice] = u
	}
	return u
}
