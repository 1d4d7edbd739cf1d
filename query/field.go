package query

import (
	"cmp"
	"context"
	"math"
	"math/big"
	"slices"

	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// FieldSum is the values of a field of some ids, added up.
type FieldSum struct {
	Count uint64   // ids that have a value
	Sum   *big.Int // exact, however large
}

// Mean returns the mean value; ok is false where no id has one.
func (s FieldSum) Mean() (mean float64, ok bool) {
	if s.Count == 0 {
		return 0, false
	}
	mean, _ = new(big.Rat).SetFrac(s.Sum, new(big.Int).SetUint64(s.Count)).Float64()
	return mean, true
}

// SumField adds up the values of a field of the ids of a set, or of all ids where x is
// nil. A field never defined has no values.
//
// The sum is taken bit by bit, the count of each slice times its weight (O'Neil and
// Quass, Improved Query Performance with Variant Indexes, SIGMOD 1997): of all ids it
// reads some bytes a slice, of a set it intersects each slice with the set. [AsOf] is
// that of the set, for values have no days; [In] is heeded. Errors are those of [Size].
func SumField(ctx context.Context, src Source, field string, x Expr, opts ...Option) (FieldSum, error) {
	sum := FieldSum{Sum: new(big.Int)}
	weigh := func(bit int, n int64) {
		sum.Sum.Add(sum.Sum, new(big.Int).Lsh(big.NewInt(n), uint(bit)))
	}
	err := askField(ctx, src, field, x, opts, func(q *fieldQuestion, chunk uint32) error {
		if q.among == nil {
			exists, counts, ok, err := q.snap.FieldCounts(q.field, chunk)
			if err != nil {
				return err
			}
			if ok {
				sum.Count += exists
				for bit, n := range counts {
					weigh(bit, int64(n))
				}
				return nil
			}
		}
		of, v, err := q.chunk(chunk)
		if err != nil {
			return err
		}
		sum.Count += of.GetCardinality()
		eachWeight(of, v, weigh)
		return nil
	})
	return sum, err
}

// FieldExtremes are the least and the greatest value of a field of some ids.
type FieldExtremes struct {
	Count    uint64 // ids that have a value
	Min, Max int64  // of no meaning where it is 0
}

// Extremes returns the least and the greatest value of a field of the ids of a set, or
// of all ids where x is nil. Options and errors are those of [SumField]. Cost: an
// intersection with each slice, twice.
func Extremes(ctx context.Context, src Source, field string, x Expr, opts ...Option) (FieldExtremes, error) {
	e := FieldExtremes{Min: math.MaxInt64, Max: math.MinInt64}
	err := askField(ctx, src, field, x, opts, func(q *fieldQuestion, chunk uint32) error {
		of, v, err := q.chunk(chunk)
		if err != nil || of.IsEmpty() {
			return err
		}
		least, greatest := extremes(of, v)
		e.Count += of.GetCardinality()
		e.Min, e.Max = min(e.Min, least), max(e.Max, greatest)
		return nil
	})
	if e.Count == 0 {
		e.Min, e.Max = 0, 0
	}
	return e, err
}

// ValueCount is how many ids have a value.
type ValueCount struct {
	Value int64
	Count uint64
}

// Values returns the values of a field that ids of a set have, or all ids where x is
// nil, ascending, each with the number of ids. Memory is 16 bytes a distinct value and
// 8 an id of a chunk; the list is the caller's. Options and errors are those of
// [SumField]. Cost: a step for each bit that is set, and the sorting of each chunk.
func Values(ctx context.Context, src Source, field string, x Expr, opts ...Option) ([]ValueCount, error) {
	var all []ValueCount
	enough := 1 << 16
	err := askField(ctx, src, field, x, opts, func(q *fieldQuestion, chunk uint32) error {
		of, v, err := q.chunk(chunk)
		if err != nil {
			return err
		}
		v.Exists = of
		var values []int64
		v.Values(func(_ uint32, value int64) { values = append(values, value) })
		slices.Sort(values)
		for i := 0; i < len(values); {
			n := i + 1
			for n < len(values) && values[n] == values[i] {
				n++
			}
			all = append(all, ValueCount{values[i], uint64(n - i)})
			i = n
		}
		if len(all) > enough {
			all = gathered(all)
			enough = max(enough, 2*len(all))
		}
		return nil
	})
	return gathered(all), err
}

// gathered returns counts in order of the values, each value once.
func gathered(all []ValueCount) []ValueCount {
	slices.SortFunc(all, func(a, b ValueCount) int { return cmp.Compare(a.Value, b.Value) })
	out := all[:0]
	for _, v := range all {
		if n := len(out); n > 0 && out[n-1].Value == v.Value {
			out[n-1].Count += v.Count
		} else {
			out = append(out, v)
		}
	}
	return out
}

// fieldQuestion is a question about the values of a field.
type fieldQuestion struct {
	snap  *store.Snapshot
	field store.Field
	among node // nil: all ids
}

// askField has a question answered chunk by chunk.
func askField(ctx context.Context, src Source, field string, x Expr, opts []Option, each func(q *fieldQuestion, chunk uint32) error) error {
	s, err := apply(opts)
	if err != nil {
		return err
	}
	return ask(src, s.asOf, false, func(v *view) error {
		p := planner{view: v}
		f, err := p.field(field)
		if err != nil {
			return err
		}
		q := &fieldQuestion{snap: v.snap, field: f}
		if x == nil && !s.scope.all() {
			x = inRange(field, false, lowest, beyond) // all that have a value
		}
		if x != nil {
			if q.among, err = p.planIn(s.scope, x); err != nil {
				return err
			}
		}
		if f.Count == 0 {
			return nil
		}
		numbers, err := v.snap.FieldChunkNumbers(f)
		if err != nil {
			return err
		}
		if q.among != nil && len(q.among.chunks()) < len(numbers) {
			numbers = q.among.chunks() // both are read in each, as newOperation says why
		}
		return eachChunk(ctx, numbers, func(chunk uint32) error { return each(q, chunk) })
	})
}

// chunk returns the slices of a chunk, and the positions in it that the question is
// about and that have a value.
func (q *fieldQuestion) chunk(number uint32) (of *roaring.Bitmap, v store.FieldSlices, err error) {
	if v, err = q.snap.FieldChunk(q.field, number); err != nil || q.among == nil {
		return v.Exists, v, err
	}
	if of, err = chunkSet(q.snap, q.among, number); err != nil {
		return nil, v, err
	}
	of.And(v.Exists)
	return of, v, nil
}
