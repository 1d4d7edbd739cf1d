package query

import (
	"context"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// Bitmap returns a set as one bitmap over positions, which is the caller's: the
// placements of its ids, in a store of number ids the numbers. Its cardinality is
// the count that [Size] gives. It reads the days that Size reads.
//
// The errors are those of Size. Memory is the whole set: about 2.5 bytes an id of
// a million, 9 of ten thousand.
func Bitmap(ctx context.Context, src Source, x Expr, opts ...Option) (*roaring.Bitmap, error) {
	all, _, err := bitmap(ctx, src, x, opts)
	return all, err
}

// bitmap returns a set and the brand of its ids, which is zero where no set of the
// expression is of any.
func bitmap(ctx context.Context, src Source, x Expr, opts []Option) (*roaring.Bitmap, placement.Brand, error) {
	s, err := apply(opts)
	if err != nil {
		return nil, placement.Brand{}, err
	}
	all := roaring.New()
	var p planner
	err = ask(src, s.asOf, false, func(v *view) error {
		p.view = v
		n, err := p.planIn(s.scope, x)
		if err != nil {
			return err
		}
		return eachChunk(ctx, n.chunks(), func(c uint32) error {
			set, err := chunkSet(v.snap, n, c)
			if err == nil {
				all.Or(set)
			}
			return err
		})
	})
	if err != nil {
		return nil, placement.Brand{}, err
	}
	return all, p.brand, nil
}
