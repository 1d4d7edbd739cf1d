package store

import (
	"cmp"
	"slices"

	"cohort/placement"
)

// A fold merges the operations of one view into chunks while marks go on, so
// that the view it publishes is not the one it began with less what it folded:
// it is the one that stands by then, less that.

// foldedUnit is what a transaction folded.
type foldedUnit struct {
	foldUnit
	fresh uint64 // of a registry chunk: the placements that its ids added
}

// rebase returns the view to publish after a transaction that folded units of
// the view from, when the store's view is now.
func (w *writer) rebase(from, now *view) *view {
	if from == now {
		return w.draft.finish()
	}
	d := now.draft(w.draft.txid)
	d.chunks = w.draft.chunks
	if w.draft.floor != from.floor || w.draft.oldest != from.oldest {
		d.floor, d.oldest = w.draft.floor, w.draft.oldest
	}
	for _, u := range w.units {
		switch {
		case u.visits:
			d.takeVisits(u.day.day(), u.number, from)
		case u.fields:
			d.takeFields(makeFieldChunk(u.day.event(), u.number), from)
		case u.table:
			d.takeOrdinals(u.brand, w.view.ordinalsOf(u.brand).folded)
		case u.ids:
			d.takeIDs(u.brand, u.number, from.idChunkOf(u.brand, u.number), u.fresh)
		default:
			d.takeOps(u.day, u.number, from.opsOf(u.day, u.number))
		}
	}
	return d.finish()
}

// takeOps takes the operations that were folded into a chunk from those that
// there are: what the folded ones say of a bit is in the chunk now.
func (d *draft) takeOps(k dayKey, number uint32, folded *chunkOps) {
	now := d.opsOf(k, number)
	switch {
	case folded == nil:
		return
	case now == folded:
		d.dropChunk(k, number)
		return
	}
	var left []op
	for _, o := range now.ops.all(compareOps) {
		if f, ok := folded.get(o.pos, nil); ok {
			o.base = f.set
		}
		if o.set != o.base {
			left = append(left, o)
		}
	}
	if len(left) == 0 {
		d.dropChunk(k, number)
		return
	}
	day := d.day(k)
	i, _ := findChunk(day.chunks, number)
	day.chunks[i] = &chunkOps{owner: d.stamp, number: number, ops: newRuns(left), delta: now.delta - folded.delta}
	day.delta -= folded.delta
	d.ops -= now.ops.size() - len(left)
}

// takeOrdinals takes those that the brand's table has now.
func (d *draft) takeOrdinals(b placement.Brand, folded uint64) {
	o := d.ownOrdinals(b)
	placed := o.placed.all(ordinal.compare)
	i, _ := slices.BinarySearchFunc(placed, folded, func(p ordinal, n uint64) int { return cmp.Compare(uint64(p.pos), n) })
	o.folded, o.placed = folded, newRuns(slices.Clone(placed[i:]))
}

// takeIDs takes the ids that were folded into a registry chunk from those that
// there are, and from the brand's counts with them the placements they added.
func (d *draft) takeIDs(b placement.Brand, number uint32, folded *idChunk, fresh uint64) {
	now := d.idChunkOf(b, number)
	switch {
	case folded == nil:
		return
	case now == folded:
		d.dropIDs(b, number, fresh)
		return
	}
	var left []idEntry
	had := folded.ids.all(idEntry.compare)
	for _, e := range now.ids.all(idEntry.compare) {
		if _, ok := slices.BinarySearchFunc(had, e, idEntry.compare); !ok {
			left = append(left, e)
		}
	}
	o := d.brand(b)
	i, _ := findIDs(o.chunks, number)
	o.chunks[i] = &idChunk{owner: d.stamp, number: number, ids: newRuns(left)}
	o.counts.first -= uint64(len(had))
	o.counts.second -= fresh
	d.ops -= len(had)
}
