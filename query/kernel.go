package query

import (
	"context"

	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// This file is the one place that does set algebra on the bits of a chunk. Every
// question walks the chunks and asks chunkSet for the set of a node within one,
// or chunkCount for its size where the set itself is not needed. A chunk holds a
// fixed range of positions, so the counts of a set's chunks add up to its own,
// and memory stays at one chunk for each operand at hand.
//
// Bitmaps returned here are the caller's: nothing else refers to them.

// chunkSet returns the part of a node's set that lies in a chunk.
func chunkSet(snap *store.Snapshot, n node, chunk uint32) (*roaring.Bitmap, error) {
	switch n := n.(type) {
	case union:
		return snap.Chunk(n.event, n.days, chunk)
	case every:
		return everyDaySet(snap, n, chunk)
	case registered:
		return snap.SeenChunk(n.brand, chunk)
	case saved:
		return snap.SetChunk(n.set.Name, chunk)
	case operation:
		return operationSet(snap, n, chunk)
	}
	return roaring.New(), nil
}

// chunkCount returns how many positions of a node's set lie in a chunk.
func chunkCount(snap *store.Snapshot, n node, chunk uint32) (uint64, error) {
	o, ok := n.(operation)
	if !ok {
		set, err := chunkSet(snap, n, chunk)
		if err != nil {
			return 0, err
		}
		return set.GetCardinality(), nil
	}
	x, y, err := operands(snap, o, chunk)
	if err != nil || y == nil {
		return 0, err
	}
	// Inclusion and exclusion: no result is built.
	nx, ny, both := x.GetCardinality(), y.GetCardinality(), x.AndCardinality(y)
	switch o.op {
	case opAnd:
		return both, nil
	case opAndNot:
		return nx - both, nil
	case opXor:
		return nx + ny - 2*both, nil
	}
	return nx + ny - both, nil
}

// operationSet computes an operation within a chunk, in place on x.
func operationSet(snap *store.Snapshot, o operation, chunk uint32) (*roaring.Bitmap, error) {
	x, y, err := operands(snap, o, chunk)
	if err != nil || y == nil {
		return x, err
	}
	switch o.op {
	case opAnd:
		x.And(y)
	case opAndNot:
		x.AndNot(y)
	case opXor:
		x.Xor(y)
	default:
		x.Or(y)
	}
	return x, nil
}

// operands returns the sets of an operation within a chunk. Where x is empty and
// decides the result alone, y is not read and nil.
func operands(snap *store.Snapshot, o operation, chunk uint32) (x, y *roaring.Bitmap, err error) {
	if x, err = chunkSet(snap, o.x, chunk); err != nil {
		return nil, nil, err
	}
	if x.IsEmpty() && (o.op == opAnd || o.op == opAndNot) {
		return x, nil, nil
	}
	y, err = chunkSet(snap, o.y, chunk)
	return x, y, err
}

// everyDaySet intersects days within a chunk, until nothing is left.
func everyDaySet(snap *store.Snapshot, n every, chunk uint32) (*roaring.Bitmap, error) {
	set, err := snap.Chunk(n.event, oneDay(n.days[0]), chunk)
	for _, d := range n.days[1:] {
		if err != nil || set.IsEmpty() {
			break
		}
		var next *roaring.Bitmap
		if next, err = snap.Chunk(n.event, oneDay(d), chunk); err == nil {
			set.And(next)
		}
	}
	return set, err
}

// eachChunk calls f with each of some chunks, in order, until there is an error
// or the context ends.
func eachChunk(ctx context.Context, chunks []uint32, f func(chunk uint32) error) error {
	for _, c := range chunks {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(c); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// size returns the number of positions in a node's set. A union of one stored
// day is answered by what is noted about it, without reading any chunk.
func (v *view) size(ctx context.Context, n node) (uint64, error) {
	if u, ok := n.(union); ok {
		days, err := v.snap.Days(u.event, u.days)
		if err != nil {
			return 0, err
		}
		switch len(days) {
		case 0:
			return 0, nil
		case 1:
			return days[0].Count, nil
		}
	}
	var total uint64
	err := eachChunk(ctx, n.chunks(), func(c uint32) error {
		count, err := chunkCount(v.snap, n, c)
		total += count
		return err
	})
	return total, err
}
