package kernel

import (
	"encoding/binary"
	"slices"
)

// Evaluator works out expressions within one chunk. It takes 100 KB, to be used
// again and again, by one goroutine at a time.
type Evaluator struct {
	marks marks
	acc   bitset // of current, where it is not borrowed
	other bitset // a second operand

	listed []container   // of the container at hand
	rows   [][]container // of the container at hand
	pages  pages         // bytes of made containers
	few    []uint16

	current current
}

// current is the set that a row of operations has come to.
type current struct {
	count int
	// dense is the set where it is a bitset, maybe one that is borrowed. Else
	// it is the positions of the members, all arrays, that are at the level.
	dense   *bitset
	members []container
	level   byte
	last    byte // of the levels reserved
}

// sparseMost is how many positions the arrays of a union may have for the union
// to be marked rather than made a bitset: the bits of a bitset are faster to go
// through than arrays are twice.
const sparseMost = 8192

// Count returns how many positions an expression has in the chunk that its unions
// were filled for.
func (e *Evaluator) Count(x *Expr) (n uint64) {
	for key := range x.keys() {
		if x.absent(key) {
			continue
		}
		e.begin()
		n += uint64(e.count(x, key))
	}
	return n
}

// absent reports whether an expression is seen to be empty at a key: in thin chunks
// it mostly is.
func (x *Expr) absent(key int) bool {
	if x.union != nil {
		return x.union.n[key] == 0
	}
	if x.op != And {
		return false
	}
	for _, t := range x.terms {
		if u := t.x.union; !t.not && u != nil && u.n[key] == 0 {
			return true
		}
	}
	return false
}

// begin forgets what was made for the last key.
func (e *Evaluator) begin() {
	e.listed, e.rows = e.listed[:0], e.rows[:0]
	e.pages.reset()
}

// keys returns how many containers the chunk has.
func (x *Expr) keys() int { return len(x.first().n) }

// first returns the first union of an expression.
func (x *Expr) first() *Union {
	for x.union == nil {
		x = x.terms[0].x
	}
	return x.union
}

// count counts an expression at a key.
func (e *Evaluator) count(x *Expr, key int) int {
	if x.union != nil || x.op == Or {
		return e.countUnion(e.operand(x, key))
	}
	if x.op == Xor {
		a, b := e.operand(x.terms[0].x, key), e.operand(x.terms[1].x, key)
		return e.countUnion(a) + e.countUnion(b) - 2*e.countBoth(a, b)
	}
	if len(x.terms) == 2 { // by far the most frequent
		a, b := e.operand(x.terms[0].x, key), []container(nil)
		if len(a) > 0 {
			b = e.operand(x.terms[1].x, key)
		}
		if !x.terms[1].not {
			return e.countBoth(a, b)
		}
		return e.countUnion(a) - e.countBoth(a, b)
	}
	l, ok := e.lists(x, key)
	if !ok {
		return 0
	}
	e.intersect(l, false)
	return e.current.count
}

// countBoth returns the size of the intersection of two lists.
func (e *Evaluator) countBoth(a, b []container) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	alone := len(a) == 1 && len(b) == 1
	switch {
	case alone && a[0].kind == bitmap && b[0].kind == bitmap:
		return countAnd(a[0].bits(), b[0].bits())
	case alone && a[0].kind == array && b[0].kind == array && max(a[0].card, b[0].card) <= 64:
		level := e.marks.levels(2)
		e.marks.mark(a[0].data, level)
		return e.marks.move(b[0].data, level, level+1)
	}
	if cards(b) < cards(a) {
		a, b = b, a
	}
	if e.start(a, 2); e.current.count > 0 {
		e.and(b, 0, false)
	}
	return e.current.count
}

// countUnion returns the size of the union of some containers.
func (e *Evaluator) countUnion(list []container) int {
	switch len(list) {
	case 0:
		return 0
	case 1:
		return int(list[0].card)
	}
	if onlyArrays(list) {
		level := e.marks.levels(1)
		n := 0
		for _, c := range list {
			n += e.marks.add(c.data, level)
		}
		return n
	}
	if hasFull(list) {
		return full
	}
	return e.unite(&e.acc, list, false)
}

// unite makes b the union of some containers, at least one and not all arrays,
// and returns its size. Where the set itself is not wanted, it may be left
// unfinished.
func (e *Evaluator) unite(b *bitset, list []container, wanted bool) (n int) {
	var sets [4]*bitset // bitsets not yet added
	k, added, begun := 0, 0, false
	for _, c := range list {
		if c.kind != bitmap {
			continue
		}
		if k == 4 {
			b.setOr4(sets[0], sets[1], sets[2], sets[3])
			sets[0], k, begun = b, 1, true
		}
		sets[k] = c.bits()
		k++
	}
	others := k < len(list) && hasOther(list)
	switch {
	case k == 0:
		clear(b[:])
	case !others && !wanted:
		return countOr4(sets[0], sets[min(1, k-1)], sets[min(2, k-1)], sets[min(3, k-1)])
	case k > 1 || !begun:
		b.setOr4(sets[0], sets[min(1, k-1)], sets[min(2, k-1)], sets[min(3, k-1)])
	}
	if k > 0 {
		added = b.count()
	}
	for _, c := range list {
		if c.kind != bitmap {
			added += c.addTo(b)
		}
	}
	return added
}

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

// andArrays intersects a bitset with the union of arrays: they become the members.
func (e *Evaluator) andArrays(list []container, steps int) {
	c := &e.current
	dense := container{data: c.dense[:], kind: bitmap}
	*c = current{members: list}
	e.levels(steps)
	for _, m := range list {
		c.count += e.marks.enter(m.data, dense.bits(), c.level)
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

// pages hands out small pieces of memory that are given back all together.
type pages struct {
	all [][]byte
	n   int // pages in use, of which the last is cut
}

const pageSize = 8 * bitsetBytes

// take returns an empty slice with a capacity of n bytes, at most bitsetBytes.
func (p *pages) take(n int) []byte {
	if p.n == 0 || cap(p.all[p.n-1])-len(p.all[p.n-1]) < n {
		if p.n == len(p.all) {
			p.all = append(p.all, make([]byte, 0, pageSize))
		}
		p.n++
	}
	page := &p.all[p.n-1]
	at := len(*page)
	*page = (*page)[:at+n]
	return (*page)[at : at : at+n]
}

// reset takes all memory back.
func (p *pages) reset() {
	for i := range p.n {
		p.all[i] = p.all[i][:0]
	}
	p.n = 0
}
