package store

import (
	"cmp"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"
)

// fieldState is what a field is of one id: a value, or none.
type fieldState struct {
	value int64
	has   bool
}

// fieldChunk names one chunk of a field: the field's number above the chunk's.
type fieldChunk uint64

func makeFieldChunk(field, number uint32) fieldChunk {
	return fieldChunk(field)<<32 | fieldChunk(number)
}

func (k fieldChunk) field() uint32  { return uint32(k >> 32) }
func (k fieldChunk) number() uint32 { return uint32(k) }

// fieldOps are the values of a chunk of a field that the journal has and its slices
// have not, by position.
type fieldOps struct {
	owner int64 // the draft that may still change it
	ops   runs[fieldOp]
	delta int64 // ids with a value that they add
}

// fieldOp is the state of one value: what it is now, and whether the slices have one.
type fieldOp struct {
	pos uint32
	fieldState
	base bool
}

func compareFieldOps(a, b fieldOp) int { return cmp.Compare(a.pos, b.pos) }

// fieldOpsOf returns the values of a chunk that are not folded, in order. They may be
// shared.
func (v *view) fieldOpsOf(k fieldChunk) []fieldOp {
	if o, ok := v.fields.Get(k); ok {
		return o.ops.all(compareFieldOps)
	}
	return nil
}

// fieldOp returns the value at a position, if it is among those not folded.
func (v *view) fieldOp(k fieldChunk, pos uint32) (op fieldOp, ok bool) {
	if o, there := v.fields.Get(k); there {
		return o.ops.get(fieldOp{pos: pos}, compareFieldOps)
	}
	return op, false
}

// fieldChunks lists the chunks of a field that have values not folded, ascending.
func (v *view) fieldChunks(field uint32) (chunks []fieldChunk) {
	v.fields.Ascend(makeFieldChunk(field, 0), func(k fieldChunk, _ *fieldOps) bool {
		if k.field() != field {
			return false
		}
		chunks = append(chunks, k)
		return true
	})
	return chunks
}

// fieldBytes estimates the memory that the values take.
func (v *view) fieldBytes() (n uint64) {
	v.fields.Scan(func(_ fieldChunk, o *fieldOps) bool {
		n += uint64(o.ops.room())*uint64(unsafe.Sizeof(fieldOp{})) + uint64(unsafe.Sizeof(*o))
		return true
	})
	return n
}

// setField records the value at a position, given whether the slices have one.
func (d *draft) setField(k fieldChunk, pos uint32, s fieldState, base bool) {
	o, ok := d.fields.Get(k)
	switch {
	case !ok:
		o = &fieldOps{owner: d.stamp}
		d.fields.Set(k, o)
	case o.owner != d.stamp:
		o = &fieldOps{owner: d.stamp, ops: o.ops.own(), delta: o.delta}
		d.fields.Set(k, o)
	}
	has := base
	if op, ok := o.ops.get(fieldOp{pos: pos}, compareFieldOps); ok {
		has = op.has
	}
	before := o.ops.size()
	o.ops.put(fieldOp{pos, s, base}, compareFieldOps)
	d.ops += o.ops.size() - before
	if has != s.has {
		o.delta += sign(s.has)
	}
}

// dropFieldOps forgets the values of a chunk, which the transaction wrote.
func (d *draft) dropFieldOps(k fieldChunk) {
	if o, ok := d.fields.Delete(k); ok {
		d.ops -= o.ops.size()
	}
}

// takeFields takes the values that were folded into a chunk from those there are.
func (d *draft) takeFields(k fieldChunk, folded *view) {
	had, ok := folded.fields.Get(k)
	if !ok {
		return
	}
	now, ok := d.fields.Get(k)
	d.dropFieldOps(k)
	if !ok || now == had {
		return
	}
	var left []fieldOp
	for _, o := range now.ops.all(compareFieldOps) {
		if f, ok := had.ops.get(o, compareFieldOps); ok {
			if f.fieldState == o.fieldState {
				continue
			}
			o.base = f.has
		}
		left = append(left, o)
	}
	if len(left) > 0 {
		d.fields.Set(k, &fieldOps{owner: d.stamp, ops: newRuns(left), delta: now.delta - had.delta})
		d.ops += len(left)
	}
}

// slice reports whether the state's bit of a slice is set.
func (s fieldState) slice(slice int) bool {
	switch {
	case !s.has || slice == sliceExists:
		return s.has
	case slice == sliceNegative:
		return s.value < 0
	}
	return magnitude(s.value)>>(slice-sliceBits)&1 == 1
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// applyFieldOps brings a slice to what values, ascending by position, say. It reports
// whether the slice was another.
func applyFieldOps(b *roaring.Bitmap, slice int, ops []fieldOp) bool {
	changed := false
	var set, clear []uint32
	for _, o := range ops {
		if on := o.slice(slice); on {
			set = append(set, o.pos)
		} else {
			clear = append(clear, o.pos)
		}
	}
	before := b.GetCardinality()
	b.AddMany(set)
	changed = b.GetCardinality() != before
	if !b.IsEmpty() && len(clear) > 0 {
		gone := roaring.BitmapOf(clear...)
		if b.Intersects(gone) {
			b.AndNot(gone)
			changed = true
		}
	}
	return changed
}
