package query

import (
	"context"

	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// triangle counts the cells of retention. Chunks are walked outside, periods
// inside and in order: the set of a period is read once, gives its cohort, and is
// met by the cohorts of the periods before it, of which a ring keeps as many as
// there are offsets. Periods are numbered from that of the first cohort.
type triangle struct {
	view    *view
	rows    rows
	offsets int
	start   store.Event // whose ids make the cohorts
	back    store.Event // of coming back
	first   bool        // cohorts are of first days

	size     []uint64   // by cohort
	count    [][]uint64 // by cohort and offset
	returned []uint64   // by period: ids that came back in it, of any cohort
}

// triangle plans a report.
func (v *view) triangle(event string, o RetentionOptions) (*triangle, error) {
	p := planner{view: v}
	t := &triangle{view: v, first: o.Cohort == CohortFirst}
	var err error
	if t.start, err = p.event(event); err != nil {
		return nil, err
	}
	if t.back, err = p.event(o.Return); err != nil {
		return nil, err
	}
	if t.rows, err = v.rows(o.By, t.start, o.From, o.To); err != nil {
		return nil, err
	}
	if t.offsets = o.Periods; t.offsets == 0 && t.rows.len() > 0 {
		t.offsets = max(1, min(defaultPeriods, t.rows.Number(v.env.AsOf)-t.rows.first+1))
	}
	if cells := max(1, t.rows.len()); t.offsets > maxCells/cells {
		return nil, usagef("the report has %d cohorts of %d cells, at most %d cells are possible: choose a shorter span, longer periods or fewer cells",
			t.rows.len(), t.offsets, maxCells)
	}
	t.size = make([]uint64, t.rows.len())
	t.count = make([][]uint64, t.rows.len())
	for i := range t.count {
		t.count[i] = make([]uint64, t.offsets)
	}
	t.returned = make([]uint64, t.rows.len()+t.offsets)
	return t, nil
}

// fill counts all cells.
func (t *triangle) fill(ctx context.Context) error {
	if t.rows.len() == 0 {
		return nil
	}
	// Cohorts are empty outside the chunks of the start event's rows. Elsewhere
	// only the size of what came back is wanted, for the false overlap.
	cohorts, err := t.view.union(t.start, store.Period{First: t.days(0).First, Last: t.days(t.rows.len() - 1).Last})
	if err != nil {
		return err
	}
	chunks := cohorts.chunks()
	if !t.view.exact {
		back, err := t.view.union(t.back, store.Period{First: t.days(0).First, Last: t.days(t.periods() - 1).Last})
		if err != nil {
			return err
		}
		chunks = merged(chunks, back.chunks())
	}
	return eachChunk(ctx, chunks, t.chunk)
}

// periods returns the number of periods that any cell reaches.
func (t *triangle) periods() int { return t.rows.len() + t.offsets - 1 }

// days returns the days of period i, of which none after as-of is read.
func (t *triangle) days(i int) store.Period {
	days := t.rows.Days(t.rows.first + i)
	days.Last = min(days.Last, t.view.env.AsOf)
	return days
}

// chunk adds one chunk to the counts.
func (t *triangle) chunk(c uint32) error {
	before := roaring.New()
	if t.first {
		var err error
		days := store.Period{First: t.start.First, Last: t.days(0).First - 1}
		days.Last = min(days.Last, t.view.env.AsOf)
		if before, err = t.set(t.start, days, c); err != nil {
			return err
		}
	}
	ring := make([]*roaring.Bitmap, min(t.offsets, t.rows.len()))
	for i := range t.periods() {
		var active *roaring.Bitmap
		var err error
		if i < t.rows.len() {
			if active, err = t.set(t.start, t.days(i), c); err != nil {
				return err
			}
			cohort := active
			if t.first {
				cohort = roaring.AndNot(active, before)
				before.Or(active)
			}
			t.size[i] += cohort.GetCardinality()
			ring[i%len(ring)] = cohort
		}
		if !t.view.ended(t.rows.Days(t.rows.first + i).Last) {
			continue
		}
		back := active
		if active == nil || t.back.Name != t.start.Name {
			if back, err = t.set(t.back, t.days(i), c); err != nil {
				return err
			}
		}
		t.meet(i, back, ring)
	}
	return nil
}

// meet counts who of the cohorts in the ring came back in period i.
func (t *triangle) meet(i int, back *roaring.Bitmap, ring []*roaring.Bitmap) {
	t.returned[i] += back.GetCardinality()
	if back.IsEmpty() {
		return
	}
	for k := max(0, i-t.offsets+1); k <= min(i, t.rows.len()-1); k++ {
		t.count[k][i-k] += ring[k%len(ring)].AndCardinality(back)
	}
}

// set returns the ids of some days of an event within a chunk.
func (t *triangle) set(e store.Event, days store.Period, c uint32) (*roaring.Bitmap, error) {
	days = days.Intersect(stored(e))
	if days.Empty() {
		return roaring.New(), nil
	}
	return chunkSet(t.view.snap, union{event: e, days: days}, c)
}
