package query

import (
	"context"
	"fmt"

	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// This file is the one place that takes nodes to the bits of a chunk. A chunk holds
// a fixed range of positions, so the counts of a set's chunks add up to its own,
// and memory stays at one chunk for each operand at hand. What is only counted is
// worked out on the stored bytes, by store.Bits; bitmaps are for what is to be
// kept or walked.

// bitsOf returns a node's set as the store works it out. Where bitmaps must be
// made of it, they are made when a chunk is asked for.
func bitsOf(snap *store.Snapshot, n node) (*store.Bits, error) {
	switch n := n.(type) {
	case union:
		if n.set == nil {
			return snap.Marked(n.event, n.days)
		}
		return n.set, nil
	case made:
		return n.set, nil
	case operation:
		return operationBits(snap, n)
	}
	// Of every chunk, listed or not: see newOperation.
	return snap.Computed(func(c uint32) (*roaring.Bitmap, error) { return leafSet(snap, n, c) }), nil
}

func operationBits(snap *store.Snapshot, o operation) (*store.Bits, error) {
	x, err := bitsOf(snap, o.x)
	if err != nil {
		return nil, err
	}
	y, err := bitsOf(snap, o.y)
	if err != nil {
		return nil, err
	}
	switch o.op {
	case opAnd:
		return x.And(y), nil
	case opAndNot:
		return x.AndNot(y), nil
	case opXor:
		return x.Xor(y), nil
	}
	return x.Or(y), nil
}

// leafSet returns the part of a set that lies in a chunk, of sets that the store
// gives as bitmaps.
func leafSet(snap *store.Snapshot, n node, chunk uint32) (*roaring.Bitmap, error) {
	switch n := n.(type) {
	case nothing:
		return roaring.New(), nil
	case registered:
		return snap.SeenChunk(n.brand, chunk)
	case saved:
		return snap.SetChunk(n.set.Name, chunk)
	}
	return nil, fmt.Errorf("%T is not a set of its own", n)
}

// chunkSet returns the part of a node's set that lies in a chunk, in a bitmap that
// is the caller's.
func chunkSet(snap *store.Snapshot, n node, chunk uint32) (*roaring.Bitmap, error) {
	switch n := n.(type) {
	case union:
		if n.set == nil {
			return snap.Chunk(n.event, n.days, chunk)
		}
	case nothing, registered, saved:
		return leafSet(snap, n, chunk)
	}
	set, err := bitsOf(snap, n)
	if err != nil {
		return nil, err
	}
	return set.Bitmap(chunk)
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

// size returns the number of positions in a node's set. A saved set, and a union of
// one stored day or of a remembered period, are answered by what is noted about them,
// without reading any chunk.
func (v *view) size(ctx context.Context, n node) (uint64, error) {
	if s, ok := n.(saved); ok {
		return s.set.Count, nil
	}
	if u, ok := n.(union); ok {
		if count, ok, err := v.snap.PeriodCount(u.event, u.days); ok || err != nil {
			return count, err
		}
	}
	set, err := bitsOf(v.snap, n)
	if err != nil {
		return 0, err
	}
	counts := make([]uint64, maxParts())
	err = spread(ctx, n.chunks(), len(counts), func(part int, c uint32) error {
		count, err := set.Count(c)
		counts[part] += count
		return err
	})
	var total uint64
	for _, n := range counts {
		total += n
	}
	return total, err
}
