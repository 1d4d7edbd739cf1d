package main

// question is what every side is asked. The answer is a row of figures.
type question int

const (
	dayCount question = iota
	union7
	union30
	retention7
	triangle
	dayFunnel
	monthFunnel
	calendar
)

var questions = []question{dayCount, union7, union30, retention7, triangle, dayFunnel, monthFunnel, calendar}

func (q question) String() string {
	return [...]string{
		"count of a day", "union of 7 days", "union of 30 days", "day-7 retention of one day", "retention triangle, 30 × 30",
		"funnel of 3 events, one day", "funnel of 3 events, 30 days", "calendar of one id",
	}[q]
}

// someone is the person of the calendar.
const someone = 4711

// answer works the answer out from the sets.
func (w *workload) answer(q question) []uint64 {
	active := w.sets[0]
	count := func(s bitset) uint64 { return uint64(s.count()) }
	switch q {
	case dayCount:
		return []uint64{count(active[days-1])}
	case union7:
		return []uint64{count(combine(or, active[days-7:]...))}
	case union30:
		return []uint64{count(combine(or, active...))}
	case retention7:
		return []uint64{count(active[0]), count(combine(and, active[0], active[7]))}
	case triangle:
		var cells []uint64
		seen := make(bitset, len(active[0]))
		for d := range days {
			cohort := combine(andNot, active[d], seen)
			seen = combine(or, seen, active[d])
			for back := d; back < days; back++ {
				cells = append(cells, count(combine(and, cohort, active[back])))
			}
		}
		return cells
	case dayFunnel:
		return w.funnel(func(of []bitset) bitset { return of[days-1] })
	case monthFunnel:
		return w.funnel(func(of []bitset) bitset { return combine(or, of...) })
	}
	var on []uint64
	for d, set := range active {
		if set.has(someone % w.people) {
			on = append(on, uint64(d))
		}
	}
	return on
}

// funnel intersects what step makes of each event.
func (w *workload) funnel(step func(of []bitset) bitset) (reached []uint64) {
	var left bitset
	for e, of := range w.sets {
		if s := step(of); e == 0 {
			left = s
		} else {
			left = combine(and, left, s)
		}
		reached = append(reached, uint64(left.count()))
	}
	return reached
}
