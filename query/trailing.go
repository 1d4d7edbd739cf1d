package query

import (
	"context"
	"math"
	"math/rand/v2"

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
		last: newLastDays(), buffer: make([]uint32, 4096),
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
	last    *lastDays
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
			day := t.last.swap(position, i)
			if day >= 0 {
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

// lastDays holds the last marked day of each position of a chunk that has one: a
// hash table with linear probing, at most half full. It takes 16 to 32 bytes a
// position, and so stays in the cache at a million ids a day in 256 chunks: 15 ns
// a mark, against 50 to 100 of an array with a place for each of the 2²⁴ positions
// of the chunk.
type lastDays struct {
	slots  []lastDay
	shift  uint   // of a hash, to have an index of slots
	factor uint32 // odd; random, so that no choice of ids makes all collide
	used   int
}

// lastDay is a position and its day plus 1, 0 in a free slot.
type lastDay struct {
	position uint32
	next     int32
}

const firstSlots = 10 // log₂ of the number of slots of a new table

func newLastDays() *lastDays {
	return &lastDays{slots: make([]lastDay, 1<<firstSlots), shift: 32 - firstSlots, factor: rand.Uint32() | 1}
}

// reset begins another chunk.
func (l *lastDays) reset() {
	clear(l.slots)
	l.used = 0
}

// swap sets the day of a position and returns the one it had, -1<<31 for none.
func (l *lastDays) swap(position uint32, day int) int {
	s := l.slot(position)
	before := int(s.next) - 1
	if s.next == 0 {
		before = math.MinInt32
		l.used++
	}
	*s = lastDay{position, int32(day) + 1}
	if 2*l.used > len(l.slots) {
		l.grow()
	}
	return before
}

// slot returns the slot of a position, or the free one that it is to take.
func (l *lastDays) slot(position uint32) *lastDay {
	for i := int(position * l.factor >> l.shift); ; i++ {
		s := &l.slots[i&(len(l.slots)-1)]
		if s.next == 0 || s.position == position {
			return s
		}
	}
}

// grow doubles the table.
func (l *lastDays) grow() {
	old := l.slots
	l.slots = make([]lastDay, 2*len(old))
	l.shift--
	for _, s := range old {
		if s.next != 0 {
			*l.slot(s.position) = s
		}
	}
}
