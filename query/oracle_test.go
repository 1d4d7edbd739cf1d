package query_test

import (
	"cmp"
	"maps"
	"slices"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// set is a set of positions.
type set = map[uint32]bool

// model is a store in maps: the oracle that answers every question by loops over
// days and ids, without bitmaps, chunks or the calendar of the package.
type model struct {
	kind  placement.Kind
	dense bool
	week  store.WeekStart
	today store.Day
	marks map[string]map[store.Day]set            // event, day, positions
	brand map[string]placement.Brand              // of each event
	known map[placement.Brand]map[uint32][]string // ids at each placement, in order
	saved map[string]savedSet
	order map[placement.Brand][]placement.Mixed // the ids of a dense store, each at its position

	fields map[string]*fieldModel
	visits map[store.Page]map[store.Day]map[uint64]bool // the ids of each page and day
	spans  map[spanKey]calendarPeriod
}

// spanKey is a day and a length, for which the calendar is walked once.
type spanKey struct {
	by  query.By
	day store.Day
}

type calendarPeriod struct {
	days  store.Period
	label string
}

func newModel(kind placement.Kind, dense bool, week store.WeekStart, today store.Day) *model {
	return &model{
		kind: kind, dense: dense, week: week, today: today,
		marks: map[string]map[store.Day]set{}, brand: map[string]placement.Brand{},
		known: map[placement.Brand]map[uint32][]string{}, saved: map[string]savedSet{},
		order: map[placement.Brand][]placement.Mixed{}, fields: map[string]*fieldModel{},
		visits: map[store.Page]map[store.Day]map[uint64]bool{}, spans: map[spanKey]calendarPeriod{},
	}
}

// span returns the period of a length that a day lies in, and its label.
func (m *model) span(by query.By, d store.Day) (store.Period, string) {
	s, ok := m.spans[spanKey{by, d}]
	if !ok {
		s.days, s.label = calendarSpan(by, m.week, d)
		for d := s.days.First; d <= s.days.Last; d++ {
			m.spans[spanKey{by, d}] = s
		}
	}
	return s.days, s.label
}

// parse returns the brand and the position of an id.
func (m *model) parse(id string) (placement.Brand, uint32) {
	b, mixed, err := m.kind.Parse(id)
	if err != nil {
		panic(err)
	}
	if !m.dense {
		return b, mixed.Placement()
	}
	// Which position it is does not matter here, only that no other id has it.
	i := slices.Index(m.order[b], mixed)
	if i < 0 {
		i = len(m.order[b])
		m.order[b] = append(m.order[b], mixed)
	}
	return b, uint32(i)
}

// placement returns the placement of an id at a position.
func (m *model) placement(b placement.Brand, pos uint32) uint32 {
	if !m.dense {
		return pos
	}
	return m.order[b][pos].Placement()
}

// placements returns the placements of positions, ascending.
func (m *model) placements(b placement.Brand, s set) []uint32 {
	all := set{}
	for pos := range s {
		all[m.placement(b, pos)] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// mark sets a bit, registers the id, and returns what the store should say.
func (m *model) mark(event, id string, d store.Day) store.Result {
	b, pos := m.parse(id)
	if m.marks[event] == nil {
		m.marks[event], m.brand[event] = map[store.Day]set{}, b
	}
	if m.marks[event][d] == nil {
		m.marks[event][d] = set{}
	}
	was := m.marks[event][d][pos]
	m.marks[event][d][pos] = true
	m.register(b, pos, id)
	switch {
	case !was:
		return store.New
	case m.shares(b, pos, id):
		return store.Shared
	}
	return store.Already
}

func (m *model) register(b placement.Brand, pos uint32, id string) {
	if m.known[b] == nil {
		m.known[b] = map[uint32][]string{}
	}
	if ids := m.known[b][pos]; !slices.Contains(ids, id) {
		m.known[b][pos] = append(ids, id)
		slices.Sort(m.known[b][pos])
	}
}

// shares reports whether another known id has an id's position.
func (m *model) shares(b placement.Brand, pos uint32, id string) bool {
	return slices.ContainsFunc(m.known[b][pos], func(other string) bool { return other != id })
}

// unmark clears the bit unless another known id shares it.
func (m *model) unmark(event, id string, d store.Day) store.Result {
	b, pos := m.parse(id)
	switch {
	case !m.marks[event][d][pos]:
		return store.Absent
	case m.shares(b, pos, id):
		return store.Shared
	}
	delete(m.marks[event][d], pos)
	return store.Cleared
}

// erase takes an id from everything but the visits, and its bit too unless another
// known id shares it. A value of a field could be of either of them, and goes.
func (m *model) erase(id string) store.Erasure {
	b, pos := m.parse(id)
	if !slices.Contains(m.known[b][pos], id) {
		return store.Erasure{Result: store.Absent}
	}
	e := store.Erasure{Result: store.Shared}
	if !m.shares(b, pos, id) {
		e.Result = store.Cleared
		for event, days := range m.marks {
			n := 0
			for _, positions := range days {
				if m.brand[event] == b && positions[pos] {
					delete(positions, pos)
					n++
				}
			}
			e.Days += n
			e.Events += min(n, 1)
		}
		for _, s := range m.saved {
			if s.brand == b && s.positions[pos] {
				delete(s.positions, pos)
				e.Sets++
			}
		}
	}
	for _, f := range m.fields {
		if _, ok := f.values[pos]; ok && f.brand == b {
			delete(f.values, pos)
			e.Fields++
		}
	}
	m.known[b][pos] = slices.DeleteFunc(m.known[b][pos], func(other string) bool { return other == id })
	if len(m.known[b][pos]) == 0 {
		delete(m.known[b], pos)
	}
	return e
}

// stored returns the event's first and last day with a mark, or those of all visits.
func (m *model) stored(event string) (first, last store.Day, ok bool) {
	if event == allVisits {
		return m.visitDays()
	}
	for d, positions := range m.marks[event] {
		if len(positions) == 0 {
			continue
		}
		if !ok {
			first, last, ok = d, d, true
		}
		first, last = min(first, d), max(last, d)
	}
	return first, last, ok
}

// union returns the positions marked on any day of first to last.
func (m *model) union(event string, first, last store.Day) set {
	all := set{}
	for d, positions := range m.marks[event] {
		if d >= first && d <= last {
			maps.Copy(all, positions)
		}
	}
	return all
}

// asking is how a question reads the model.
type asking struct {
	*model
	asOf   store.Day
	given  bool
	report bool
}

// ask returns how a question with an as-of, or none, reads.
func (m *model) ask(asOf *store.Day, report bool) asking {
	a := asking{m, m.today, asOf != nil, report}
	if asOf != nil {
		a.asOf = *asOf
	}
	return a
}

// bound cuts a last day to what may be read.
func (a asking) bound(last store.Day) store.Day {
	if a.given || a.report {
		return min(last, a.asOf)
	}
	return last
}

func (a asking) ended(last store.Day) bool { return last <= a.asOf && last < a.today }

// testPeriod is a period and what days it means; ok is false for none.
type testPeriod struct {
	query.Period
	days func(a asking, event string) (first, last store.Day, ok bool)
}

// read returns the days of the period that are read.
func (p testPeriod) read(a asking, event string) (first, last store.Day) {
	first, last, ok := p.days(a, event)
	if !ok {
		return 1, 0
	}
	return first, a.bound(last)
}

// testExpr is an expression and what set it means.
type testExpr struct {
	query.Expr
	set func(a asking) set
}

// every is the positions marked on each of the days of a period.
func (a asking) every(event string, p testPeriod) set {
	first, last := p.read(a, event)
	stored, _, ok := a.stored(event)
	if !ok {
		return set{}
	}
	var all set
	for d := max(first, stored); d <= min(last, a.asOf); d++ {
		if all == nil {
			all = maps.Clone(a.marks[event][d])
			if all == nil {
				all = set{}
			}
		}
		maps.DeleteFunc(all, func(pos uint32, _ bool) bool { return !a.marks[event][d][pos] })
	}
	if all == nil {
		return set{}
	}
	return all
}

// intersect, subtract and unite make new sets.
func intersect(x, y set) set {
	z := set{}
	for pos := range x {
		if y[pos] {
			z[pos] = true
		}
	}
	return z
}

func subtract(x, y set) set {
	z := set{}
	for pos := range x {
		if !y[pos] {
			z[pos] = true
		}
	}
	return z
}

func unite(x, y set) set {
	z := maps.Clone(x)
	maps.Copy(z, y)
	return z
}

// members lists the known ids of a set.
func (m *model) members(b placement.Brand, s set) []string {
	ids := []string{}
	for pos := range s {
		ids = append(ids, m.known[b][pos]...)
	}
	slices.SortFunc(ids, func(x, y string) int {
		_, at := m.parse(x)
		_, than := m.parse(y)
		return cmp.Or(cmp.Compare(m.placement(b, at), m.placement(b, than)), cmp.Compare(x, y))
	})
	return ids
}

// fraction is a rate, nil for none.
func fraction(part, whole int) *float64 {
	if whole == 0 {
		return nil
	}
	f := float64(part) / float64(whole)
	return &f
}

// overlap is a·b/2³², 0 for numbers.
func (m *model) overlap(a, b int) float64 {
	if m.kind == placement.Number || m.dense {
		return 0
	}
	return float64(a) * float64(b) / (1 << 32)
}

// eachPeriod lists the periods, and labels, that hold the days first to last.
func (m *model) eachPeriod(by query.By, first, last store.Day) (spans []store.Period, labels []string) {
	for d := first; d <= last; {
		days, label := m.span(by, d)
		spans, labels = append(spans, days), append(labels, label)
		d = days.Last + 1
	}
	return spans, labels
}

// cohort is the ids of a cohort whose period is days.
func (a asking) cohort(event string, days store.Period, of query.CohortOf) set {
	last := min(days.Last, a.asOf)
	ids := a.union(event, days.First, last)
	if of == query.CohortFirst {
		if first, _, ok := a.stored(event); ok {
			ids = subtract(ids, a.union(event, first, min(days.First-1, a.asOf)))
		}
	}
	return ids
}
