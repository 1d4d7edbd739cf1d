package kernel

import (
	"encoding/binary"
	"slices"
)

// intersect makes current what is in all of some lists, at least one, and in none
// of others. Where the set itself is not wanted, only its count holds.
func (e *Evaluator) intersect(l lists, wanted bool) {
	steps := len(l.with) + len(l.without)
	if steps == 1 && !wanted {
		e.current.count = e.countUnion(l.with[0])
		return
	}
	e.start(l.with[0], steps)
	for i, list := range l.with[1:] {
		if e.current.count == 0 {
			return
		}
		e.and(list, steps-i-2, wanted)
	}
	for i, list := range l.without {
		if e.current.count == 0 {
			return
		}
		e.andNot(list, steps-len(l.with)-i-1, wanted)
	}
}

// start makes current the union of a list, to be followed by some steps.
func (e *Evaluator) start(list []container, steps int) {
	c := &e.current
	*c = current{}
	switch {
	case len(list) == 0:
		return
	case onlyArrays(list) && cards(list) <= sparseMost:
		c.members = list
		e.levels(steps)
		if len(list) == 1 {
			e.marks.mark(list[0].data, c.level)
			c.count = int(list[0].card)
			return
		}
		for _, m := range list {
			c.count += e.marks.add(m.data, c.level)
		}
	case len(list) == 1 && list[0].kind == bitmap:
		c.dense, c.count = list[0].bits(), int(list[0].card)
	default:
		c.dense, c.count = &e.acc, e.unite(&e.acc, list, true)
	}
}

// levels reserves levels for some steps to come, or as many as can be had at once.
func (e *Evaluator) levels(steps int) {
	n := min(steps, 100)
	e.current.level = e.marks.levels(n)
	e.current.last = e.current.level + byte(n-1)
}

// and intersects current, which is not empty, with the union of a list. Where no
// steps come after and the set is not wanted, only its count holds.
func (e *Evaluator) and(list []container, steps int, wanted bool) {
	c := &e.current
	switch {
	case len(list) == 0:
		*c = current{}
	case hasFull(list):
	case c.dense == nil:
		e.andMarked(list, steps)
	case len(list) == 1 && list[0].kind == array && steps == 0 && !wanted:
		c.count = c.dense.countArray(list[0].data)
	case onlyArrays(list) && cards(list) <= sparseMost:
		e.andArrays(list, steps+1)
	default:
		y := e.bitsOf(list)
		if wanted || steps > 0 {
			c.count = e.acc.setAnd(c.dense, y)
			c.dense = &e.acc
		} else {
			c.count = countAnd(c.dense, y)
		}
	}
}

// bitsOf returns the union of a list as a bitset.
func (e *Evaluator) bitsOf(list []container) *bitset {
	if len(list) == 1 && list[0].kind == bitmap {
		return list[0].bits()
	}
	e.unite(&e.other, list, true)
	return &e.other
}

// andMarked intersects marks with the union of a list, by raising those that are
// found in it.
func (e *Evaluator) andMarked(list []container, steps int) {
	c := &e.current
	if c.level == c.last { // after a hundred steps
		e.unmark()
		e.and(list, steps, true)
		return
	}
	c.count = 0
	for _, y := range list {
		c.count += e.moveMarked(y, c.level+1)
	}
	c.level++
}

// moveMarked moves the current marks that a container has to another level.
func (e *Evaluator) moveMarked(y container, to byte) (moved int) {
	c := &e.current
	if y.kind == array && int(y.card)/8 <= cards(c.members) {
		return e.marks.move(y.data, c.level, to)
	}
	for _, m := range c.members {
		moved += e.marks.meet(m.data, y, c.level, to)
	}
	return moved
}

// unmark makes current a bitset.
func (e *Evaluator) unmark() {
	c := &e.current
	clear(e.acc[:])
	for _, m := range c.members {
		e.marks.setAt(&e.acc, m.data, c.level)
	}
	*c = current{dense: &e.acc, count: c.count}
}

// andArrays intersects a bitset with the union of arrays, which become the members.
// Of one array the positions in the bitset alone do: the fewer are left, the less
// there is to mark and to go through in the steps to come.
func (e *Evaluator) andArrays(list []container, steps int) {
	c := &e.current
	dense := c.dense
	*c = current{members: list}
	e.levels(steps)
	if len(list) == 1 {
		kept := dense.keepArray(e.pages.take(len(list[0].data)), list[0].data)
		c.count = len(kept) / 2
		c.members = e.made(container{data: kept, card: int32(c.count)})
		e.marks.mark(kept, c.level)
		return
	}
	for _, m := range list {
		c.count += e.marks.enter(m.data, dense, c.level)
	}
}

// andNot takes the union of a list off current, which is not empty.
func (e *Evaluator) andNot(list []container, steps int, wanted bool) {
	c := &e.current
	switch {
	case len(list) == 0:
	case hasFull(list):
		*c = current{}
	case c.dense == nil:
		for _, y := range list {
			c.count -= e.moveMarked(y, 0)
		}
	case onlyArrays(list):
		if c.dense != &e.acc {
			e.acc = *c.dense
			c.dense = &e.acc
		}
		for _, y := range list {
			c.count -= e.acc.clearArray(y.data)
		}
	default:
		y := e.bitsOf(list)
		if wanted || steps > 0 {
			c.count = e.acc.setAndNot(c.dense, y)
			c.dense = &e.acc
		} else {
			c.count -= countAnd(c.dense, y)
		}
	}
}

// take returns current as a container of its own.
func (e *Evaluator) take() container {
	c := &e.current
	if c.count == 0 {
		return container{}
	}
	if c.dense != nil {
		return e.keep(c.dense, c.count)
	}
	if len(c.members) == 1 && c.count <= ArrayMax {
		to := e.pages.take(2 * c.count)
		return container{data: e.marks.appendAt(to, c.members[0].data, c.level), card: int32(c.count)}
	}
	if cards(c.members) <= sortMost {
		e.few = e.few[:0]
		for _, m := range c.members {
			e.few = e.marks.collect(e.few, m.data, c.level)
		}
		return e.sorted()
	}
	clear(e.other[:])
	for _, m := range c.members {
		e.marks.setAt(&e.other, m.data, c.level)
	}
	return e.keep(&e.other, c.count)
}

// sortMost is how many positions are rather sorted than put into a bitset and
// read from there, which takes a microsecond.
const sortMost = 100

// sorted returns the few as an array.
func (e *Evaluator) sorted() container {
	slices.Sort(e.few)
	a := e.pages.take(2 * len(e.few))
	for _, v := range e.few {
		a = binary.LittleEndian.AppendUint16(a, v)
	}
	return container{data: a, card: int32(len(e.few))}
}

// keep copies a bitset of so many positions, as an array where it is one.
func (e *Evaluator) keep(b *bitset, count int) container {
	if count <= ArrayMax {
		return container{data: b.appendArray(e.pages.take(2 * count)), card: int32(count)}
	}
	return container{data: append(e.pages.take(bitsetBytes), b[:]...), card: int32(count), kind: bitmap}
}

// xor returns the positions of one of two lists.
func (e *Evaluator) xor(a, b []container) container {
	if onlyArrays(a) && onlyArrays(b) && cards(a)+cards(b) <= sortMost {
		level := e.marks.levels(3) // in a alone, in both, in b alone
		for _, c := range a {
			e.marks.mark(c.data, level)
		}
		for _, c := range b {
			e.marks.move(c.data, level, level+1)
			e.marks.enterAbove(c.data, level)
		}
		e.few = e.few[:0]
		for _, c := range a {
			e.few = e.marks.collect(e.few, c.data, level)
		}
		for _, c := range b {
			e.few = e.marks.collect(e.few, c.data, level+2)
		}
		return e.sorted()
	}
	clear(e.acc[:])
	clear(e.other[:])
	for _, c := range a {
		c.addTo(&e.acc)
	}
	for _, c := range b {
		c.addTo(&e.other)
	}
	return e.keep(&e.acc, e.acc.setXor(&e.acc, &e.other))
}

// cards returns the sum of the cardinalities of a list.
func cards(list []container) (n int) {
	for _, c := range list {
		n += int(c.card)
	}
	return n
}

func onlyArrays(list []container) bool {
	for _, c := range list {
		if c.kind != array {
			return false
		}
	}
	return true
}

// hasOther reports whether a list has a container that is no bitset.
func hasOther(list []container) bool {
	for _, c := range list {
		if c.kind != bitmap {
			return true
		}
	}
	return false
}

// hasFull reports whether a container of a list has all positions.
func hasFull(list []container) bool {
	for _, c := range list {
		if c.card == full {
			return true
		}
	}
	return false
}
