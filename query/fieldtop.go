package query

import (
	"cmp"
	"context"
	"math"
	"slices"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// IDValue is an id and its value.
type IDValue struct {
	ID    string `json:"id"`
	Value int64  `json:"value"`
}

// TopIDs lists the n ids of a set, or of all ids where x is nil, with the greatest
// values of a field, greatest first; those with one value in the order of [Members].
// Options and errors are those of [SumField], and that the store keeps no ids to list.
// Cost: that of [Values], and a pass over the ids that are listed.
func TopIDs(ctx context.Context, src Source, field string, x Expr, n int, opts ...Option) ([]IDValue, error) {
	if n < 1 {
		return nil, usagef("top %d: must be at least 1", n)
	}
	snap, err := src.Snapshot()
	if err != nil {
		return nil, err
	}
	defer func() { _ = snap.Close() }() // nothing was written
	values, err := Values(ctx, snap, field, x, opts...)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	i, above := len(values)-1, uint64(0) // the last value that is listed, and how many have a greater one
	for ; i > 0 && above+values[i].Count < uint64(n); i-- {
		above += values[i].Count
	}
	least := values[i].Value
	var rows []IDValue
	if above > 0 {
		if rows, err = idsBetween(ctx, snap, field, x, least+1, math.MaxInt64, n, opts); err != nil {
			return nil, err
		}
	}
	if len(rows) < n {
		tied, err := idsBetween(ctx, snap, field, x, least, least, n-len(rows), opts)
		if err != nil {
			return nil, err
		}
		rows = append(rows, tied...)
	}
	return rows[:min(n, len(rows))], nil
}

// idsBetween lists the ids whose value of a field is in a range, greatest first: of a
// range of one value, which may be that of millions, no more than a limit.
func idsBetween(ctx context.Context, snap *store.Snapshot, field string, x Expr, low, high int64, limit int, opts []Option) ([]IDValue, error) {
	limited := low == high
	within := ValueIn(field, low, high)
	if x != nil {
		within = And(x, within)
	}
	set, at := roaring.New(), make(map[uint32]int64)
	var brand placement.Brand
	err := askField(ctx, snap, field, within, opts, func(q *fieldQuestion, chunk uint32) error {
		of, v, err := q.chunk(chunk)
		if err != nil {
			return err
		}
		brand = q.field.Brand
		set.Or(of)
		if !limited {
			v.Exists = of
			v.Values(func(pos uint32, value int64) { at[pos] = value })
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var rows []IDValue
	for id, err := range snap.Members(brand, set) {
		if err != nil {
			return nil, err
		}
		value := low
		if !limited {
			pos, _, err := snap.Position(id)
			if err != nil {
				return nil, err
			}
			value = at[pos]
		}
		rows = append(rows, IDValue{id, value})
		if limited && len(rows) == limit {
			break
		}
	}
	slices.SortStableFunc(rows, func(a, b IDValue) int { return cmp.Compare(b.Value, a.Value) })
	return rows, nil
}
