package kernel

import "math/bits"

// Numbers stand bit-sliced: a set for each bit, of the positions whose number has it.
// Which numbers are at least another one is then a chain of operations from the lowest
// bit of that one that is set: a slice whose bit is set is intersected with what there
// is so far, one whose bit is not is united with it. Each slice is read once, none
// below that bit, and what there is stays where it is worked out, in marks or in
// the accumulator (RangeEval-Opt of Chan and Ioannidis, Bitmap Index Design and
// Evaluation, SIGMOD 1998; slices are those of O'Neil and Quass, Improved Query
// Performance with Variant Indexes, SIGMOD 1997).

// AtLeast returns the positions whose number is at least a number, which is not 0.
// slice i has those whose bit i is set; it is asked for no bit below the lowest one of
// the number, and for others once. n is how many slices there are, no fewer than the
// number has bits.
func AtLeast(least uint64, n int, slice func(i int) *Union) *Expr {
	from := bits.TrailingZeros64(least)
	if from == n-1 {
		return Leaf(slice(from))
	}
	x := &Expr{op: atLeast, least: least >> from, terms: make([]term, 0, n-from)}
	for i := from; i < n; i++ {
		x.terms = append(x.terms, term{x: Leaf(slice(i))})
	}
	return x
}

// atLeast makes current what an expression of that operation is at a key. Where the
// set itself is not wanted, only its count holds.
func (e *Evaluator) atLeast(x *Expr, key int, wanted bool) {
	left := len(x.terms)
	e.current = current{}
	for i, t := range x.terms {
		left--
		list := t.x.union.at(key)
		switch {
		case x.least>>i&1 == 0:
			e.or(list, left)
		case i == 0:
			e.start(list, left+1)
		case e.current.count > 0:
			e.and(list, left, wanted)
		}
	}
}

// or unites current with a list, with some steps after.
func (e *Evaluator) or(list []container, steps int) {
	c := &e.current
	switch {
	case len(list) == 0:
		return
	case c.count == 0:
		e.start(list, steps+1)
		return
	case c.dense == nil && onlyArrays(list) && cards(c.members)+cards(list) <= sparseMost:
		e.united = append(append(e.united[:0], c.members...), list...)
		c.members = e.united
		for _, y := range list {
			c.count += e.marks.add(y.data, c.level)
		}
		return
	case c.dense == nil:
		e.unmark()
	case c.dense != &e.acc:
		e.acc = *c.dense
		c.dense = &e.acc
	}
	for _, y := range list {
		c.count += y.addTo(&e.acc)
	}
}
