package query

import (
	"context"
	"iter"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// Members yields the ids in a set, in placement order, and those at one placement
// in order of id: every known id whose bit is set, so there may be more than
// [Size] counts. It reads the days that Size reads.
//
// Each range over the sequence asks the question anew. It evaluates chunk by
// chunk, copies the ids, closes its snapshot, and only then yields: the loop may
// mark and unmark in the store. The copy takes the length of each id and 4 bytes
// more, 18 bytes for a branded id; with [Limit] no more than so many ids are
// copied, and evaluation stops with the chunk that holds the last of them. In a dense
// store the whole set is evaluated first, in 4 bytes an id besides.
//
// An error is yielded last, with an empty id, before any id: one that Size gives,
// or that the store keeps no ids to list.
func Members(ctx context.Context, src Source, x Expr, opts ...Option) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		ids, err := members(ctx, src, x, opts)
		if err != nil {
			yield("", err)
			return
		}
		for _, part := range ids.parts {
			start := uint32(0)
			for _, end := range part.ends {
				if !yield(string(part.text[start:end]), nil) {
					return
				}
				start = end
			}
		}
	}
}

// members copies the ids in a set.
func members(ctx context.Context, src Source, x Expr, opts []Option) (idList, error) {
	var ids idList
	s, err := apply(opts)
	if err != nil {
		return ids, err
	}
	err = ask(src, s.asOf, false, func(v *view) error {
		p := planner{view: v}
		n, err := p.planIn(s.scope, x)
		if err != nil {
			return err
		}
		if v.dense { // a chunk's ids are anywhere in the order
			set, err := wholeSet(ctx, v.snap, n)
			if err != nil {
				return err
			}
			return ids.addMembers(v.snap, p.brand, set, s)
		}
		return eachChunk(ctx, n.chunks(), func(c uint32) error {
			if s.limited && ids.n == s.limit {
				return nil
			}
			set, err := chunkSet(v.snap, n, c)
			if err != nil || set.IsEmpty() {
				return err
			}
			return ids.addMembers(v.snap, p.brand, set, s)
		})
	})
	return ids, err
}

// idList is a list of ids, packed so that one takes its length and 4 bytes.
type idList struct {
	n     int
	parts []idPart
}

// idPart is ids one after the other, and where each ends.
type idPart struct {
	text []byte
	ends []uint32
}

// addMembers appends the ids of a brand at some positions, up to the limit.
func (l *idList) addMembers(snap *store.Snapshot, b placement.Brand, positions *roaring.Bitmap, s settings) error {
	for id, err := range snap.Members(b, positions) {
		if err != nil {
			return err
		}
		l.add(id)
		if s.limited && l.n == s.limit {
			return nil
		}
	}
	return nil
}

// partSize is the size of a part's text, in bytes. A list grows by parts, so that
// it is never copied as a whole.
const partSize = 1 << 20

// add appends an id.
func (l *idList) add(id string) {
	if k := len(l.parts); k == 0 || len(l.parts[k-1].text)+len(id) > partSize {
		l.parts = append(l.parts, idPart{})
	}
	part := &l.parts[len(l.parts)-1]
	part.text = append(part.text, id...)
	part.ends = append(part.ends, uint32(len(part.text)))
	l.n++
}
