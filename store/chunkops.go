package store

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/RoaringBitmap/roaring/v2"
)

// chunkOps are the unfolded operations of one chunk, by position: the state of
// each bit now.
type chunkOps struct {
	owner  int64 // the draft that may still change it
	number uint32
	ops    runs[op]
	delta  int64 // what they add to the chunk's cardinality
	filter *filter
}

// op is the state of one bit: what it is now, and what it is in the chunk.
type op struct {
	pos       uint32
	set, base bool
}

func compareOps(a, b op) int { return cmp.Compare(a.pos, b.pos) }

// put adds an operation. The chunk's short run must be the caller's.
func (c *chunkOps) put(o op) {
	c.ops.put(o, compareOps)
	switch {
	case c.filter != nil:
		c.filter.add(o.pos)
	case c.ops.size() >= filterFrom:
		c.filter = new(filter)
		for _, run := range c.ops.levels {
			for _, o := range run {
				c.filter.add(o.pos)
			}
		}
	}
}

// get returns the operation on a position. Runs that are also those of seen, an earlier
// state that has nothing on the position, are not searched again. The chunk and seen may
// be nil. A search that calls compareOps takes twice as long.
func (c *chunkOps) get(pos uint32, seen *chunkOps) (op, bool) {
	if c == nil || c.filter.lacks(pos) {
		return op{}, false
	}
	for n := len(c.ops.levels) - 1; n >= 0; n-- {
		run := c.ops.levels[n]
		if len(run) == 0 || seen != nil && same(run, seen.ops.levels[n]) {
			continue
		}
		low := 0
		for high := len(run); low < high; {
			if mid := int(uint(low+high) >> 1); run[mid].pos < pos {
				low = mid + 1
			} else {
				high = mid
			}
		}
		if low < len(run) && run[low].pos == pos {
			return run[low], true
		}
	}
	return op{}, false
}

// size returns the number of operations held, of a chunk that may be nil.
func (c *chunkOps) size() int {
	if c == nil {
		return 0
	}
	return c.ops.size()
}

// applied returns ascending positions with the bits set and cleared.
func (c *chunkOps) applied(had []uint32) []uint32 {
	out := make([]uint32, 0, len(had)+c.size())
	for _, o := range c.ops.all(compareOps) {
		n, found := slices.BinarySearch(had, o.pos)
		out, had = append(out, had[:n]...), had[n:]
		if found {
			had = had[1:]
		}
		if o.set {
			out = append(out, o.pos)
		}
	}
	return append(out, had...)
}

// apply sets and clears the bits. The chunk may be nil.
func (c *chunkOps) apply(b *roaring.Bitmap) {
	if c == nil {
		return
	}
	for _, run := range c.ops.levels {
		for _, o := range run {
			if o.set {
				b.Add(o.pos)
			} else {
				b.Remove(o.pos)
			}
		}
	}
}

// filter tells most positions that have no operation from those that do, in one look
// into memory. The states of a chunk that come after each other share it, and only add
// to it: a state may lack what a later one, or a failed draft, added. A nil filter
// tells nothing.
type filter [1 << filterBits / 64]atomic.Uint64

// A filter has a bit for each position of a packed chunk, and is worth its 64 KiB from
// filterFrom operations on.
const (
	filterBits = packedChunkBits
	filterFrom = 1 << 12
)

func (f *filter) add(pos uint32) {
	f[pos%(1<<filterBits)/64].Or(1 << (pos % 64))
}

// lacks reports that there is no operation on the position.
func (f *filter) lacks(pos uint32) bool {
	return f != nil && f[pos%(1<<filterBits)/64].Load()>>(pos%64)&1 == 0
}
