package query

import (
	"context"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// Bitmap returns a set as one bitmap, which is the caller's: the placements of its
// ids, in a store of number ids the numbers. Its cardinality is the count that
// [Size] gives, but for the ids of a dense store that share a placement. It reads
// the days that Size reads.
//
// The errors are those of Size. Memory is the whole set: about 2.5 bytes an id of
// a million, 9 of ten thousand.
func Bitmap(ctx context.Context, src Source, x Expr, opts ...Option) (*roaring.Bitmap, error) {
	var all *roaring.Bitmap
	err := withSet(ctx, src, x, opts, func(snap *store.Snapshot, b placement.Brand, set *roaring.Bitmap) (err error) {
		all, err = snap.Placements(b, set)
		return err
	})
	return all, err
}

// positions returns a set and the brand of its ids, which is zero where no set of the
// expression is of any.
func positions(ctx context.Context, src Source, x Expr, opts []Option) (set *roaring.Bitmap, b placement.Brand, err error) {
	err = withSet(ctx, src, x, opts, func(_ *store.Snapshot, brand placement.Brand, all *roaring.Bitmap) error {
		set, b = all, brand
		return nil
	})
	return set, b, err
}

// withSet calls f with the positions in a set, the brand of its ids, and the snapshot.
func withSet(ctx context.Context, src Source, x Expr, opts []Option, f func(*store.Snapshot, placement.Brand, *roaring.Bitmap) error) error {
	s, err := apply(opts)
	if err != nil {
		return err
	}
	return ask(src, s.asOf, false, func(v *view) error {
		p := planner{view: v}
		n, err := p.planIn(s.scope, x)
		if err != nil {
			return err
		}
		all, err := wholeSet(ctx, v.snap, n)
		if err != nil {
			return err
		}
		return f(v.snap, p.brand, all)
	})
}

// wholeSet returns the positions of all chunks of a set.
func wholeSet(ctx context.Context, snap *store.Snapshot, n node) (*roaring.Bitmap, error) {
	all := roaring.New()
	err := eachChunk(ctx, n.chunks(), func(c uint32) error {
		set, err := chunkSet(snap, n, c)
		if err == nil {
			all.Or(set)
		}
		return err
	})
	return all, err
}
