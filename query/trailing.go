package query

import (
	"context"
	"math"

	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// Trailing windows are counted from one number per id: the last day it was
// marked. Walking the days in order, a mark adds its id to the windows of w days
// that end today unless the id's last day lies in them already; and the ids whose
// last day was w days ago, as of yesterday, leave. So each (day, chunk) is read
// once and each mark costs a few ns, however long the windows are. Unions of w
// days for each day would read it w times.

// trailing returns, for each window length and each day of a span, how many ids
// are marked with the event in the window that ends on that day.
func (v *view) trailing(ctx context.Context, e store.Event, span store.Period, windows []int) ([][]uint64, error) {
	counts := make([][]uint64, len(windows))
	longest := 0
	for k, w := range windows {
		counts[k] = make([]uint64, span.Len())
		longest = max(longest, w)
	}
	if span.Empty() {
		return counts, nil
	}
	// The days that any window reaches, of those that hold marks.
	reach := store.Period{First: span.First - store.Day(longest-1), Last: span.Last}
	n, err := v.union(e, reach)
	if err != nil {
		return nil, err
	}
	stored, err := v.daysOf(e, reach)
	if err != nil {
		return nil, err
	}
	t := trailingWalk{
		windows: windows, counts: counts, before: int(span.First - reach.First),
		marked: make([]uint64, reach.Len()),
		active: make([]uint64, len(windows)), entered: make([]uint64, len(windows)),
		last: newTable(), buffer: make([]uint32, 4096),
	}
	return counts, eachChunk(ctx, n.chunks(), func(c uint32) error {
		t.begin()
		next := 0
		for i := range reach.Len() {
			var set *roaring.Bitmap
			if d := reach.First + store.Day(i); next < len(stored) && stored[next].Day == d {
				next++
				if set, err = chunkSet(v.snap, union{event: e, days: oneDay(d)}, c); err != nil {
					return err
				}
			}
			t.day(i, set)
		}
		return nil
	})
}

// daysOf lists the stored days of an event within a period; none of one never
// written.
func (v *view) daysOf(e store.Event, p store.Period) ([]store.DayCount, error) {
	if p = p.Intersect(stored(e)); p.Empty() {
		return nil, nil
	}
	return v.snap.Days(e, p)
}

// trailingWalk goes through the days of one chunk after another. Days are counted
// from the first that a window reaches.
type trailingWalk struct {
	windows []int
	counts  [][]uint64 // by window and day of the span, over the chunks walked
	before  int        // days that come before the span
	marked  []uint64   // by day: ids of this chunk whose last marked day it is
	active  []uint64   // by window: ids of this chunk in the window that ends today
	entered []uint64   // by window: those of them that were not in it yesterday
	last    *table     // by position: the last marked day, plus 1
	buffer  []uint32
}

// begin starts a chunk.
func (t *trailingWalk) begin() {
	clear(t.marked)
	clear(t.active)
	t.last.reset()
}

// day takes the marks of day i, nil for none.
func (t *trailingWalk) day(i int, set *roaring.Bitmap) {
	for k, w := range t.windows {
		if i >= w {
			t.active[k] -= t.marked[i-w]
		}
	}
	if set != nil {
		t.mark(i, set)
	}
	for k := range t.windows {
		if i >= t.before {
			t.counts[k][i-t.before] += t.active[k]
		}
	}
}

// mark moves the ids of a set to day i.
func (t *trailingWalk) mark(i int, set *roaring.Bitmap) {
	clear(t.entered)
	it := set.ManyIterator()
	for {
		n := it.NextMany(t.buffer)
		if n == 0 {
			break
		}
		for _, position := range t.buffer[:n] {
			day := math.MinInt
			if before := t.last.swap(position, int32(i)+1); before > 0 {
				day = int(before) - 1
				t.marked[day]--
			}
			for k, w := range t.windows {
				if day <= i-w {
					t.entered[k]++
				}
			}
		}
	}
	t.marked[i] += set.GetCardinality()
	for k, n := range t.entered {
		t.active[k] += n
	}
}
