package store

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"cohort/placement"

	"github.com/tidwall/btree"
)

// A view is what the journal holds beyond the chunks: for each (event, day)
// the bits set and cleared, and for each brand the ids registered, since they
// were last folded. It belongs to one committed transaction and never changes;
// the next commit makes a new view that shares what it did not touch.
type view struct {
	txid   int       // the bbolt transaction that this view goes with
	chunks int       // the transaction that last wrote chunks or the registry
	seq    uint64    // last journal record
	floor  uint64    // last journal record that is not needed any more
	ops    int       // operations and ids held
	oldest time.Time // when the oldest operation came; zero without any
	days   *btree.Map[dayKey, *dayOps]
	ids    *btree.Map[uint32, *brandOps] // by brandKey
	visits *btree.Map[visitKey, *visitOps]
	fields *btree.Map[fieldChunk, *fieldOps]
	// ordinals are those of a dense store, by brandKey.
	ordinals *btree.Map[uint32, *ordinalOps]

	// copying guards the copying of the maps, which marks them as shared.
	copying *sync.Mutex
	drafts  *atomic.Int64 // how many were made of this view and those before
}

// records is how many the journal has. They outlive the operations for the time
// between their last fold and the trimming of the journal.
func (v *view) records() uint64 { return v.seq - v.floor }

// unfolded is how much there is to fold: a bit that changes again and again is one
// operation, but a record each time.
func (v *view) unfolded() int { return max(v.ops, int(v.records())) }

// dayOps are the unfolded operations of one (event, day), by chunk.
type dayOps struct {
	owner  int64       // the draft that may still change it
	chunks []*chunkOps // ascending by number
	delta  int64       // what they add to the day's cardinality
}

// brandOps are the ids of one brand not yet in the registry, by chunk.
type brandOps struct {
	owner  int64 // the draft that may still change it
	chunks []*idChunk
	counts pair // ids and placements that they add
}

type idChunk struct {
	owner  int64 // the draft that may still change it
	number uint32
	ids    runs[idEntry] // by placement, then residue
}

// idEntry is one registered id and where its bit stands. Its string is kept in
// stores of string ids only.
type idEntry struct {
	mixed placement.Mixed
	pos   uint32
	id    string
}

func (a idEntry) compare(b idEntry) int { return compareMixed(a.mixed, b.mixed) }

// compareMixed orders by all 64 bits, the placement above the residue.
func compareMixed(a, b placement.Mixed) int {
	return cmp.Compare(sortKey(a), sortKey(b))
}

// sortKey turns the halves of a mixed value, so that numbers sort by placement.
func sortKey(m placement.Mixed) uint64 { return uint64(m)<<32 | uint64(m)>>32 }

func mixedOf(sortKey uint64) placement.Mixed { return placement.Mixed(sortKey<<32 | sortKey>>32) }

// firstAt is the lowest sort key at a placement.
func firstAt(at uint32) uint64 { return uint64(at) << 32 }

// firstEntry is what ids at a placement do not sort below.
func firstEntry(at uint32) idEntry { return idEntry{mixed: placement.Join(at, 0)} }

func brandKey(b placement.Brand) uint32 { return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]) }

func brandOf(k uint32) placement.Brand {
	return placement.Brand{byte(k >> 16), byte(k >> 8), byte(k)}
}

func emptyView() *view {
	return &view{copying: new(sync.Mutex), drafts: new(atomic.Int64), days: new(btree.Map[dayKey, *dayOps]), ids: new(btree.Map[uint32, *brandOps]),
		visits: new(btree.Map[visitKey, *visitOps]), fields: new(btree.Map[fieldChunk, *fieldOps]), ordinals: new(btree.Map[uint32, *ordinalOps])}
}

// opsOf returns the unfolded operations of a chunk, or nil.
func (v *view) opsOf(k dayKey, number uint32) *chunkOps {
	d, ok := v.days.Get(k)
	if !ok {
		return nil
	}
	if i, ok := findChunk(d.chunks, number); ok {
		return d.chunks[i]
	}
	return nil
}

// idChunkOf returns the unfolded ids of a registry chunk, or nil.
func (v *view) idChunkOf(b placement.Brand, number uint32) *idChunk {
	o, ok := v.ids.Get(brandKey(b))
	if !ok {
		return nil
	}
	if i, ok := findIDs(o.chunks, number); ok {
		return o.chunks[i]
	}
	return nil
}

// idsOf returns the unfolded ids of a registry chunk in order.
func (v *view) idsOf(b placement.Brand, number uint32) []idEntry {
	if c := v.idChunkOf(b, number); c != nil {
		return c.ids.all(idEntry.compare)
	}
	return nil
}

// known returns what the unfolded ids tell of an id.
func (v *view) known(b placement.Brand, s settings, m placement.Mixed) standing {
	if o, ok := v.ids.Get(brandKey(b)); ok {
		return o.known(s, m)
	}
	return s.unknown(m)
}

// known is view.known of the brand's ids.
func (o *brandOps) known(s settings, m placement.Mixed) standing {
	at := s.unknown(m)
	i, ok := findIDs(o.chunks, m.Placement()>>s.registryBits())
	if !ok {
		return at
	}
	for _, run := range o.chunks[i].ids.levels {
		i, _ := slices.BinarySearchFunc(run, firstEntry(m.Placement()), idEntry.compare)
		for ; i < len(run) && run[i].mixed.Placement() == m.Placement(); i++ {
			if run[i].mixed == m {
				at.self, at.placed, at.pos = true, true, run[i].pos
			} else {
				at.others = true
			}
		}
	}
	return at
}

// findChunk returns where the chunk of a number is. Mostly they are all there.
func findChunk(chunks []*chunkOps, number uint32) (int, bool) {
	if i := int(number); i < len(chunks) && chunks[i].number == number {
		return i, true
	}
	return slices.BinarySearchFunc(chunks, number, func(c *chunkOps, n uint32) int { return cmp.Compare(c.number, n) })
}

func findIDs(chunks []*idChunk, number uint32) (int, bool) {
	if i := int(number); i < len(chunks) && chunks[i].number == number {
		return i, true
	}
	low := 0
	for high := len(chunks); low < high; { // each mark asks: half the time of BinarySearchFunc
		if mid := int(uint(low+high) >> 1); chunks[mid].number < number {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(chunks) && chunks[low].number == number
}

// heapBytes estimates the memory the operations take.
func (v *view) heapBytes() uint64 {
	var n uint64
	v.days.Scan(func(_ dayKey, d *dayOps) bool {
		for _, c := range d.chunks {
			n += uint64(c.ops.room())*uint64(unsafe.Sizeof(op{})) + uint64(unsafe.Sizeof(*c))
			if c.filter != nil {
				n += uint64(unsafe.Sizeof(*c.filter))
			}
		}
		return true
	})
	v.ids.Scan(func(_ uint32, o *brandOps) bool {
		for _, c := range o.chunks {
			n += uint64(c.ids.room())*uint64(unsafe.Sizeof(idEntry{})) + uint64(unsafe.Sizeof(*c))
			for _, run := range c.ids.levels {
				for _, e := range run {
					n += uint64(len(e.id))
				}
			}
		}
		return true
	})
	v.ordinals.Scan(func(_ uint32, o *ordinalOps) bool {
		n += uint64(o.placed.room()) * uint64(unsafe.Sizeof(ordinal{}))
		return true
	})
	return n + v.visitBytes() + v.fieldBytes()
}
