package query

import (
	"cmp"
	"fmt"
	"slices"

	"cohort/placement"
	"cohort/store"
)

// node is a set expression resolved against a snapshot: its events looked up and
// its periods turned into days. Every node lists, ascending, the chunks outside
// of which it is empty.
type node interface{ chunks() []uint32 }

// The nodes.
type (
	// nothing is the empty set.
	nothing struct{}
	// union is the ids marked on any of some days.
	union struct {
		event   store.Event
		days    store.Period
		set     *store.Bits // nil where it is not made yet
		numbers []uint32
	}
	// made is a set put together when it was planned: the ids marked on each of some
	// days, those whose value of a field is in a range.
	made struct {
		set     *store.Bits
		numbers []uint32
	}
	// registered is all ids of a brand.
	registered struct {
		brand   placement.Brand
		numbers []uint32
	}
	// saved is a saved set.
	saved struct {
		set     store.SavedSet
		numbers []uint32
	}
	// operation is a set operation.
	operation struct {
		op      operator
		x, y    node
		numbers []uint32
	}
)

func (nothing) chunks() []uint32      { return nil }
func (n union) chunks() []uint32      { return n.numbers }
func (n made) chunks() []uint32       { return n.numbers }
func (n registered) chunks() []uint32 { return n.numbers }
func (n saved) chunks() []uint32      { return n.numbers }
func (n operation) chunks() []uint32  { return n.numbers }

// maxSets is how many sets and operations one question may have.
const maxSets = 1 << 16

// planner turns the expressions of one question into nodes, and sees to it that
// they are of one brand.
type planner struct {
	view  *view
	sets  int             // nodes made
	brand placement.Brand // of all of them
	named string          // the set that brought the brand, "" while there is none
}

// bind notes that a set is of a brand.
func (p *planner) bind(b placement.Brand, set string) error {
	if p.named == "" {
		p.brand, p.named = b, set
	}
	if p.brand != b {
		return fmt.Errorf("%w: %s is of %v, %s of %v", ErrTwoBrands, p.named, p.brand, set, b)
	}
	return nil
}

// event looks up an event and binds its brand. One never written is of no brand.
func (p *planner) event(name string) (store.Event, error) {
	e, ok, err := p.view.event(name)
	if err != nil || !ok {
		return store.Event{}, err
	}
	return e, p.bind(e.Brand, quote(name))
}

// plan returns the node of an expression.
func (p *planner) plan(x Expr) (node, error) {
	if p.sets++; p.sets > maxSets {
		return nil, usagef("an expression has more than %d sets and operations", maxSets)
	}
	switch x := x.(type) {
	case eventSet:
		return p.union(x)
	case everyDay:
		return p.every(x)
	case seenSet:
		return p.seen(x)
	case savedSet:
		return p.saved(x)
	case valueSet:
		return p.values(x)
	case binary:
		return p.operation(x)
	}
	if x == nil {
		return nil, usagef("an expression is missing")
	}
	return nil, usagef("%T is not an expression of this package", x)
}

func (p *planner) union(x eventSet) (node, error) {
	e, err := p.event(x.event)
	if err != nil {
		return nil, err
	}
	days, err := p.view.resolve(x.period, e)
	if err != nil {
		return nil, err
	}
	return p.view.union(e, days)
}

// union returns the node of an event's days.
func (v *view) union(e store.Event, days store.Period) (node, error) {
	days = days.Intersect(stored(e))
	if days.Empty() {
		return nothing{}, nil
	}
	set, err := v.snap.Marked(e, days)
	if err != nil {
		return nil, err
	}
	numbers, err := v.snap.ChunkNumbers(e, days)
	return union{e, days, set, numbers}, err
}

// every plans the intersection of an event's days from its first stored one up
// to as-of, given or not. One day without marks makes it empty.
func (p *planner) every(x everyDay) (node, error) {
	e, err := p.event(x.event)
	if err != nil {
		return nil, err
	}
	days, err := p.view.resolve(x.period, e)
	if err != nil {
		return nil, err
	}
	return p.view.every(e, days.Intersect(store.Period{First: e.First, Last: p.view.env.AsOf}))
}

// every returns the node of the intersection of an event's days: of all of them,
// also those before its first stored one.
func (v *view) every(e store.Event, days store.Period) (node, error) {
	counts, err := v.daysOf(e, days)
	if err != nil {
		return nil, err
	}
	if len(counts) == 0 || len(counts) != days.Len() {
		return nothing{}, nil
	}
	slices.SortStableFunc(counts, func(a, b store.DayCount) int {
		return cmp.Compare(a.Count, b.Count)
	})
	var set *store.Bits
	for _, c := range counts { // from the day with the fewest ids
		day, err := v.snap.Marked(e, oneDay(c.Day))
		if err != nil {
			return nil, err
		}
		if set == nil {
			set = day
		} else {
			set = set.And(day)
		}
	}
	numbers, err := v.snap.ChunkNumbers(e, oneDay(counts[0].Day))
	return made{set, numbers}, err
}

// daysOf lists the stored days of an event within a period; none of one never
// written.
func (v *view) daysOf(e store.Event, p store.Period) ([]store.DayCount, error) {
	if p = p.Intersect(stored(e)); p.Empty() {
		return nil, nil
	}
	return v.snap.Days(e, p)
}

func (p *planner) seen(x seenSet) (node, error) {
	brand := x.brand
	if brand.IsZero() {
		brands, err := p.view.snap.Brands()
		if err != nil {
			return nil, err
		}
		if len(brands) == 0 {
			return nothing{}, nil
		}
		brand = brands[0].Brand
		if len(brands) > 1 {
			return nil, fmt.Errorf("%w: write seen(%v) or another brand", ErrManyBrands, brand)
		}
	}
	if err := p.bind(brand, x.String()); err != nil {
		return nil, err
	}
	numbers, err := p.view.snap.SeenChunkNumbers(brand)
	if err != nil {
		return nil, err
	}
	return registered{brand, numbers}, nil
}

// saved plans a saved set. An empty one may be of no brand.
func (p *planner) saved(x savedSet) (node, error) {
	set, ok, err := p.view.snap.Set(x.name)
	if err == nil && !ok {
		err = fmt.Errorf("%w: @%s", ErrUnknownSet, x.name)
	}
	if err != nil {
		return nil, err
	}
	if set.Count == 0 && set.Brand.IsZero() {
		return nothing{}, nil
	}
	if err := p.bind(set.Brand, x.String()); err != nil {
		return nil, err
	}
	numbers, err := p.view.snap.SetChunkNumbers(x.name)
	return saved{set, numbers}, err
}

func (p *planner) operation(b binary) (node, error) {
	x, err := p.plan(b.x)
	if err != nil {
		return nil, err
	}
	y, err := p.plan(b.y)
	if err != nil {
		return nil, err
	}
	return newOperation(b.op, x, y), nil
}

// newOperation returns the node of an operation on two sets. An intersection is
// looked for in all chunks of the set with fewer of them, not only in those that
// both list: a chunk whose number was damaged shows only where it is read, or where
// one is missed.
func newOperation(op operator, x, y node) node {
	if op == opAnd && len(y.chunks()) < len(x.chunks()) {
		x, y = y, x
	}
	n := operation{op: op, x: x, y: y}
	switch op {
	case opAnd, opAndNot:
		n.numbers = x.chunks()
	default:
		n.numbers = merged(x.chunks(), y.chunks())
	}
	return n
}

// merged returns the numbers in any of some ascending lists, ascending.
func merged(lists ...[]uint32) []uint32 {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}

// oneDay is the period of a single day.
func oneDay(d store.Day) store.Period { return store.Period{First: d, Last: d} }
