package store

import (
	"fmt"
	"slices"

	"cohort/store/internal/kernel"
)

// A workspace is the memory in which sets are worked out within one chunk: the
// kernels' own, and a union for each leaf. It goes from one question to another.
type workspace struct {
	kernel kernel.Evaluator
	unions []*kernel.Union
	used   int    // unions filled for the chunk
	number uint32 // of the chunk
	bits   uint   // of its width

	sources []source // of a leaf
	list    []uint32 // of a chunk that is a list
	out     []byte   // of a bitmap

	set, cleared []uint32 // unfolded marks

	sliced slicedChunk // of a comparison
}

// begin empties the workspace for a chunk.
func (w *workspace) begin(bits uint, number uint32) {
	w.used, w.number, w.bits = 0, number, bits
}

// union returns an empty union with room for some sources.
func (w *workspace) union(sources int) *kernel.Union {
	if w.used == len(w.unions) {
		w.unions = append(w.unions, new(kernel.Union))
	}
	u := w.unions[w.used]
	w.used++
	u.Begin(w.number<<w.bits, w.bits, sources)
	return u
}

// fill gathers what a set has in the chunk, and returns the expression of it, and
// whether it is certainly empty. What an empty operand decides is not read.
func (w *workspace) fill(x *Bits) (e *kernel.Expr, empty bool, err error) {
	switch {
	case x.between != nil:
		return w.between(x)
	case x.x == nil:
		u, err := w.leaf(x)
		if err != nil {
			return nil, false, err
		}
		return kernel.Leaf(u), u.Empty(), nil
	}
	a, emptyA, err := w.fill(x.x)
	if err != nil || emptyA && (x.op == kernel.And || x.op == kernel.AndNot) {
		return a, true, err
	}
	b, emptyB, err := w.fill(x.y)
	if err != nil || emptyB && x.op == kernel.And {
		return b, true, err
	}
	return kernel.Combine(x.op, a, b), emptyA && emptyB, nil
}

// leaf gathers a set that is no operation.
func (w *workspace) leaf(x *Bits) (u *kernel.Union, err error) {
	if x.computed != nil {
		return w.computed(x)
	}
	if x.line == nil {
		return w.union(0), nil
	}
	err = x.snap.do("event "+x.event, func() error {
		if w.sources, err = x.snap.sources(x.line, x.parts, w.number, w.sources[:0]); err != nil {
			return err
		}
		u = w.union(len(w.sources))
		for _, s := range w.sources {
			if err = w.add(u, s); err != nil {
				break
			}
		}
		clear(w.sources) // nothing of a view is held between questions
		return err
	})
	return u, err
}

func (w *workspace) computed(x *Bits) (*kernel.Union, error) {
	u := w.union(1)
	b, err := x.computed(w.number)
	if err != nil || b.IsEmpty() {
		return u, err
	}
	bytes, err := b.ToBytes()
	if err == nil && !u.AddPortable(bytes, int(b.GetCardinality()), kernel.Changes{}) {
		err = fmt.Errorf("a computed set has positions outside of chunk %d", w.number)
	}
	return u, err
}

// add adds a source to a union.
func (w *workspace) add(u *kernel.Union, s source) (err error) {
	changes := w.changes(s.ops)
	var fits bool
	switch s.chunk.kind {
	case 0:
		slices.Sort(s.list)
		fits = u.AddList(slices.Compact(s.list), changes)
	case chunkList:
		if w.list, err = s.chunk.positions(w.list[:0]); err != nil {
			return err
		}
		fits = u.AddList(w.list, changes)
	default:
		fits = u.AddPortable(s.chunk.data, int(s.chunk.card), changes)
	}
	if !fits {
		return corruptf("chunk %d: positions do not hold together, or with the journal", w.number)
	}
	return nil
}

// changes returns the operations that make a difference to the chunk as it is
// folded. The result lasts until the next call.
func (w *workspace) changes(c *chunkOps) kernel.Changes {
	w.set, w.cleared = w.set[:0], w.cleared[:0]
	if c == nil {
		return kernel.Changes{}
	}
	for _, o := range c.ops.all(compareOps) {
		switch {
		case o.set && !o.base:
			w.set = append(w.set, o.pos)
		case !o.set && o.base:
			w.cleared = append(w.cleared, o.pos)
		}
	}
	return kernel.Changes{Set: w.set, Cleared: w.cleared}
}
