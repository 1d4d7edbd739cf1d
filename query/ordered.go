package query

import (
	"context"
	"math"
	"slices"

	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// An ordered funnel is counted from one number per id and step: the latest day of
// entry from which the id has reached the step by now, within the window. The days
// of a chunk are walked in order. A mark of the first step sets the number of that
// step to the day itself; a mark of another step raises the number to that of the
// step before, unless the day lies past the window of that entry. A later entry has
// the later end of its window, and so makes no attempt fail that an earlier one lets
// succeed: one number stands for all attempts, and the best is found without trying
// each. An id has reached a step if the number was ever set. Each (day, chunk) is
// read once, and each mark costs some ns a step, however long the window is.
//
// Which orders of days count is a matter of which step takes the marks of a day
// first. Where the later step does, the number of the step before is still that of
// the days before: that is the strict order. Where the earlier one does, both can be
// reached on one day: that is the loose order. Steps in a row that are one event are
// always taken from the last to the first.

// maxOrdered is the largest number of steps of an ordered funnel. Its memory is for
// each id of a chunk, of which a store of numbers can have 524,288.
const maxOrdered = 32

// orderedFunnel counts a funnel.
type orderedFunnel struct {
	view    *view
	steps   []orderedStep
	events  []orderedEvent  // each once, that of the first step first
	days    []orderedDay    // ascending
	walks   []*orderedWalk  // one for each order
	ids     *table          // numbers those ids of the chunk that entered, from 1
	allowed *roaring.Bitmap // who of the chunk may enter; nil for all
	open    uint64
	lastly  store.Day // the last entry whose window has ended
	buffer  []uint32
}

// orderedStep is a step, and the days on which its event counts.
type orderedStep struct {
	event int // index of events
	days  store.Period
}

// orderedEvent is an event, and its ids of the chunk and day at hand that entered.
type orderedEvent struct {
	store.Event
	ids []int32
}

// orderedDay is a day on which some events are marked and count.
type orderedDay struct {
	day    store.Day
	events []int
}

// orderedFunnel plans a funnel in an order other than any. It returns what answers
// about those who enter by a restriction.
func (p *planner) orderedFunnel(ctx context.Context, steps []Step, o FunnelOptions) (func(restriction) (FunnelReport, error), error) {
	if len(steps) > maxOrdered {
		return nil, usagef("%d steps: a funnel in an order has at most %d", len(steps), maxOrdered)
	}
	f := &orderedFunnel{view: p.view, ids: newTable(), buffer: make([]uint32, 4096)}
	if err := f.plan(p, steps, o); err != nil {
		return nil, err
	}
	sizes, err := f.sizes(ctx)
	if err != nil {
		return nil, err
	}
	return func(who restriction) (FunnelReport, error) {
		if err := f.count(ctx, who); err != nil {
			return FunnelReport{}, err
		}
		// Of both orders the loose one, which is the first, has the larger sets.
		r := FunnelReport{AsOf: p.view.env.AsOf, Open: f.open, ExpectedFalseOverlap: p.view.stepOverlap(f.walks[0].reached, sizes)}
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

// plan looks up the events and their days.
func (f *orderedFunnel) plan(p *planner, steps []Step, o FunnelOptions) error {
	for _, s := range steps {
		if err := f.planStep(p, s, o); err != nil {
			return err
		}
	}
	if err := f.planDays(); err != nil {
		return err
	}
	var first store.Day
	if len(f.days) > 0 {
		first = f.days[0].day
	}
	w := orderedWalk{first: first, within: math.MaxInt32, firstEntry: o.FirstEntry}
	f.lastly = store.MaxDay
	if o.Within > 0 {
		w.within = int32(o.Within)
		f.lastly = min(f.view.env.AsOf, f.view.today-1) - store.Day(o.Within)
	}
	for _, order := range []Order{Loose, Strict} {
		if o.Order == order || o.Order == BothOrders {
			w.sequence = f.sequence(order)
			w.reached = make([]uint64, len(steps))
			f.walks = append(f.walks, new(w))
		}
	}
	return nil
}

// planStep plans the next step.
func (f *orderedFunnel) planStep(p *planner, s Step, o FunnelOptions) error {
	v := f.view
	isEvent, err := s.isEvent(v)
	if err != nil {
		return err
	}
	if !isEvent {
		return usagef("step %s: a set expression has no days to be put in order; name an event, or choose any order", quote(s.text))
	}
	e, err := p.event(s.text)
	if err != nil {
		return err
	}
	// One never written has the name of the step all the same.
	e.Name = s.text
	at := slices.IndexFunc(f.events, func(have orderedEvent) bool { return have.Name == e.Name })
	if at < 0 {
		at = len(f.events)
		f.events = append(f.events, orderedEvent{Event: e})
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
	events := map[store.Day][]int{}
	for _, s := range f.steps {
		days, err := f.view.daysOf(f.events[s.event].Event, s.days)
		if err != nil {
			return err
		}
		for _, d := range days {
			if !slices.Contains(events[d.Day], s.event) {
				events[d.Day] = append(events[d.Day], s.event)
			}
		}
	}
	for d, marked := range events {
		slices.Sort(marked) // that of the first step first
		f.days = append(f.days, orderedDay{d, marked})
	}
	slices.SortFunc(f.days, func(a, b orderedDay) int { return int(a.day) - int(b.day) })
	return nil
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

// sizes returns how many ids have a mark that counts of the event of each step,
// where positions collide.
func (f *orderedFunnel) sizes(ctx context.Context) ([]uint64, error) {
	sizes := make([]uint64, len(f.steps))
	if f.view.exact {
		return sizes, nil
	}
	known := map[orderedStep]uint64{}
	for k := 1; k < len(f.steps); k++ {
		s := f.steps[k]
		if _, ok := known[s]; !ok {
			n, err := f.view.union(f.events[s.event].Event, s.days)
			if err != nil {
				return nil, err
			}
			if known[s], err = f.view.size(ctx, n); err != nil {
				return nil, err
			}
		}
		sizes[k] = known[s]
	}
	return sizes, nil
}

// count counts who of those that a restriction leaves enter, and how far they come.
func (f *orderedFunnel) count(ctx context.Context, who restriction) error {
	f.open = 0
	for _, w := range f.walks {
		clear(w.reached)
	}
	entries, err := f.view.union(f.events[0].Event, f.steps[0].days)
	if err != nil {
		return err
	}
	entries = who.of(entries)
	return eachChunk(ctx, entries.chunks(), func(c uint32) (err error) {
		if f.allowed = nil; !who.all() {
			if f.allowed, err = chunkSet(f.view.snap, entries, c); err != nil {
				return err
			}
		}
		return f.chunk(c)
	})
}

// chunk adds one chunk to the counts.
func (f *orderedFunnel) chunk(c uint32) error {
	f.ids.reset()
	for _, w := range f.walks {
		w.latest = w.latest[:0]
	}
	for _, d := range f.days {
		for _, i := range d.events {
			if err := f.read(i, d.day, c); err != nil {
				return err
			}
		}
		for _, w := range f.walks {
			w.day(f, d.day)
		}
		for _, i := range d.events {
			f.events[i].ids = f.events[i].ids[:0]
		}
	}
	f.open += f.walks[0].entriesAfter(f.lastly)
	return nil
}

// read lists the ids of a day of an event that entered; on a day of entry, all.
func (f *orderedFunnel) read(event int, d store.Day, c uint32) error {
	e := &f.events[event]
	enter := event == 0 && f.steps[0].days.Contains(d)
	if !enter && f.ids.used == 0 {
		return nil
	}
	set, err := chunkSet(f.view.snap, union{event: e.Event, days: oneDay(d)}, c)
	if err != nil {
		return err
	}
	if enter && f.allowed != nil {
		set.And(f.allowed) // an id not allowed never enters: its marks are not missed
	}
	for it := set.ManyIterator(); ; {
		n := it.NextMany(f.buffer)
		if n == 0 {
			return nil
		}
		for _, position := range f.buffer[:n] {
			id := f.ids.get(position)
			if id == 0 && enter {
				id = f.enter(position)
			}
			if id > 0 {
				e.ids = append(e.ids, id)
			}
		}
	}
}

// enter numbers an id that enters for the first time.
func (f *orderedFunnel) enter(position uint32) int32 {
	id := int32(f.ids.used) + 1
	f.ids.swap(position, id)
	for _, w := range f.walks {
		w.latest = append(w.latest, make([]int32, len(f.steps))...)
	}
	return id
}

// orderedWalk counts one order.
type orderedWalk struct {
	sequence   []int // the steps in the order in which they take the marks of a day
	first      store.Day
	within     int32
	firstEntry bool     // an id enters once
	reached    []uint64 // by step
	// latest has, for each id of the chunk, a number for each step: the latest
	// entry from which the step was reached, in days from first, plus 1; 0 for none.
	latest []int32
}

// day takes the marks of a day.
func (w *orderedWalk) day(f *orderedFunnel, d store.Day) {
	today := int32(d-w.first) + 1
	for _, k := range w.sequence {
		s := f.steps[k]
		switch {
		case !s.days.Contains(d):
		case k == 0:
			w.enter(f.events[s.event].ids, today)
		default:
			w.step(k, f.events[s.event].ids, today)
		}
	}
}

// enter begins an attempt of some ids.
func (w *orderedWalk) enter(ids []int32, today int32) {
	steps := len(w.reached)
	for _, id := range ids {
		entry := &w.latest[int(id-1)*steps]
		if *entry == 0 {
			w.reached[0]++
		} else if w.firstEntry {
			continue
		}
		*entry = today
	}
}

// step lets some ids go on from the step before step k.
func (w *orderedWalk) step(k int, ids []int32, today int32) {
	steps := len(w.reached)
	for _, id := range ids {
		at := w.latest[int(id-1)*steps+k-1:][:2]
		if at[0] <= at[1] || today-at[0] > w.within {
			continue // nothing is gained, or the window has ended
		}
		if at[1] == 0 {
			w.reached[k]++
		}
		at[1] = at[0]
	}
}

// entriesAfter returns how many ids of the chunk entered, for the last time that
// counts, after a day.
func (w *orderedWalk) entriesAfter(d store.Day) uint64 {
	var n uint64
	for i := 0; i < len(w.latest); i += len(w.reached) {
		if int(w.latest[i]) > int(d)-int(w.first)+1 {
			n++
		}
	}
	return n
}

// daysOf lists the stored days of an event within a period; none of one never
// written.
func (v *view) daysOf(e store.Event, p store.Period) ([]store.DayCount, error) {
	if p = p.Intersect(stored(e)); p.Empty() {
		return nil, nil
	}
	return v.snap.Days(e, p)
}
