package query

import (
	"cmp"
	"context"
	"slices"

	"cohort/store"
)

// actives counts who is active in the periods of a report, from frames with a
// column for each period. By day the first columns are the days before, which
// trailing windows reach.
type actives struct {
	view    *view
	event   store.Event
	rows    rows
	live    int // rows that do not lie wholly after as-of; no others have columns
	windows activeWindows
	before  int // columns before that of the first row

	active  []uint64   // by row
	counts  [][]uint64 // by window and row
	exactly []uint64   // by number of rows, where there is a histogram; else nil
	lanes   lanes
	tally   tally
}

// actives plans a report.
func (v *view) actives(e store.Event, r rows, w activeWindows, histogram bool) *actives {
	a := &actives{view: v, event: e, rows: r, windows: w, active: make([]uint64, r.len())}
	if r.len() > 0 {
		a.live = min(r.len(), max(0, r.Number(v.env.AsOf)-r.first+1))
	}
	for _, n := range w.days {
		a.before = max(a.before, n-1)
		a.counts = append(a.counts, make([]uint64, r.len()))
	}
	if histogram {
		a.exactly = make([]uint64, a.live+1)
	}
	return a
}

// fill counts the ids of a restriction.
func (a *actives) fill(ctx context.Context, who restriction) error {
	if a.live == 0 {
		return nil
	}
	c := a.view.columns(a.before+a.live, who)
	for i := range a.before + a.live {
		if err := c.add(i, a.event, a.rows.Days(a.rows.first-a.before+i)); err != nil {
			return err
		}
	}
	return c.run(ctx, a.frame)
}

// frame adds a frame to the counts.
func (a *actives) frame(f *store.Frames) {
	for i := range a.live {
		a.active[i] += count(f.Column(a.before + i))
	}
	if a.exactly != nil {
		a.tally.reset(f.Words(), a.live)
		for i := range a.live {
			a.tally.add(f.Column(a.before + i))
		}
		a.tally.addTo(a.exactly)
	}
	if len(a.counts) == 0 {
		return
	}
	a.lanes.fill(f, a.before+a.live)
	for _, k := range a.byLength() {
		n := a.windows.days[k]
		a.lanes.widen(n)
		for i := range a.live {
			a.counts[k][i] += count(a.lanes.sets[a.before+i-n+1])
		}
	}
}

// byLength returns the windows from the shortest.
func (a *actives) byLength() []int {
	order := make([]int, len(a.windows.days))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(x, y int) int { return cmp.Compare(a.windows.days[x], a.windows.days[y]) })
	return order
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
