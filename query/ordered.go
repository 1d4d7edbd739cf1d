package query

import (
	"context"
	"maps"
	"math/bits"
	"slices"

	"cohort/store"
)

// An ordered funnel is counted from frames, with a column for each event and day.
// The days are walked in order, and a set for each step holds who has reached it by
// now: a mark of the step's event adds those who had reached the step before.
//
// Within a window one number per id and step goes along: the latest day of entry
// from which the id has reached the step. A mark of the first step sets its number to
// the day itself; a mark of another step raises the number to that of the step
// before, unless the day lies past the window of that entry. A later entry has the
// later end of its window, and so makes no attempt fail that an earlier one lets
// succeed: one number stands for all attempts, and the best is found without trying
// each. Each mark costs some ns a step, however long the window is.
//
// Which orders of days count is a matter of which step takes the marks of a day
// first. Where the later step does, the set of the step before is still that of the
// days before: that is the strict order. Where the earlier one does, both can be
// reached on one day: that is the loose order. Steps in a row that are one event are
// always taken from the last to the first.

// maxOrdered is the largest number of steps of an ordered funnel: 64 sets and
// numbers of some hundred KiB each.
const maxOrdered = 32

// orderedFunnel counts a funnel.
type orderedFunnel struct {
	view   *view
	steps  []orderedStep
	events []store.Event // each once, that of the first step first
	days   []orderedDay  // ascending
	width  int           // columns

	walks  []*orderedWalk // one for each order
	sizes  []uint64       // by step: ids with a mark that counts of its event, where positions collide
	open   uint64
	lastly store.Day // the last entry whose window has ended
	union  []uint64
}

// orderedStep is a step, and the days on which its event counts.
type orderedStep struct {
	event int // index of events
	days  store.Period
}

// orderedDay is a day on which some events are marked and count.
type orderedDay struct {
	day     store.Day
	columns map[int]int // by event
}

// orderedFunnel plans a funnel in an order other than any. It returns what answers
// about those who enter by a restriction.
func (p *planner) orderedFunnel(ctx context.Context, steps []Step, o FunnelOptions) (func(restriction) (FunnelReport, error), error) {
	if len(steps) > maxOrdered {
		return nil, usagef("%d steps: a funnel in an order has at most %d", len(steps), maxOrdered)
	}
	f := &orderedFunnel{view: p.view}
	for _, s := range steps {
		if err := f.planStep(p, s, o); err != nil {
			return nil, err
		}
	}
	if err := f.planDays(); err != nil {
		return nil, err
	}
	f.lastly = min(p.view.env.AsOf, p.view.today-1) - store.Day(o.Within)
	return func(who restriction) (FunnelReport, error) {
		f.begin(o)
		if err := f.count(ctx, who); err != nil {
			return FunnelReport{}, err
		}
		// Of both orders the loose one, which is the first, has the larger sets.
		r := FunnelReport{AsOf: p.view.env.AsOf, Open: f.open, ExpectedFalseOverlap: p.view.stepOverlap(f.walks[0].reached, f.sizes)}
		rows := make([][]FunnelStep, len(f.walks))
		for i, w := range f.walks {
			rows[i] = funnelSteps(steps, w.reached)
		}
		if o.Order == BothOrders {
			r.Loose, r.Strict = rows[0], rows[1]
		} else {
			r.Steps = rows[0]
		}
		return r, nil
	}, nil
}

// planStep plans the next step.
func (f *orderedFunnel) planStep(p *planner, s Step, o FunnelOptions) error {
	v := f.view
	x, err := s.expr(v.snap)
	if err != nil {
		return err
	}
	if x != nil || s.form == stepSet {
		return usagef("step %s: a set expression has no days to be put in order; name an event, or choose any order", quote(s.text))
	}
	e, err := p.event(s.text)
	if err != nil {
		return err
	}
	// One never written has the name of the step all the same.
	e.Name = s.text
	at := slices.IndexFunc(f.events, func(have store.Event) bool { return have.Name == e.Name })
	if at < 0 {
		at = len(f.events)
		f.events = append(f.events, e)
	}
	days, err := v.resolve(o.Over, e)
	if err != nil {
		return err
	}
	if o.Within > 0 && len(f.steps) > 0 {
		if days = f.steps[0].days; !days.Empty() {
			days.Last = min(days.Last+store.Day(o.Within), v.env.AsOf)
		}
	}
	f.steps = append(f.steps, orderedStep{at, days.Intersect(stored(e))})
	return nil
}

// planDays lists the days on which any step has marks that count.
func (f *orderedFunnel) planDays() error {
	columns := map[store.Day]map[int]int{}
	for _, s := range f.steps {
		days, err := f.view.daysOf(f.events[s.event], s.days)
		if err != nil {
			return err
		}
		for _, d := range days {
			if columns[d.Day] == nil {
				columns[d.Day] = map[int]int{}
			}
			if _, ok := columns[d.Day][s.event]; !ok {
				columns[d.Day][s.event] = f.width
				f.width++
			}
		}
	}
	for _, d := range slices.Sorted(maps.Keys(columns)) {
		f.days = append(f.days, orderedDay{d, columns[d]})
	}
	return nil
}

// begin sets all counts to 0.
func (f *orderedFunnel) begin(o FunnelOptions) {
	f.open, f.sizes, f.walks = 0, make([]uint64, len(f.steps)), nil
	for _, order := range []Order{Loose, Strict} {
		if o.Order == order || o.Order == BothOrders {
			f.walks = append(f.walks, newOrderedWalk(f.sequence(order), o))
		}
	}
}

// sequence returns the steps in the order in which they take the marks of a day.
func (f *orderedFunnel) sequence(order Order) []int {
	var seq []int
	for first := 0; first < len(f.steps); {
		next := first + 1
		for next < len(f.steps) && (order == Strict || f.steps[next].event == f.steps[first].event) {
			next++
		}
		for k := next - 1; k >= first; k-- {
			seq = append(seq, k)
		}
		first = next
	}
	return seq
}

// count counts who of those that a restriction leaves enter, and how far they come.
func (f *orderedFunnel) count(ctx context.Context, who restriction) error {
	c := f.view.columns(f.width, who)
	for _, d := range f.days {
		for event, column := range d.columns {
			add := c.add
			if f.view.exact && !(event == 0 && f.steps[0].days.Contains(d.day)) {
				add = c.addFilter // of no interest but for those who enter
			}
			if err := add(column, f.events[event], oneDay(d.day)); err != nil {
				return err
			}
		}
	}
	return c.run(ctx, f.frame)
}

// frame adds a frame to the counts.
func (f *orderedFunnel) frame(frame *store.Frames) {
	for _, w := range f.walks {
		w.begin(frame.Words())
	}
	for _, d := range f.days {
		for _, w := range f.walks {
			for _, k := range w.sequence {
				if marked := f.marked(frame, k, d); marked != nil {
					w.take(k, marked, int32(d.day-f.days[0].day)+1)
				}
			}
		}
	}
	for _, w := range f.walks {
		w.end()
	}
	f.open += f.walks[0].entriesAfter(int32(f.lastly-f.days[0].day) + 1)
	if f.view.exact {
		return
	}
	for k := 1; k < len(f.steps); k++ {
		f.union = zeros(f.union, frame.Words())
		for _, d := range f.days {
			or(f.union, f.marked(frame, k, d))
		}
		f.sizes[k] += count(f.union)
	}
}

// marked returns who is marked with the event of a step on a day on which it counts.
func (f *orderedFunnel) marked(frame *store.Frames, k int, d orderedDay) []uint64 {
	s := f.steps[k]
	column, ok := d.columns[s.event]
	if !ok || !s.days.Contains(d.day) {
		return nil
	}
	return frame.Column(column)
}

// orderedWalk counts one order.
type orderedWalk struct {
	sequence   []int // the steps in the order in which they take the marks of a day
	within     int32 // 0 for no window
	firstEntry bool  // an id enters once

	reached []uint64   // by step
	sets    [][]uint64 // by step: who of the frame has reached it
	// latest has, by step and place in the frame, the latest day of entry from which
	// the step was reached, from 1; 0 for none. It is empty without a window.
	latest [][]int32
}

func newOrderedWalk(sequence []int, o FunnelOptions) *orderedWalk {
	n := len(sequence)
	w := &orderedWalk{sequence: sequence, within: int32(o.Within), firstEntry: o.FirstEntry,
		reached: make([]uint64, n), sets: make([][]uint64, n)}
	if o.Within > 0 {
		w.latest = make([][]int32, n)
	}
	return w
}

// begin starts a frame of so many words.
func (w *orderedWalk) begin(words int) {
	for k := range w.sets {
		w.sets[k] = zeros(w.sets[k], words)
	}
	for k := range w.latest {
		w.latest[k] = zeros(w.latest[k], words*64)
	}
}

// end adds the frame to the counts.
func (w *orderedWalk) end() {
	for k, set := range w.sets {
		w.reached[k] += count(set)
	}
}

// take takes the marks of today for step k.
func (w *orderedWalk) take(k int, marked []uint64, today int32) {
	switch {
	case w.within > 0 && k > 0:
		w.goOn(k, marked, today)
	case w.within > 0:
		w.enter(marked, today)
	case k > 0:
		orBoth(w.sets[k], w.sets[k-1], marked)
	default:
		or(w.sets[0], marked)
	}
}

// enter begins an attempt of each id that is marked.
func (w *orderedWalk) enter(marked []uint64, today int32) {
	entered, latest := w.sets[0], w.latest[0]
	for i, m := range marked {
		if w.firstEntry {
			m &^= entered[i]
		}
		entered[i] |= m
		for ; m != 0; m &= m - 1 {
			latest[64*i+bits.TrailingZeros64(m)] = today
		}
	}
}

// goOn takes those that are marked from the step before to step k, where that gains
// them anything and the window has not ended.
func (w *orderedWalk) goOn(k int, marked []uint64, today int32) {
	for i, m := range marked {
		for m &= w.sets[k-1][i]; m != 0; m &= m - 1 {
			at := 64*i + bits.TrailingZeros64(m)
			if entry := w.latest[k-1][at]; entry > w.latest[k][at] && today-entry <= w.within {
				w.latest[k][at] = entry
				w.sets[k][i] |= m & -m
			}
		}
	}
}

// entriesAfter returns how many ids of the frame entered, for the last time that
// counts, after a day; 0 without a window.
func (w *orderedWalk) entriesAfter(day int32) (n uint64) {
	if w.within == 0 {
		return 0
	}
	for _, entry := range w.latest[0] {
		if entry > max(day, 0) {
			n++
		}
	}
	return n
}
