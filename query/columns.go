package query

import (
	"context"
	"errors"

	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// Columns are the days of a report, read as frames: a column for each of its
// periods, so that each day is read once whatever the report asks, and memory is a
// few KiB for each column. The ids that the report is restricted to are columns
// too; each frame comes with all others cut down to them.
type columns struct {
	view    *view
	frames  *store.Frames
	n       int // without those of the restriction
	chunks  [][]uint32
	filters map[int]chunkSource // of columns that are sets
	keep    bool                // column keepColumn holds the ids that are kept
	drop    bool                // column dropColumn those that are not
}

// chunkSource gives the part of a set that lies in a chunk.
type chunkSource func(chunk uint32) (*roaring.Bitmap, error)

func (c *columns) keepColumn() int { return c.n }
func (c *columns) dropColumn() int { return c.n + 1 }

// columns returns so many columns, which are empty, of the ids of a restriction.
func (v *view) columns(n int, r restriction) *columns {
	c := &columns{view: v, frames: v.snap.Frames(n + 2), n: n, filters: map[int]chunkSource{}}
	if len(r.within) > 0 {
		c.keep = true
		c.addSet(c.keepColumn(), restriction{r.within[1:], r.except}.of(r.within[0]))
	} else if len(r.except) > 0 {
		drop := r.except[0]
		for _, n := range r.except[1:] {
			drop = newOperation(opOr, drop, n)
		}
		c.drop = true
		c.addSet(c.dropColumn(), drop)
	}
	return c
}

// add puts the ids of some days, of those that the report reads, into a column.
func (c *columns) add(column int, e store.Event, days store.Period) error {
	days = days.Intersect(c.view.read(e))
	if days.Empty() {
		return nil
	}
	chunks, err := c.view.snap.ChunkNumbers(e, days)
	if err != nil {
		return err
	}
	c.chunks = append(c.chunks, chunks)
	return c.frames.Add(column, e, days)
}

// addBefore puts the ids that have a mark before a day into a column, as far as
// other columns have them: who is in a later one and not in it is there first.
// Where the store remembers first days, it reads each such id once, else each day.
func (c *columns) addBefore(column int, e store.Event, day store.Day) error {
	days := c.view.read(e)
	if days.Last = min(days.Last, day-1); days.Empty() {
		return nil
	}
	_, remembered, err := c.view.snap.FirstCounts(e, days)
	if err != nil || !remembered {
		return errors.Join(err, c.addFilter(column, e, days))
	}
	c.filters[column] = func(chunk uint32) (*roaring.Bitmap, error) {
		firsts, err := c.view.snap.FirstDays(e, []store.Period{days}, chunk)
		if err != nil {
			return nil, err
		}
		return firsts[0], nil
	}
	return nil
}

// addFilter puts the ids of some days into a column, as far as columns that are
// added have them.
func (c *columns) addFilter(column int, e store.Event, days store.Period) error {
	return c.frames.Filter(column, e, days.Intersect(c.view.read(e)))
}

// addSet puts a set into a column, as far as other columns have its ids.
func (c *columns) addSet(column int, n node) {
	c.filters[column] = func(chunk uint32) (*roaring.Bitmap, error) { return chunkSet(c.view.snap, n, chunk) }
}

// run calls f with each frame.
func (c *columns) run(ctx context.Context, f func(*store.Frames)) error {
	return eachChunk(ctx, merged(c.chunks...), func(chunk uint32) error {
		sets := make(map[int]*roaring.Bitmap, len(c.filters))
		for column, set := range c.filters {
			var err error
			if sets[column], err = set(chunk); err != nil {
				return err
			}
		}
		if err := c.frames.Open(chunk, sets); err != nil {
			return err
		}
		for c.frames.Next() {
			c.restrict()
			f(c.frames)
		}
		return c.frames.Err()
	})
}

// restrict cuts the columns of a frame down to the ids of the report.
func (c *columns) restrict() {
	if !c.keep && !c.drop {
		return
	}
	keep, drop := c.frames.Column(c.keepColumn()), c.frames.Column(c.dropColumn())
	for i := range c.n {
		column := c.frames.Column(i)
		if c.keep {
			and(column, keep)
		} else {
			andNot(column, drop)
		}
	}
}
