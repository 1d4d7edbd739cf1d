package query

import (
	"context"

	"cohort/store"
)

// Save keeps the ids of a set, as they are now, under a name: [Saved], @name in text,
// is that set from then on, whatever is marked later. It takes the place of the set
// that had the name, which the expression may refer to.
//
// The set is evaluated in one snapshot, outside of any write transaction, and written
// in one: other questions see the set before or the one after. Ids that are erased in
// between are left out. It reads the days that [Size] reads, and its memory is that
// of [Bitmap].
//
// The errors are those of Size, and of [store.DB.SaveSet], such as
// store.ErrInvalidSet for a name that is not bare.
func Save(ctx context.Context, db *store.DB, name string, x Expr, opts ...Option) (store.SavedSet, error) {
	if err := store.CheckSetName(name); err != nil {
		return store.SavedSet{}, err
	}
	set, brand, err := positions(ctx, db, x, opts)
	if err != nil {
		return store.SavedSet{}, err
	}
	return db.SaveSet(ctx, name, brand, set)
}
