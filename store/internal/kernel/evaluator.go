package kernel

// Evaluator works out expressions within one chunk. It takes 100 KB, to be used
// again and again, by one goroutine at a time.
type Evaluator struct {
	marks marks
	acc   bitset // of current, where it is not borrowed
	other bitset // a second operand

	listed []container   // of the container at hand
	rows   [][]container // of the container at hand
	united []container   // members of current, where they are of several lists
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
	if x.op == atLeast {
		e.atLeast(x, key, false)
		return e.current.count
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
	case alone && a[0].kind == bitmap && b[0].kind == array:
		return a[0].bits().countArray(b[0].data)
	case alone && a[0].kind == array && b[0].kind == bitmap:
		return b[0].bits().countArray(a[0].data)
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
