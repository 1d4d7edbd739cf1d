package query

import (
	"cmp"
	"context"
	"slices"

	"cohort/store"
)

// actives counts who is active in the periods of a report, from frames with a
// column for each period.
//
// By day, trailing windows reach the days before. Of a window no longer than the rows
// are many, these days have columns too, in front, and all its unions are made at once,
// of columns next to each other. Of a longer one most days are in the windows of all
// rows: these are one column, its core, and only the days in front of that, which one
// row after the other leaves behind, have columns of their own. So the length of a
// window costs no more than the union of its core, of which much may be remembered.
type actives struct {
	view    *view
	event   store.Event
	rows    rows
	live    int // rows that do not lie wholly after as-of; no others have columns
	windows activeWindows
	short   []int // windows no longer than live, from the shortest
	long    []int // the others
	before  int   // columns before that of the first row

	active  []uint64   // by row
	counts  [][]uint64 // by window and row
	exactly []uint64   // by number of rows, where there is a histogram; else nil
	lanes   lanes
	tally   tally
	union   []uint64 // scratch
}

// actives plans a report.
func (v *view) actives(e store.Event, r rows, w activeWindows, histogram bool) *actives {
	a := &actives{view: v, event: e, rows: r, windows: w, active: make([]uint64, r.len())}
	if r.len() > 0 {
		a.live = min(r.len(), max(0, r.Number(v.env.AsOf)-r.first+1))
	}
	for k, n := range w.days {
		a.counts = append(a.counts, make([]uint64, r.len()))
		if n > a.live {
			a.long = append(a.long, k)
			continue
		}
		a.short = append(a.short, k)
		a.before = max(a.before, n-1)
	}
	slices.SortFunc(a.short, func(x, y int) int { return cmp.Compare(w.days[x], w.days[y]) })
	if histogram {
		a.exactly = make([]uint64, a.live+1)
	}
	return a
}

// The columns: days before the rows, the rows, and of each long window the days that
// rows leave behind, and its core.
func (a *actives) rowColumn(row int) int      { return a.before + row }
func (a *actives) headColumn(long, i int) int { return a.before + a.live*(1+long) + i }
func (a *actives) coreColumn(long int) int    { return a.headColumn(long, a.live-1) }
func (a *actives) columns() int               { return a.headColumn(len(a.long), 0) }

// fill counts the ids of a restriction.
func (a *actives) fill(ctx context.Context, who restriction) error {
	if a.live == 0 {
		return nil
	}
	c := a.view.columns(a.columns(), who)
	for i := range a.before + a.live {
		if err := c.add(i, a.event, a.rows.Days(a.rows.first-a.before+i)); err != nil {
			return err
		}
	}
	first := a.rows.Days(a.rows.first).First
	for long, k := range a.long {
		from := first - store.Day(a.windows.days[k]-1)
		for i := range a.live - 1 {
			if err := c.add(a.headColumn(long, i), a.event, oneDay(from+store.Day(i))); err != nil {
				return err
			}
		}
		core := store.Period{First: from + store.Day(a.live-1), Last: first - 1}
		if err := c.add(a.coreColumn(long), a.event, core); err != nil {
			return err
		}
	}
	return c.run(ctx, a.frame)
}

// frame adds a frame to the counts.
func (a *actives) frame(f *store.Frames) {
	for i := range a.live {
		a.active[i] += count(f.Column(a.rowColumn(i)))
	}
	if a.exactly != nil {
		a.tally.reset(f.Words(), a.live)
		for i := range a.live {
			a.tally.add(f.Column(a.rowColumn(i)))
		}
		a.tally.addTo(a.exactly)
	}
	if len(a.short) > 0 {
		a.lanes.fill(f, 0, a.before+a.live)
	}
	for _, k := range a.short {
		n := a.windows.days[k]
		a.lanes.widen(n)
		for i := range a.live {
			a.counts[k][i] += count(a.lanes.sets[a.rowColumn(i)-n+1])
		}
	}
	for long, k := range a.long {
		a.slide(f, long, a.counts[k])
	}
}

// slide adds a frame to the counts of a long window: of each row, the days in front of
// the core that it has not left behind, the core, and the rows up to it.
func (a *actives) slide(f *store.Frames, long int, counts []uint64) {
	a.lanes.fill(f, a.headColumn(long, 0), a.live-1)
	a.lanes.accumulate()
	a.union = zeros(a.union, f.Words())
	or(a.union, f.Column(a.coreColumn(long)))
	for i := range a.live {
		or(a.union, f.Column(a.rowColumn(i)))
		if i == a.live-1 {
			counts[i] += count(a.union) // it has left all of them behind
		} else {
			counts[i] += countEither(a.union, a.lanes.sets[i])
		}
	}
}

// report works out the rates of what is filled.
func (a *actives) report() ActiveReport {
	r := ActiveReport{AsOf: a.view.env.AsOf, Rows: make([]ActiveRow, a.rows.len())}
	var sticky []Rate
	for i := range r.Rows {
		number := a.rows.first + i
		row := ActiveRow{Period: a.rows.Period(number), Active: a.active[i], Incomplete: !a.view.ended(a.rows.Days(number).Last)}
		if a.rows.By == ByDay {
			for k, n := range a.windows.days[:a.windows.shown] {
				row.Trailing = append(row.Trailing, Window{n, a.counts[k][i]})
			}
			row.Stickiness = Ratio(row.Active, a.counts[a.windows.month][i])
			if !row.Incomplete {
				sticky = append(sticky, row.Stickiness)
			}
		}
		r.Rows[i] = row
	}
	r.MeanStickiness = meanRate(sticky)
	r.Histogram = a.histogram()
	return r
}

// histogram returns what was asked for of it.
func (a *actives) histogram() []ActiveOn {
	if a.exactly == nil {
		return nil
	}
	all := make([]ActiveOn, a.live)
	atLeast := uint64(0)
	for k := a.live; k > 0; k-- {
		atLeast += a.exactly[k]
		all[k-1] = ActiveOn{k, a.exactly[k], atLeast}
	}
	return all
}
