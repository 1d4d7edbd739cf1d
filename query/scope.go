package query

import (
	"encoding/json"
	"fmt"
)

// Scope chooses the ids that a report is about, and the parts of them of which it
// is asked again. The zero Scope is all ids and no parts. Its sets read the days
// that the report reads, none after as-of, and are of the brand of the report.
//
// A report's bound of false overlap is that of the sets it meets within the scope.
type Scope struct {
	// Among keeps the ids of a set only. Default: all ids.
	Among Expr
	// Except leaves out the ids of these sets, such as bots or staff. Days long
	// past are asked about without them too.
	Except []Expr
	// Breakdown asks the report again of each of these sets, and last of the ids
	// that are in none of them. Sets may overlap, so the report as a whole, not
	// the sum of the parts, is the total.
	Breakdown []Expr
}

// all reports whether the scope leaves all ids, whatever its parts.
func (s Scope) all() bool { return s.Among == nil && len(s.Except) == 0 }

// None is the name of the part of a breakdown that is in none of its sets.
const None = "(none)"

// Part is the report of one part of a breakdown.
type Part[R any] struct {
	Set    string // the canonical text of the part's set, or None
	Report R
}

// MarshalJSON writes the key set, and then those of the report.
func (p Part[R]) MarshalJSON() ([]byte, error) {
	report, err := json.Marshal(p.Report)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"set":%s,%s`, quoteName(p.Set), report[1:]), nil
}

// restriction is the ids in each of some sets and in none of others.
type restriction struct{ within, except []node }

// scope returns the restriction of a scope, without its breakdown.
func (p *planner) scope(s Scope) (r restriction, err error) {
	if s.Among != nil {
		n, err := p.plan(s.Among)
		if err != nil {
			return r, err
		}
		r.within = []node{n}
	}
	r.except, err = p.planAll(s.Except)
	return r, err
}

// planIn returns the node of the part of an expression's set in a scope.
func (p *planner) planIn(s Scope, x Expr) (node, error) {
	n, err := p.plan(x)
	if err != nil {
		return nil, err
	}
	r, err := p.scope(s)
	return r.of(n), err
}

// planAll returns the nodes of some expressions.
func (p *planner) planAll(sets []Expr) ([]node, error) {
	nodes := make([]node, len(sets))
	for i, x := range sets {
		var err error
		if nodes[i], err = p.plan(x); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// all reports whether the restriction leaves everything.
func (r restriction) all() bool { return len(r.within)+len(r.except) == 0 }

// of returns the part of a node's set that the restriction leaves.
func (r restriction) of(n node) node {
	for _, x := range r.within {
		n = newOperation(opAnd, n, x)
	}
	for _, x := range r.except {
		n = newOperation(opAndNot, n, x)
	}
	return n
}

// breakdown asks a report of the ids of a scope, and then of each of its parts.
// Every kind of report goes through it: ask answers about the ids of a
// restriction, in the one snapshot of the planner.
func breakdown[R any](p *planner, s Scope, ask func(restriction) (R, error)) (total R, parts []Part[R], err error) {
	whole, err := p.scope(s)
	if err != nil {
		return total, nil, err
	}
	sets, err := p.planAll(s.Breakdown)
	if err != nil {
		return total, nil, err
	}
	if total, err = ask(whole); err != nil || len(sets) == 0 {
		return total, nil, err
	}
	for i, n := range sets {
		part := Part[R]{Set: s.Breakdown[i].String()}
		if part.Report, err = ask(restriction{join(whole.within, n), whole.except}); err != nil {
			return total, nil, err
		}
		parts = append(parts, part)
	}
	none := Part[R]{Set: None}
	none.Report, err = ask(restriction{whole.within, join(whole.except, sets...)})
	return total, append(parts, none), err
}

// join returns the nodes of both lists in one of its own.
func join(nodes []node, more ...node) []node {
	return append(nodes[:len(nodes):len(nodes)], more...)
}
