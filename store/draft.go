package store

import (
	"slices"
	"time"

	"cohort/placement"
)

// A draft is the next view while its transaction is being written. What it
// touches it copies once, and then changes in place.
type draft struct {
	view
	stamp int64 // no other draft has it
}

// draft starts the view that comes after v, in a transaction. A view may have
// several; one at the most becomes the store's.
func (v *view) draft(txid int) *draft {
	d := &draft{view: *v, stamp: v.drafts.Add(1)}
	d.txid = txid
	v.copying.Lock()
	defer v.copying.Unlock()
	d.days = v.days.Copy()
	d.ids = v.ids.Copy()
	d.visits = v.visits.Copy()
	d.fields = v.fields.Copy()
	d.ordinals = v.ordinals.Copy()
	return d
}

// finish returns the view, which must not be changed any more.
func (d *draft) finish() *view {
	if d.ops == 0 {
		d.oldest = time.Time{}
	}
	return &d.view
}

// day returns the operations of a day, ready to be changed.
func (d *draft) day(k dayKey) *dayOps {
	o, ok := d.days.Get(k)
	if !ok {
		o = &dayOps{owner: d.stamp}
	} else if o.owner != d.stamp {
		o = &dayOps{owner: d.stamp, chunks: slices.Clone(o.chunks), delta: o.delta}
	} else {
		return o
	}
	d.days.Set(k, o)
	return o
}

// setBit records that a bit, which was not so, is set or clear now, given its state in
// the chunk.
func (d *draft) setBit(k dayKey, number, pos uint32, set, base bool) {
	day := d.day(k)
	i, ok := findChunk(day.chunks, number)
	if !ok {
		day.chunks = slices.Insert(day.chunks, i, &chunkOps{owner: d.stamp, number: number})
	} else if day.chunks[i].owner != d.stamp {
		c := day.chunks[i]
		day.chunks[i] = &chunkOps{owner: d.stamp, number: number, ops: c.ops.own(), delta: c.delta, filter: c.filter}
	}
	c := day.chunks[i]
	before := c.ops.size()
	c.put(op{pos, set, base})
	d.ops += c.ops.size() - before
	c.delta += sign(set)
	day.delta += sign(set)
}

func sign(set bool) int64 {
	if set {
		return 1
	}
	return -1
}

// dropChunk forgets the operations of a chunk, which the transaction wrote.
func (d *draft) dropChunk(k dayKey, number uint32) {
	if _, ok := d.days.Get(k); !ok {
		return
	}
	day := d.day(k)
	i, ok := findChunk(day.chunks, number)
	if !ok {
		return
	}
	day.delta -= day.chunks[i].delta
	d.ops -= day.chunks[i].ops.size()
	day.chunks = slices.Delete(day.chunks, i, i+1)
	if len(day.chunks) == 0 {
		d.days.Delete(k)
	}
}

// dropDay forgets the operations of a day.
func (d *draft) dropDay(k dayKey) {
	if o, ok := d.days.Delete(k); ok {
		for _, c := range o.chunks {
			d.ops -= c.ops.size()
		}
	}
}

// brand returns the unfolded ids of a brand, ready to be changed.
func (d *draft) brand(b placement.Brand) *brandOps {
	o, ok := d.ids.Get(brandKey(b))
	if !ok {
		o = &brandOps{owner: d.stamp}
	} else if o.owner != d.stamp {
		o = &brandOps{owner: d.stamp, chunks: slices.Clone(o.chunks), counts: o.counts}
	} else {
		return o
	}
	d.ids.Set(brandKey(b), o)
	return o
}

// addID registers an id that is not known. Its placement is fresh where no
// other id is known there.
func (d *draft) addID(b placement.Brand, number uint32, e idEntry, fresh bool) {
	o := d.brand(b)
	o.counts.first++
	if fresh {
		o.counts.second++
	}
	i, ok := findIDs(o.chunks, number)
	if !ok {
		o.chunks = slices.Insert(o.chunks, i, &idChunk{owner: d.stamp, number: number})
	} else if o.chunks[i].owner != d.stamp {
		o.chunks[i] = &idChunk{owner: d.stamp, number: number, ids: o.chunks[i].ids.own()}
	}
	o.chunks[i].ids.put(e, idEntry.compare)
	d.ops++
}

// dropIDs forgets the unfolded ids of a registry chunk, which the transaction
// wrote, among them so many on fresh placements.
func (d *draft) dropIDs(b placement.Brand, number uint32, fresh uint64) {
	if _, ok := d.ids.Get(brandKey(b)); !ok {
		return
	}
	o := d.brand(b)
	i, ok := findIDs(o.chunks, number)
	if !ok {
		return
	}
	d.ops -= o.chunks[i].ids.size()
	o.counts.first -= uint64(o.chunks[i].ids.size())
	o.counts.second -= fresh
	o.chunks = slices.Delete(o.chunks, i, i+1)
	if len(o.chunks) == 0 {
		d.ids.Delete(brandKey(b))
	}
}
