package store

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// The registry knows every id ever marked, by brand: which placement it stands
// at, and the residue (or string) that tells it from others there. It is cut
// into chunks by the top bits of the placement. The payload of a chunk of
// branded or string ids, ordered by placement, then residue:
//
//	kind u8 | n u32 | n × placement within the chunk u24 |
//	n × residue u32 | and where strings are kept: n × end u32 | the strings
//
// ends are where each string ends in the strings. Seven bytes an id without
// strings, found by binary search in the mapped file. A store of numbers keeps
// the set of ids alone, as a chunk of positions.
const (
	idsMixed   = 1
	idsStrings = 2
)

// idsValue is a registry chunk whose checksum holds. It aliases the value.
type idsValue struct {
	n        int
	base     uint32
	offsets  []byte // n × u24
	residues []byte // n × u32
	ends     []byte // n × u32, or nil
	strings  []byte
}

func openIDs(b placement.Brand, number uint32, value []byte) (idsValue, error) {
	p, ok := unseal(tagIDs, idsSealKey(b, number), value)
	if !ok {
		return idsValue{}, corruptf("registry chunk %d of brand %q: checksum does not hold", number, b)
	}
	damaged := corruptf("registry chunk %d of brand %q: lengths do not hold together", number, b)
	if len(p) < 5 {
		return idsValue{}, damaged
	}
	n := int(binary.LittleEndian.Uint32(p[1:]))
	v := idsValue{n: n, base: number << registryChunkBits}
	rest := p[5:]
	if n > len(rest)/7 {
		return idsValue{}, damaged
	}
	v.offsets, v.residues, rest = rest[:3*n], rest[3*n:7*n], rest[7*n:]
	if p[0] == idsStrings {
		if n > len(rest)/4 {
			return idsValue{}, damaged
		}
		v.ends, v.strings = rest[:4*n], rest[4*n:]
	}
	return v, nil
}

func (v idsValue) mixed(i int) placement.Mixed {
	o := v.offsets[3*i:]
	return placement.Join(v.base|uint32(o[0])|uint32(o[1])<<8|uint32(o[2])<<16, binary.LittleEndian.Uint32(v.residues[4*i:]))
}

// id returns the string of entry i, copied, or "" where none are kept.
func (v idsValue) id(i int) (string, error) {
	if v.ends == nil {
		return "", nil
	}
	start := uint32(0)
	if i > 0 {
		start = binary.LittleEndian.Uint32(v.ends[4*(i-1):])
	}
	end := binary.LittleEndian.Uint32(v.ends[4*i:])
	if start > end || int(end) > len(v.strings) {
		return "", corruptf("registry chunk at %d: string %d lies outside", v.base, i)
	}
	return string(v.strings[start:end]), nil
}

// search returns the first entry at or above the placement.
func (v idsValue) search(at uint32) int {
	return sort.Search(v.n, func(i int) bool { return v.mixed(i).Placement() >= at })
}

// sealIDs encodes entries ascending by placement, then residue.
func sealIDs(b placement.Brand, number uint32, entries []idEntry, keepStrings bool) []byte {
	size := 0
	for _, e := range entries {
		size += len(e.id)
	}
	n := len(entries)
	v := make([]byte, sealSize, sealSize+5+11*n+size)
	kind := byte(idsMixed)
	if keepStrings {
		kind = idsStrings
	}
	v = binary.LittleEndian.AppendUint32(append(v, kind), uint32(n))
	for _, e := range entries {
		o := e.mixed.Placement() - number<<registryChunkBits
		v = append(v, byte(o), byte(o>>8), byte(o>>16))
	}
	for _, e := range entries {
		v = binary.LittleEndian.AppendUint32(v, e.mixed.Residue())
	}
	if keepStrings {
		end := uint32(0)
		for _, e := range entries {
			end += uint32(len(e.id))
			v = binary.LittleEndian.AppendUint32(v, end)
		}
		for _, e := range entries {
			v = append(v, e.id...)
		}
	}
	return seal(tagIDs, idsSealKey(b, number), v)
}

// entries decodes the whole chunk.
func (v idsValue) entries() ([]idEntry, error) {
	out := make([]idEntry, v.n)
	for i := range out {
		id, err := v.id(i)
		if err != nil {
			return nil, err
		}
		out[i] = idEntry{v.mixed(i), id}
	}
	return out, nil
}

// registryBits is the width of a registry chunk: that of the days in a store
// of numbers, which keeps sets.
func (s settings) registryBits() uint {
	if s.ids == placement.Number {
		return numberChunkBits
	}
	return registryChunkBits
}

func (s settings) keepStrings() bool { return s.ids == placement.String && !s.dropStrings }

// known reports whether the id is registered, and whether another id is known
// at its placement. Cost: a binary search in one chunk, after its checksum.
func (r *reader) known(b placement.Brand, m placement.Mixed) (self, others bool, err error) {
	number := m.Placement() >> r.set.registryBits()
	value := r.idsValue(b, number)
	ids := r.view.idsOf(b, number)
	i, _ := slices.BinarySearchFunc(ids, idEntry{mixed: placement.Join(m.Placement(), 0)}, idEntry.compare)
	for ; i < len(ids) && ids[i].mixed.Placement() == m.Placement(); i++ {
		self, others = self || ids[i].mixed == m, others || ids[i].mixed != m
	}
	if value == nil || (self && others) {
		return self, others, nil
	}
	if r.set.ids == placement.Number {
		c, err := r.openIDSet(b, number, value)
		if err != nil || self {
			return self, false, err
		}
		self, err = c.contains(m.Placement())
		return self, false, err
	}
	v, err := openIDs(b, number, value)
	if err != nil {
		return false, false, err
	}
	for i := v.search(m.Placement()); i < v.n && v.mixed(i).Placement() == m.Placement(); i++ {
		self, others = self || v.mixed(i) == m, others || v.mixed(i) != m
	}
	return self, others, nil
}

// idsValue returns the sealed registry chunk, or nil.
func (r *reader) idsValue(b placement.Brand, number uint32) []byte {
	bucket := r.brandBucket(b)
	if bucket == nil {
		return nil
	}
	return bucket.Get(chunkKey(number))
}

// openIDSet opens a registry chunk of a store of numbers.
func (r *reader) openIDSet(b placement.Brand, number uint32, value []byte) (chunk, error) {
	c, err := openChunkSealed(tagIDs, idsSealKey(b, number), number, r.set.registryBits(), value)
	if err != nil {
		return chunk{}, fmt.Errorf("registry: %w", err)
	}
	return c, nil
}

// idsIn returns every known id of a registry chunk, folded or not, ascending
// by placement, then residue.
func (r *reader) idsIn(b placement.Brand, number uint32) ([]idEntry, error) {
	value := r.idsValue(b, number)
	fresh := r.view.idsOf(b, number)
	if value == nil {
		return fresh, nil
	}
	old, err := r.foldedIDs(b, number, value)
	if err != nil || len(fresh) == 0 {
		return old, err
	}
	return mergeIDs(old, fresh), nil
}

// foldedIDs decodes a registry chunk.
func (r *reader) foldedIDs(b placement.Brand, number uint32, value []byte) ([]idEntry, error) {
	if r.set.ids != placement.Number {
		v, err := openIDs(b, number, value)
		if err != nil {
			return nil, err
		}
		return v.entries()
	}
	c, err := r.openIDSet(b, number, value)
	if err != nil {
		return nil, err
	}
	set, err := c.bitmap()
	if err != nil {
		return nil, err
	}
	out := make([]idEntry, 0, set.GetCardinality())
	for _, p := range set.ToArray() {
		out = append(out, idEntry{mixed: placement.Mixed(p)})
	}
	return out, nil
}

// mergeIDs merges two ascending lists that have no id in common.
func mergeIDs(a, b []idEntry) []idEntry {
	out := make([]idEntry, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].compare(b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// writeIDs merges ids that are not yet in the registry into one of its chunks,
// with what the journal holds for it, and counts them. It returns the bytes
// written.
func (w *writer) writeIDs(b placement.Brand, number uint32, add []idEntry) (int, error) {
	pending := w.view.idsOf(b, number)
	fresh := mergeIDs(pending, add)
	if len(fresh) == 0 {
		return 0, nil
	}
	bucket, err := w.registry.CreateBucketIfNotExists(brandBucketKey(b))
	if err != nil {
		return 0, fmt.Errorf("registry of brand %q: %w", b, err)
	}
	var value []byte
	old := bucket.Get(chunkKey(number))
	counts := pair{uint64(len(fresh)), uint64(len(fresh))}
	pendingPlacements := uint64(len(pending))
	if w.set.ids == placement.Number {
		value, err = w.mergeIDSet(b, number, old, fresh)
	} else {
		var entries []idEntry
		if old != nil {
			if entries, err = w.foldedIDs(b, number, old); err != nil {
				return 0, err
			}
		}
		counts.second = newPlacements(entries, fresh)
		pendingPlacements = newPlacements(entries, pending)
		value = sealIDs(b, number, mergeIDs(entries, fresh), w.set.keepStrings())
	}
	if err != nil {
		return 0, err
	}
	if err := bucket.Put(chunkKey(number), value); err != nil {
		return 0, fmt.Errorf("registry of brand %q: %w", b, err)
	}
	w.draft.dropIDs(b, number, pendingPlacements)
	return len(value), w.countIDs(b, counts)
}

// mergeIDSet adds ids to a registry chunk of a store of numbers.
func (w *writer) mergeIDSet(b placement.Brand, number uint32, old []byte, add []idEntry) ([]byte, error) {
	set := roaring.New()
	if old != nil {
		c, err := w.openIDSet(b, number, old)
		if err != nil {
			return nil, err
		}
		if set, err = c.bitmap(); err != nil {
			return nil, err
		}
	}
	for _, e := range add {
		set.Add(e.mixed.Placement())
	}
	return sealChunkAs(tagIDs, idsSealKey(b, number), number, w.set.registryBits(), set)
}

// newPlacements counts the placements of the ascending ids in add at which old
// has no id.
func newPlacements(old, add []idEntry) uint64 {
	var n uint64
	for i, e := range add {
		p := e.mixed.Placement()
		if i > 0 && add[i-1].mixed.Placement() == p {
			continue
		}
		j, _ := slices.BinarySearchFunc(old, idEntry{mixed: placement.Join(p, 0)}, idEntry.compare)
		if j == len(old) || old[j].mixed.Placement() != p {
			n++
		}
	}
	return n
}

// countIDs adds to the counts of a brand's ids and placements.
func (w *writer) countIDs(b placement.Brand, add pair) error {
	have, err := w.foldedCounts(b)
	if err != nil {
		return err
	}
	sum := pair{have.first + add.first, have.second + add.second}
	if err := w.brands.Put(brandBucketKey(b), sum.seal(tagBrand, brandBucketKey(b))); err != nil {
		return fmt.Errorf("counts of brand %q: %w", b, err)
	}
	return nil
}

// foldedCounts returns how many ids and placements of a brand the registry
// holds, without those in the journal.
func (r *reader) foldedCounts(b placement.Brand) (pair, error) {
	v := r.brands.Get(brandBucketKey(b))
	if v == nil {
		return pair{}, nil
	}
	c, ok := unsealPair(tagBrand, brandBucketKey(b), v)
	if !ok {
		return pair{}, corruptf("counts of brand %q: checksum does not hold", b)
	}
	return c, nil
}

// brandBucketKey is a brand as a key: its three letters, or three zero bytes.
func brandBucketKey(b placement.Brand) []byte { return b[:] }
