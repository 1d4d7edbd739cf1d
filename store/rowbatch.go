package store

import (
	"iter"
	"strings"

	"cohort/placement"
)

// rowBatch is the rows of a batch, in their order. Its memory serves one batch after
// another.
type rowBatch struct {
	rows  []loadRow
	ids   []string // of the rows, in stores that keep strings
	bytes int      // of them
	days  []*loadDay
	byKey map[loadKey]*loadDay
	last  *loadDay // the day of the row before

	positions []uint32 // of the rows by day, once they are grouped
}

type loadRow struct {
	mixed placement.Mixed
	day   uint32 // its place in days
}

type loadKey struct {
	event *loadEvent
	day   Day
}

// loadDay is the batch's rows of one (event, day), in order.
type loadDay struct {
	key       loadKey
	number    uint32   // its place among the days, which are in the order of their first rows
	n         int      // of its rows
	positions []uint32 // of its rows, once they are grouped
}

func newRowBatch() *rowBatch { return &rowBatch{byKey: make(map[loadKey]*loadDay)} }

// add adds a row, with a copy of its id where strings are kept.
func (r *rowBatch) add(k loadKey, mixed placement.Mixed, id string, keep bool) {
	d := r.last
	if d == nil || d.key != k {
		d = r.day(k)
		r.last = d
	}
	d.n++
	r.rows = append(r.rows, loadRow{mixed, d.number})
	if keep {
		// The caller's string may be a piece of a larger one.
		r.ids = append(r.ids, strings.Clone(id))
		r.bytes += len(id)
	}
}

func (r *rowBatch) day(k loadKey) *loadDay {
	d, ok := r.byKey[k]
	if !ok {
		d = &loadDay{key: k, number: uint32(len(r.days))}
		r.days, r.byKey[k] = append(r.days, d), d
	}
	return d
}

// group gives each day the positions of its rows, in their order.
func (r *rowBatch) group(position func(row int) uint32) {
	r.positions = resize(r.positions, len(r.rows))
	start := 0
	for _, d := range r.days {
		d.positions = r.positions[start : start : start+d.n]
		start += d.n
	}
	for i, row := range r.rows {
		d := r.days[row.day]
		d.positions = append(d.positions, position(i))
	}
}

// idsOf yields the ids of the rows of some days, told by their numbers.
func (r *rowBatch) idsOf(days []bool) iter.Seq[idEntry] {
	return func(yield func(idEntry) bool) {
		for i, row := range r.rows {
			if !days[row.day] {
				continue
			}
			e := idEntry{mixed: row.mixed}
			if len(r.ids) > 0 {
				e.id = r.ids[i]
			}
			if !yield(e) {
				return
			}
		}
	}
}

// empty begins another batch.
func (r *rowBatch) empty() {
	clear(r.ids)
	clear(r.days)
	clear(r.byKey)
	r.rows, r.ids, r.days, r.bytes, r.last = r.rows[:0], r.ids[:0], r.days[:0], 0, nil
}

// resize returns a slice of n elements, s if there is room.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
