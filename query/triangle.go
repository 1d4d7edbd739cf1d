package query

import (
	"context"

	"cohort/store"
)

// triangle counts the cells of retention, from frames with a column for each step
// in time. By calendar a step is a period of the report, and each makes a cohort.
// From own start a step is a day, each day makes a cohort, and the cohorts of a
// row's days are added up in the report: block n of 7 or 30 days then begins as
// many steps after the day.
//
// A frame gives the cohorts, one after the other, and for each the columns, or
// unions of columns that follow one another, that its cells meet.
type triangle struct {
	view  *view
	rows  rows
	start store.Event // whose ids make the cohorts
	back  store.Event // of coming back
	kind  CohortOf
	set   node // all cohorts, of CohortSet
	mode  Mode
	block int    // steps of a block: 1 by calendar
	cells []cell // by offset
	own   bool   // from own start

	cohorts int // steps that make a cohort
	steps   int // steps that are read by themselves

	size     []uint64   // by cohort
	count    [][]uint64 // by cohort and cell
	returned [][]uint64 // by the first cell of a meeting, and step: ids that came back
	cohort   []uint64   // scratch
	before   []uint64   // scratch: ids of cohorts past, and those before all of them
	lanes    lanes
}

// cell is the blocks that a cell is about, from the first to the last of them.
type cell struct{ from, to int }

// triangle plans a report.
func (p *planner) triangle(event string, o RetentionOptions) (*triangle, error) {
	v := p.view
	t := &triangle{view: v, kind: o.Cohort, mode: o.Mode, own: o.FromOwnStart, block: 1}
	var err error
	if t.start, err = p.event(event); err != nil {
		return nil, err
	}
	if t.back, err = p.event(o.Return); err != nil {
		return nil, err
	}
	if o.CohortSet != nil {
		if t.set, err = p.plan(o.CohortSet); err != nil {
			return nil, err
		}
	}
	if t.rows, err = v.rows(o.By, t.start, o.From, o.To); err != nil {
		return nil, err
	}
	t.cohorts = t.rows.len()
	if t.own && t.cohorts > 0 {
		t.block = ownBlock(o.By)
		t.cohorts = store.Period{First: t.firstDay(), Last: t.rows.Days(t.rows.last).Last}.Len()
	}
	if t.cells, err = o.cells(t.rows, t.cohorts, v.env.AsOf); err != nil {
		return nil, err
	}
	t.steps = t.lastStep() + 1
	return t, nil
}

// cells returns the cells of each of some cohorts.
func (o RetentionOptions) cells(r rows, cohorts int, asOf store.Day) ([]cell, error) {
	n := o.Periods
	switch {
	case o.Mode == ModeBracket:
		n = 1 + len(o.Brackets)
	case n == 0 && r.len() > 0:
		n = max(1, min(defaultPeriods, r.Number(asOf)-r.first+1))
	}
	if n > maxCells/max(1, cohorts) {
		return nil, usagef("the report has %d cohorts of %d cells, at most %d cells are possible: choose a shorter span, longer periods or fewer cells",
			cohorts, n, maxCells)
	}
	cells := make([]cell, n)
	for i := range cells {
		cells[i] = cell{from: i, to: i}
		if o.Mode == ModeBracket && i > 0 {
			cells[i] = cell{from: o.Brackets[i-1].From, to: o.Brackets[i-1].To}
		}
	}
	return cells, nil
}

// firstDay is the first day of the report.
func (t *triangle) firstDay() store.Day { return t.rows.Days(t.rows.first).First }

// days returns the days of a step.
func (t *triangle) days(step int) store.Period {
	if t.own {
		return oneDay(t.firstDay() + store.Day(step))
	}
	return t.rows.Days(t.rows.first + step)
}

// cohortsOf returns the cohorts of a row: from first to before end.
func (t *triangle) cohortsOf(row int) (first, end int) {
	if !t.own {
		return row, row + 1
	}
	days := t.rows.Days(t.rows.first + row)
	return int(days.First - t.firstDay()), int(days.Last-t.firstDay()) + 1
}

// end returns the last day of a cell's blocks: when it is over, there is an
// answer.
func (t *triangle) end(cohort int, c cell) store.Day {
	return t.days(cohort + (c.to+1)*t.block - 1).Last
}

// lastStep returns the last step that any cell reaches and that is not after
// as-of, -1 without any.
func (t *triangle) lastStep() int {
	last := t.cohorts - 1
	for _, c := range t.cells {
		last = max(last, t.cohorts-1+(c.to+1)*t.block-1)
	}
	if t.rows.len() == 0 {
		return -1
	}
	now := t.rows.Number(t.view.env.AsOf) - t.rows.first
	if t.own {
		now = int(t.view.env.AsOf - t.firstDay())
	}
	return max(-1, min(last, now))
}

// The columns of the frames: the steps of the event of coming back, what is after
// the last of them, the cohorts' event or set, and who is in no cohort of first
// days because of days before.
// The lanes are as the first steps + 1.
func (t *triangle) backColumn(step int) int { return step }
func (t *triangle) startColumn(step int) int {
	if t.start.Name == t.back.Name {
		return step
	}
	return t.steps + 1 + step
}
func (t *triangle) setColumn() int    { return 2*t.steps + 1 }
func (t *triangle) beforeColumn() int { return 2*t.steps + 1 }
func (t *triangle) columns() int      { return 2*t.steps + 2 }

// fill counts all cells, of the ids of a restriction.
func (t *triangle) fill(ctx context.Context, r restriction) error {
	t.reset()
	c := t.view.columns(t.columns(), r)
	if err := t.plan(c, r); err != nil {
		return err
	}
	if t.set != nil {
		size, err := t.view.size(ctx, r.of(t.set))
		if err != nil {
			return err
		}
		for i := range t.size {
			t.size[i] = size
		}
	}
	return c.run(ctx, t.frame)
}

// reset makes room for the counts.
func (t *triangle) reset() {
	t.size = make([]uint64, t.cohorts)
	t.count, t.returned = make([][]uint64, t.cohorts), make([][]uint64, len(t.cells))
	for i := range t.count {
		t.count[i] = make([]uint64, len(t.cells))
	}
	for n := range t.returned {
		t.returned[n] = make([]uint64, t.steps)
	}
}

// plan says what is read into which column.
func (t *triangle) plan(c *columns, r restriction) error {
	for i := range t.steps {
		if err := c.add(t.backColumn(i), t.back, t.days(i)); err != nil {
			return err
		}
		if i >= t.cohorts || t.set != nil || t.start.Name == t.back.Name {
			continue
		}
		if err := c.add(t.startColumn(i), t.start, t.days(i)); err != nil {
			return err
		}
	}
	if t.mode == ModeOnOrAfter && t.steps > 0 {
		later := store.Period{First: t.days(t.steps-1).Last + 1, Last: t.view.env.AsOf}
		if err := c.add(t.steps, t.back, later); err != nil {
			return err
		}
	}
	switch {
	case t.rows.len() == 0:
	case t.set != nil:
		c.addSet(t.setColumn(), r.of(t.set))
	case t.kind == CohortFirst:
		return c.addBefore(t.beforeColumn(), t.start, t.firstDay())
	}
	return nil
}
