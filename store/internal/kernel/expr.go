package kernel

import "slices"

// Op is a set operation.
type Op uint8

// The operations.
const (
	And Op = iota
	Or
	Xor
	AndNot

	atLeast // of slices, by AtLeast alone
)

// Expr is a set expression over unions.
type Expr struct {
	union *Union // a leaf, or
	op    Op     // an operation: a row of terms for And and AndNot, of slices for atLeast, else of two
	terms []term // the first is And
	least uint64 // of atLeast: bit i is that of slice i
}

// term is one step of a row of intersections and differences.
type term struct {
	x   *Expr
	not bool
}

// Leaf returns the expression that is a union. It is part of the union.
func Leaf(u *Union) *Expr {
	u.leaf.union = u
	return &u.leaf
}

// Combine returns the expression that is an operation on two, which must not be
// used any more: rows of and and and-not become one, as x ∩ (y \ z) is x ∩ y \ z.
func Combine(op Op, x, y *Expr) *Expr {
	switch op {
	case And:
		return &Expr{op: And, terms: y.appendRow(x.appendRow(nil))}
	case AndNot:
		return &Expr{op: And, terms: append(x.appendRow(nil), term{y, true})}
	}
	return &Expr{op: op, terms: []term{{x: x}, {x: y}}}
}

// appendRow appends the terms whose intersection an expression is.
func (x *Expr) appendRow(to []term) []term {
	switch {
	case x.union == nil && x.op == And && to == nil:
		return x.terms
	case x.union == nil && x.op == And:
		return append(to, x.terms...)
	case to == nil:
		to = make([]term, 0, 2)
	}
	return append(to, term{x: x})
}

// lists are what the terms of a row have in one container.
type lists struct {
	with    [][]container // to be intersected, from the smallest
	without [][]container
}

// operand returns containers whose union is the expression's set at a key. Those
// of operations are made; they last until the next key.
func (e *Evaluator) operand(x *Expr, key int) []container {
	switch {
	case x.union != nil:
		return x.union.at(key)
	case x.op == Or:
		a, b := e.operand(x.terms[0].x, key), e.operand(x.terms[1].x, key)
		switch {
		case len(a) == 0:
			return b
		case len(b) == 0:
			return a
		}
		return slices.Concat(a, b)
	case x.op == atLeast:
		e.atLeast(x, key, true)
		return e.made(e.take())
	case x.op == Xor:
		return e.made(e.xor(e.operand(x.terms[0].x, key), e.operand(x.terms[1].x, key)))
	}
	rows := len(e.rows)
	defer func() { e.rows = e.rows[:rows] }()
	l, ok := e.lists(x, key)
	if !ok {
		return nil
	}
	e.intersect(l, true)
	return e.made(e.take())
}

// made returns a container as a list.
func (e *Evaluator) made(c container) []container {
	if c.card == 0 {
		return nil
	}
	from := len(e.listed)
	e.listed = append(e.listed, c)
	return slices.Clip(e.listed[from:])
}

// lists works out the terms of a row; false where one of them decides that it is
// empty.
func (e *Evaluator) lists(x *Expr, key int) (l lists, ok bool) {
	from := len(e.rows)
	for _, t := range x.terms {
		if t.not {
			continue
		}
		list := e.operand(t.x, key)
		if len(list) == 0 {
			return l, false
		}
		// Few and nearly in order: inserted from the end.
		e.rows = append(e.rows, list)
		for i := len(e.rows) - 1; i > from && cards(e.rows[i]) < cards(e.rows[i-1]); i-- {
			e.rows[i], e.rows[i-1] = e.rows[i-1], e.rows[i]
		}
	}
	l.with = slices.Clip(e.rows[from:])
	from = len(e.rows)
	for _, t := range x.terms {
		if t.not {
			if list := e.operand(t.x, key); len(list) > 0 {
				e.rows = append(e.rows, list)
			}
		}
	}
	l.without = slices.Clip(e.rows[from:])
	return l, true
}
