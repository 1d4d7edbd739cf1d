package store

import (
	"bytes"
	"errors"

	"cohort/store/internal/kernel"

	"github.com/RoaringBitmap/roaring/v2"
)

// Bits is a set of positions in a snapshot, put together of what is stored
// there but not worked out: that is done one chunk at a time, straight on the
// stored bytes and the journal's unfolded marks. It may be used by several
// goroutines, on several chunks at once, until its snapshot's handle is closed.
type Bits struct {
	snap *Snapshot

	// An operation,
	op   kernel.Op
	x, y *Bits
	// or the union of some days of an event,
	event string
	line  *timeline
	parts []part
	// or a comparison of values,
	between *between
	// or what a function gives.
	computed func(chunk uint32) (*roaring.Bitmap, error)
}

// Marked returns the union of an event's days in a period, or of the remembered
// unions that are the same. Cost: a small record a stored day, once a snapshot.
func (s *Snapshot) Marked(e Event, p Period) (*Bits, error) {
	x := &Bits{snap: s, event: e.Name}
	err := s.do("event "+e.Name, func() (err error) {
		x.line, err = s.timelineOf(e.number)
		return err
	})
	if err != nil {
		return nil, err
	}
	x.parts = x.line.cover(p)
	return x, nil
}

// Computed returns the set that a function gives a chunk at a time. The function is
// called in whatever order, maybe by several goroutines, and must not write to the store;
// its bitmaps are read only.
func (s *Snapshot) Computed(in func(chunk uint32) (*roaring.Bitmap, error)) *Bits {
	return &Bits{snap: s, computed: in}
}

// And returns the positions of both sets, which are of one snapshot.
func (x *Bits) And(y *Bits) *Bits { return x.with(kernel.And, y) }

// AndNot returns the positions of x that are not in y, of one snapshot.
func (x *Bits) AndNot(y *Bits) *Bits { return x.with(kernel.AndNot, y) }

// Or returns the positions of either set, of one snapshot.
func (x *Bits) Or(y *Bits) *Bits { return x.with(kernel.Or, y) }

// Xor returns the positions of one of both sets, which are of one snapshot.
func (x *Bits) Xor(y *Bits) *Bits { return x.with(kernel.Xor, y) }

func (x *Bits) with(op kernel.Op, y *Bits) *Bits {
	return &Bits{snap: x.snap, op: op, x: x, y: y}
}

// Count returns how many positions the set has in a chunk. Nothing is built; a day
// that alone has a part of the chunk is counted by its header.
func (x *Bits) Count(chunk uint32) (n uint64, err error) {
	err = evaluate([]*Bits{x}, chunk, func(w *workspace, sets []*kernel.Expr) error {
		n = w.kernel.Count(sets[0])
		return nil
	})
	return n, err
}

// Bitmap returns the set as far as it lies in a chunk, in a bitmap that is the
// caller's.
func (x *Bits) Bitmap(chunk uint32) (*roaring.Bitmap, error) {
	b := roaring.New()
	err := evaluate([]*Bits{x}, chunk, func(w *workspace, sets []*kernel.Expr) error {
		w.out = w.kernel.Append(w.out[:0], sets[0])
		if len(w.out) == 0 {
			return nil
		}
		_, err := b.ReadFrom(bytes.NewReader(w.out)) // copies
		return err
	})
	return b, err
}

// Prefixes adds to reached, for each k, how many positions of a chunk are in all of
// the first k+1 sets, and to sizes how many are in set k. With nil sizes, a set is
// read only where those before it meet. The sets are of one snapshot.
func Prefixes(sets []*Bits, chunk uint32, reached, sizes []uint64) error {
	return evaluate(sets, chunk, func(w *workspace, sets []*kernel.Expr) error {
		w.kernel.Prefixes(sets, reached, sizes)
		return nil
	})
}

// evaluate fills a workspace with what some sets have in a chunk and runs fn on it.
func evaluate(sets []*Bits, chunk uint32, fn func(w *workspace, sets []*kernel.Expr) error) error {
	if len(sets) == 0 {
		return nil
	}
	s := sets[0].snap
	w, _ := s.db.workspaces.Get().(*workspace)
	if w == nil {
		w = new(workspace)
	}
	defer s.db.workspaces.Put(w)
	w.begin(s.ChunkBits(), chunk)
	exprs := make([]*kernel.Expr, len(sets))
	for i, x := range sets {
		if x.snap.sharedSnapshot != s.sharedSnapshot {
			return errors.New("sets of two snapshots do not go together")
		}
		var err error
		if exprs[i], _, err = w.fill(x); err != nil {
			return err
		}
	}
	return s.do("sets", func() error { return fn(w, exprs) })
}
