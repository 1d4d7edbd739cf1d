package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// A rollup is the union of the days of a closed period, kept in chunks as the days
// are. It lies within the true union at any time: bits that days gain later are in
// their stale days or in the journal, which every question adds; where a day loses
// a bit, the rollup's chunk is dropped before the commit, and one that the journal
// clears a bit of is passed over. A dropped chunk is a value of kind 0 without
// positions; its days are read instead until it is worked out again.
const chunkDropped = 0

// rollupSealKey is what the checksum of a rollup's chunk covers as its key.
func rollupSealKey(k keptKey, number uint32) []byte {
	return binary.BigEndian.AppendUint16(k.bytes(), uint16(number))
}

// sealDropped is the value of a dropped chunk.
func sealDropped(k keptKey, number uint32) []byte {
	return seal(tagRollup, rollupSealKey(k, number), chunkHead(chunkDropped, 0))
}

// dropFromRollups drops the chunks of the unions that may hold a bit which a day
// lost.
func (w *writer) dropFromRollups(k dayKey, number uint32) error {
	for _, kind := range rollupKinds {
		key := keptKey{k.event(), kind.period(k.day(), w.set.weekStart).First, kind}
		rec, ok, err := w.keptRecord(key)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		v, err := w.rollupValue(key, number)
		if err != nil {
			return err
		}
		if v == nil || v[sealSize] == chunkDropped {
			continue
		}
		dropped := sealDropped(key, number)
		rec.dropped++
		rec.cardinality -= chunkCard(v)
		rec.bytes -= uint64(len(v) - len(dropped))
		b, err := w.rollupBucket(key)
		if err == nil {
			err = b.Put(chunkKey(number), dropped)
		}
		if err != nil {
			return fmt.Errorf("chunk %d of the union from %s: %w", number, key.first, err)
		}
		if err := w.putKept(key, rec); err != nil {
			return err
		}
	}
	return nil
}

// rollupChange is what a chunk of a union becomes.
type rollupChange struct {
	key      keptKey
	number   uint32
	value    []byte // sealed, nil where it is empty
	old      []byte // the front of the sealed chunk before, or nil
	oldBytes int
}

// putRollups writes chunks of unions, and what is noted of them.
func (w *writer) putRollups(changes []rollupChange) error {
	records := make(map[keptKey]keptRecord)
	for _, c := range changes {
		rec, ok := records[c.key]
		if !ok {
			var err error
			if rec, ok, err = w.keptRecord(c.key); err != nil || !ok {
				return cmp.Or(err, corruptf("the union from %s is missing", c.key.first))
			}
		}
		b, err := w.rollupBucket(c.key)
		if err != nil {
			return err
		}
		if c.old != nil {
			rec.cardinality -= chunkCard(c.old)
			rec.bytes -= uint64(c.oldBytes)
			if c.old[sealSize] == chunkDropped {
				rec.dropped--
			}
		}
		if c.value == nil {
			err = b.Delete(chunkKey(c.number))
		} else {
			err = b.Put(chunkKey(c.number), c.value)
			rec.cardinality += chunkCard(c.value)
			rec.bytes += uint64(len(c.value))
		}
		if err != nil {
			return fmt.Errorf("chunk %d of the union from %s: %w", c.number, c.key.first, err)
		}
		records[c.key] = rec
	}
	for k, rec := range records {
		if err := w.putKept(k, rec); err != nil {
			return err
		}
	}
	return nil
}

// chunkCard returns the cardinality that a sealed chunk says it has.
func chunkCard(value []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(value[sealSize+1:]))
}

// rollupBucket returns the bucket of a union's chunks.
func (r *reader) rollupBucket(k keptKey) (b *bolt.Bucket, err error) {
	if top := r.tx.Bucket(bucketRollups); top != nil {
		b = top.Bucket(k.bytes())
	}
	if b == nil {
		return nil, corruptf("the union from %s is missing", k.first)
	}
	return b, nil
}

// rollupValue returns a sealed chunk of a union, whose seal holds, or nil.
func (r *reader) rollupValue(k keptKey, number uint32) ([]byte, error) {
	bucket, err := r.rollupBucket(k)
	if err != nil {
		return nil, err
	}
	holds := func(key, value []byte) bool {
		n, ok := parseChunkKey(key)
		if ok {
			_, ok = r.verified.unseal(tagRollup, rollupSealKey(k, n), value)
		}
		return ok && len(value) >= sealSize+chunkHeader
	}
	v, err := lookup(bucket, chunkKey(number), holds)
	switch {
	case err != nil:
	case v == nil:
		err = r.isWholeKept(bucket, k)
	case !holds(chunkKey(number), v):
		err = corruptf("chunk %d of the union from %s: checksum does not hold", number, k.first)
	}
	return v, err
}

// source is a piece of a union within one chunk: a chunk, with what the journal has
// for it, or positions.
type source struct {
	chunk chunk     // of kind 0 where there is none
	ops   *chunkOps // of the journal, or nil
	list  []uint32
}

// bitmap returns the source's positions in a bitmap of the caller's.
func (s source) bitmap() (*roaring.Bitmap, error) {
	b := roaring.New()
	if s.chunk.kind != 0 {
		var err error
		if b, err = s.chunk.bitmap(); err != nil {
			return nil, err
		}
	}
	s.ops.apply(b)
	b.AddMany(s.list)
	return b, nil
}

// positions returns the source's positions, ascending. They may alias s.list.
func (s source) positions() ([]uint32, error) {
	switch {
	case s.ops != nil:
		b, err := s.bitmap()
		if err != nil {
			return nil, err
		}
		return b.ToArray(), nil
	case s.chunk.kind != 0:
		return s.chunk.list(make([]uint32, 0, s.chunk.card))
	}
	return s.list, nil
}

// daySource returns one chunk of one day.
func (r *reader) daySource(k dayKey, number uint32) (s source, err error) {
	s.ops = r.view.opsOf(k, number)
	if r.held != nil {
		v, err := r.listedValue(k, number)
		if v != nil && err == nil {
			s.chunk, err = r.openChunk(k, number, v)
		}
		return s, err
	}
	bucket, err := r.chunkBucket(k)
	if bucket == nil || err != nil {
		return s, err
	}
	v, err := r.chunkValue(bucket, k, number)
	if v == nil || err != nil {
		return s, err
	}
	s.chunk, err = r.openChunk(k, number, v)
	return s, err
}

// sources appends what the union of parts is made of within one chunk.
func (r *reader) sources(t *timeline, parts []part, number uint32, to []source) (all []source, err error) {
	all = to
	for _, p := range parts {
		if all, err = r.partSources(t, p, number, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// partSources appends the sources of one part.
func (r *reader) partSources(t *timeline, p part, number uint32, to []source) ([]source, error) {
	if p.rollup != nil {
		return r.rollupSources(t, p.rollup, number, to)
	}
	return r.daySources(t, p.day, number, to)
}

// daySources appends the source of a day, unless it is empty.
func (r *reader) daySources(t *timeline, d Day, number uint32, to []source) ([]source, error) {
	s, err := r.daySource(makeDayKey(t.event, d), number)
	if err != nil {
		return to, fmt.Errorf("%s: %w", d, err)
	}
	if s.chunk.kind != 0 || s.ops != nil {
		to = append(to, s)
	}
	return to, nil
}

// rollupSources appends what makes a remembered union whole within one chunk: its
// own chunk, its stale days, and the bits that the journal sets. Where the chunk
// was dropped, or the journal clears a bit of it, it is all of its days.
func (r *reader) rollupSources(t *timeline, u *rollup, number uint32, to []source) ([]source, error) {
	v, err := r.rollupValue(u.key, number)
	if err != nil {
		return to, err
	}
	set, cleared := r.opsWithin(t.event, u.period, number)
	usable := !cleared
	if v != nil && usable {
		if usable = v[sealSize] != chunkDropped; usable {
			c, err := parseChunk(number<<r.set.chunkBits(), v[sealSize:])
			if err != nil {
				return to, err
			}
			to = append(to, source{chunk: c})
		}
	}
	for _, d := range t.days[u.from:u.to] {
		if usable && !t.isStale(d.Day) {
			continue
		}
		if to, err = r.daySources(t, d.Day, number, to); err != nil {
			return to, err
		}
	}
	if usable && len(set) > 0 {
		to = append(to, source{list: set})
	}
	return to, nil
}

// opsWithin returns, ascending, the positions that the journal sets in a chunk on any
// day of a period, and whether it clears any.
func (r *reader) opsWithin(event uint32, p Period, number uint32) (set []uint32, cleared bool) {
	last := makeDayKey(event, p.Last)
	r.view.days.Ascend(makeDayKey(event, p.First), func(k dayKey, d *dayOps) bool {
		if k > last {
			return false
		}
		if i, ok := findChunk(d.chunks, number); ok {
			for _, o := range d.chunks[i].ops.all(compareOps) {
				switch {
				case o.set && !o.base:
					set = append(set, o.pos)
				case o.base && !o.set:
					cleared = true
				}
			}
		}
		return true
	})
	slices.Sort(set)
	return slices.Compact(set), cleared
}

// periodNumbers lists, ascending, the chunks in which the event may have bits on
// days of a period.
func (r *reader) periodNumbers(t *timeline, p Period) (numbers []uint32, err error) {
	for _, part := range t.cover(p) {
		days := Period{part.day, part.day}
		if u := part.rollup; u != nil {
			if numbers, err = r.rollupNumbers(u, numbers); err != nil {
				return nil, err
			}
			days = u.period
		}
		for i := t.index(days.First); i < t.index(days.Last+1); i++ {
			d := t.days[i].Day
			k := makeDayKey(t.event, d)
			if part.rollup == nil || t.isStale(d) {
				numbers, err = r.chunkNumbers(k, numbers)
			} else if ops, ok := r.view.days.Get(k); ok {
				for _, c := range ops.chunks {
					numbers = append(numbers, c.number)
				}
			}
			if err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// rollupNumbers appends the chunks of a union. They must add up to what is noted of
// it.
func (r *reader) rollupNumbers(u *rollup, to []uint32) ([]uint32, error) {
	bucket, err := r.rollupBucket(u.key)
	if err != nil {
		return to, err
	}
	to, sum, err := listChunks(bucket, to)
	if err == nil && sum != u.rec.cardinality {
		err = corruptf("the union has %d bits, not %d", sum, u.rec.cardinality)
	}
	return to, err
}
