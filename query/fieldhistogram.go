package query

import "math"

// Quantile returns the least of some values, as [Values] gives them, that no fewer
// than a fraction q of the ids are at or below: the median of 1, 2, 3, 4 is 2. q 0 is
// the least value, q 1 the greatest. It is always a value that an id has: the inverse
// of the distribution function, type 1 of Hyndman and Fan (Sample Quantiles in
// Statistical Packages, 1996). ok is false where there are no values, or q is not from 0
// to 1. Cost: a pass over the values.
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
