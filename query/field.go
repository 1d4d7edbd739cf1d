package query

import (
	"cmp"
	"context"
	"math"
	"math/big"
	"slices"

	"cohort/placement"
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
// The sum is taken bit by bit, the count of each slice times its weight: of all ids it
// reads some bytes a slice, of a set it intersects each slice with the set. Options
// and errors are those of [Size].
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
// of all ids where x is nil. Options and errors are those of [Size].
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
// 8 an id of a chunk. Options and errors are those of [Size].
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

// Quantile returns the least of some values, as [Values] gives them, that no fewer
// than a fraction q of the ids are at or below: the median of 1, 2, 3, 4 is 2. q 0 is
// the least value, q 1 the greatest. ok is false where there are no values, or q is
// not from 0 to 1.
func Quantile(values []ValueCount, q float64) (value int64, ok bool) {
	var total uint64
	for _, v := range values {
		total += v.Count
	}
	if total == 0 || !(q >= 0 && q <= 1) {
		return 0, false
	}
	rank := max(1, rankOf(q, total))
	for _, v := range values {
		if v.Count >= rank {
			return v.Value, true
		}
		rank -= v.Count
	}
	return values[len(values)-1].Value, true
}

// rankOf returns ⌈q·n⌉, of q as it is written: 0.1 of 10 is 1, though the float64 that
// is nearest to 0.1 lies above it.
func rankOf(q float64, n uint64) uint64 {
	exact := q * float64(n)
	if near := math.Round(exact); math.Abs(exact-near) <= 1e-9*max(1, near) {
		return uint64(near)
	}
	return uint64(math.Ceil(exact))
}

// Bin is how many ids have a value from Low to High, both included.
type Bin struct {
	Low   int64  `json:"low"`
	High  int64  `json:"high"`
	Count uint64 `json:"count"`
}

// maxBins bounds the rows of a histogram.
const maxBins = 10_000

// Histogram counts values, as [Values] gives them, in bins of a width, which begin at
// its multiples; width 0 chooses the least of 1, 2, 5, 10, 20, … that makes no more
// than 20. Empty bins between others are listed. More than 10,000 bins, or a negative
// width, are an error that matches [ErrUsage].
func Histogram(values []ValueCount, width int64) ([]Bin, error) {
	if width < 0 {
		return nil, usagef("width %d: must be at least 1", width)
	}
	if len(values) == 0 {
		return nil, nil
	}
	least, greatest := values[0].Value, values[len(values)-1].Value
	bins := func(w int64) uint64 { return uint64(floorDiv(greatest, w)) - uint64(floorDiv(least, w)) + 1 }
	if width == 0 {
		width = niceWidth(bins)
	}
	n := bins(width)
	if n > maxBins {
		return nil, usagef("width %d: makes %d bins, more than %d", width, n, maxBins)
	}
	rows := make([]Bin, n)
	first := floorDiv(least, width)
	for i := range rows {
		k := first + int64(i)
		rows[i].Low = k * width // may wrap below the least int64, which no value is
		if k < 0 && rows[i].Low > 0 {
			rows[i].Low = math.MinInt64
		}
		rows[i].High = rows[i].Low + width - 1
		if rows[i].Low == math.MinInt64 {
			rows[i].High = (k+1)*width - 1
		} else if rows[i].High < rows[i].Low {
			rows[i].High = math.MaxInt64
		}
	}
	for _, v := range values {
		rows[floorDiv(v.Value, width)-first].Count += v.Count
	}
	return rows, nil
}

// niceWidth returns the least of 1, 2, 5, 10, … with no more than 20 bins.
func niceWidth(bins func(width int64) uint64) int64 {
	for unit := int64(1); ; unit *= 10 {
		for _, w := range []int64{unit, 2 * unit, 5 * unit} {
			if w < unit { // past the greatest int64
				return math.MaxInt64
			}
			if bins(w) <= 20 {
				return w
			}
		}
		if unit > math.MaxInt64/10 {
			return math.MaxInt64
		}
	}
}

// IDValue is an id and its value.
type IDValue struct {
	ID    string `json:"id"`
	Value int64  `json:"value"`
}

// TopIDs lists the n ids of a set, or of all ids where x is nil, with the greatest
// values of a field, greatest first; those with one value in the order of [Members].
// Options and errors are those of Members. Cost: that of [Values], and a pass over the
// ids that are listed.
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
	least, above := values[0].Value, uint64(0) // ids whose value is greater
	for i := len(values) - 1; i >= 0; i-- {
		if least = values[i].Value; above+values[i].Count >= uint64(n) {
			break
		}
		if i > 0 {
			above += values[i].Count
		}
	}
	var rows []IDValue
	for _, part := range []struct {
		low, high int64
		tied      bool
	}{{least, math.MaxInt64, false}, {least, least, true}} {
		if !part.tied {
			if least == math.MaxInt64 {
				continue
			}
			part.low = least + 1
		}
		if len(rows) >= n {
			break
		}
		got, err := idsBetween(ctx, snap, field, x, part.low, part.high, n-len(rows), part.tied, opts)
		if err != nil {
			return nil, err
		}
		rows = append(rows, got...)
	}
	return rows[:min(n, len(rows))], nil
}

// idsBetween lists the ids whose value of a field is in a range, greatest first: of
// those with one value no more than a limit.
func idsBetween(ctx context.Context, snap *store.Snapshot, field string, x Expr, low, high int64, limit int, limited bool, opts []Option) ([]IDValue, error) {
	set, at := roaring.New(), make(map[uint32]int64)
	var brand placement.Brand
	err := askField(ctx, snap, field, x, opts, func(q *fieldQuestion, chunk uint32) error {
		of, v, err := q.chunk(chunk)
		if err != nil {
			return err
		}
		brand = q.field.Brand
		v.Exists = roaring.And(of, rangeSet(v, low, high))
		set.Or(v.Exists)
		if !limited {
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
