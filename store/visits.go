package store

import (
	"cmp"
	"unsafe"

	"cohort/placement"
)

// visitKey names one (day, page): the day, with its sign flipped so that keys
// sort by date, above the page's number.
type visitKey uint64

func makeVisitKey(d Day, page uint32) visitKey {
	return visitKey(uint32(d)^daySign)<<32 | visitKey(page)
}

func (k visitKey) day() Day     { return Day(uint32(k>>32) ^ daySign) }
func (k visitKey) page() uint32 { return uint32(k) }

// visitOps are the visits of one (day, page) that the journal has and its sketch
// has not: the hashes of the ids.
type visitOps struct {
	owner  int64 // the draft that may still change it
	brand  placement.Brand
	hashes runs[uint64]
}

// visited reports whether the visit is among those not folded.
func (v *view) visited(k visitKey, hash uint64) bool {
	o, ok := v.visits.Get(k)
	if ok {
		_, ok = o.hashes.get(hash, cmp.Compare)
	}
	return ok
}

// visitsOf returns the hashes of the visits of a (day, page) that are not folded,
// in order. They may be shared.
func (v *view) visitsOf(k visitKey) []uint64 {
	if o, ok := v.visits.Get(k); ok {
		return o.hashes.all(cmp.Compare)
	}
	return nil
}

// visitsBetween calls fn with the visits not folded of the days of a period,
// ascending, until it returns false.
func (v *view) visitsBetween(p Period, fn func(visitKey, *visitOps) bool) {
	if p = p.Intersect(Period{MinDay, MaxDay}); p.Empty() {
		return
	}
	last := makeVisitKey(p.Last, 1<<32-1)
	v.visits.Ascend(makeVisitKey(p.First, 0), func(k visitKey, o *visitOps) bool { return k <= last && fn(k, o) })
}

// blockVisits calls fn with the visits not folded of a block's pages on a day.
func (v *view) blockVisits(day Day, block uint32, fn func(visitKey, *visitOps)) {
	last := makeVisitKey(day, block<<pageBits|(1<<pageBits-1))
	v.visits.Ascend(makeVisitKey(day, block<<pageBits), func(k visitKey, o *visitOps) bool {
		if k <= last {
			fn(k, o)
		}
		return k <= last
	})
}

// visitBytes estimates the memory that the visits take.
func (v *view) visitBytes() (n uint64) {
	v.visits.Scan(func(_ visitKey, o *visitOps) bool {
		n += uint64(o.hashes.room())*8 + uint64(unsafe.Sizeof(*o))
		return true
	})
	return n
}

// addVisit records a visit, and reports whether it was not there.
func (d *draft) addVisit(k visitKey, b placement.Brand, hash uint64) bool {
	o, ok := d.visits.Get(k)
	if ok {
		if _, ok := o.hashes.get(hash, cmp.Compare); ok {
			return false
		}
	}
	switch {
	case !ok:
		o = &visitOps{owner: d.stamp, brand: b}
		d.visits.Set(k, o)
	case o.owner != d.stamp:
		o = &visitOps{owner: d.stamp, brand: b, hashes: o.hashes.own()}
		d.visits.Set(k, o)
	}
	o.hashes.put(hash, cmp.Compare)
	d.ops++
	return true
}

// dropVisits forgets the visits of a (day, page), which the transaction wrote.
func (d *draft) dropVisits(k visitKey) {
	if o, ok := d.visits.Delete(k); ok {
		d.ops -= o.hashes.size()
	}
}

// takeVisits takes the visits of a block that were folded, those of a view, from
// the ones there are.
func (d *draft) takeVisits(day Day, block uint32, folded *view) {
	folded.blockVisits(day, block, func(k visitKey, had *visitOps) {
		now, ok := d.visits.Get(k)
		d.dropVisits(k)
		if !ok || now == had {
			return
		}
		var left []uint64
		for _, h := range now.hashes.all(cmp.Compare) {
			if _, ok := had.hashes.get(h, cmp.Compare); !ok {
				left = append(left, h)
			}
		}
		if len(left) > 0 {
			d.visits.Set(k, &visitOps{owner: d.stamp, brand: now.brand, hashes: newRuns(left)})
			d.ops += len(left)
		}
	})
}
