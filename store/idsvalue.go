package store

import (
	"encoding/binary"
	"sort"

	"cohort/placement"
)

// The registry knows every id ever marked, by brand: which placement it stands
// at, and the residue (or string) that tells it from others there. It is cut
// into chunks by the top bits of the placement. The payload of a chunk of
// branded or string ids, ordered by placement, then residue:
//
//	kind u8 | n u32 | n × placement within the chunk u24 |
//	n × residue u32 | in a dense store: n × ordinal u32 |
//	where strings are kept: n × end u32 | the strings
//
// ends are where each string ends in the strings. Seven bytes an id without
// strings, eleven in a dense store, found by binary search in the mapped file. A
// store of numbers keeps the set of ids alone, as a chunk of positions.
const (
	idsMixed    = 1
	idsStrings  = 2
	idsOrdinals = 4 // added to the kind
)

// idsKind is the kind of the store's registry chunks, and the bytes that an id
// takes in one beside its string.
func (s settings) idsKind() (kind byte, width int) {
	kind, width = idsMixed, 7
	if s.keepStrings() {
		kind, width = idsStrings, 11
	}
	if s.dense() {
		kind, width = kind+idsOrdinals, width+4
	}
	return kind, width
}

// idsValue is a registry chunk whose checksum holds. It aliases the value.
type idsValue struct {
	n         int
	base      uint32
	offsets   []byte // n × u24
	residues  []byte // n × u32
	positions []byte // n × u32, or nil where ids stand at their placements
	ends      []byte // n × u32, or nil
	strings   []byte
}

// parseIDs opens the payload of a registry chunk whose first placement is base.
func parseIDs(base uint32, p []byte) (v idsValue, ok bool) {
	if len(p) < 5 {
		return v, false
	}
	kind, n, rest := p[0]&^idsOrdinals, int(binary.LittleEndian.Uint32(p[1:])), p[5:]
	if (kind != idsMixed && kind != idsStrings) || n > len(rest)/7 {
		return v, false
	}
	v = idsValue{n: n, base: base, offsets: rest[:3*n], residues: rest[3*n : 7*n]}
	rest = rest[7*n:]
	if p[0]&idsOrdinals != 0 {
		if n > len(rest)/4 {
			return v, false
		}
		v.positions, rest = rest[:4*n], rest[4*n:]
	}
	if kind == idsMixed {
		return v, len(rest) == 0
	}
	if n > len(rest)/4 {
		return v, false
	}
	v.ends, v.strings = rest[:4*n], rest[4*n:]
	return v, true
}

func (v idsValue) mixed(i int) placement.Mixed {
	return placement.Join(v.base|v.offset(i), binary.LittleEndian.Uint32(v.residues[4*i:]))
}

// offset returns the placement of entry i within the chunk.
func (v idsValue) offset(i int) uint32 {
	o := v.offsets[3*i : 3*i+3]
	return uint32(o[0]) | uint32(o[1])<<8 | uint32(o[2])<<16
}

// pos returns where the bit of entry i stands.
func (v idsValue) pos(i int) uint32 {
	if v.positions == nil {
		return v.mixed(i).Placement()
	}
	return binary.LittleEndian.Uint32(v.positions[4*i:])
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

// lowerBound returns the first entry at or above the sort key, looking from an
// entry known to be at or below it: close ones are found quickly.
func (v idsValue) lowerBound(key uint64, from int) int {
	step, low := 1, from
	for low+step <= v.n && sortKey(v.mixed(low+step-1)) < key {
		low += step
		step *= 2
	}
	return low + sort.Search(min(step, v.n-low), func(i int) bool { return sortKey(v.mixed(low+i)) >= key })
}

// find is lowerBound for a placement anywhere in the chunk. Placements are
// uniform, so it starts where the placement would stand if they were even: a
// few steps instead of a dozen. It reads no residues, which lie elsewhere in memory.
func (v idsValue) find(at uint32) int {
	offset := at - v.base
	low := int(uint64(offset) * uint64(v.n) >> registryChunkBits)
	high := low
	for step := 8; low > 0 && v.offset(low-1) >= offset; step *= 2 {
		low, high = max(low-step, 0), low
	}
	for step := 8; high < v.n && v.offset(high) < offset; step *= 2 {
		low, high = high+1, min(high+step, v.n)
	}
	for low < high {
		if mid := int(uint(low+high) >> 1); v.offset(mid) < offset {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// count returns how many entries stand at a placement, the first at index i.
func (v idsValue) count(i int, at uint32) int {
	n := 0
	for i+n < v.n && v.mixed(i+n).Placement() == at {
		n++
	}
	return n
}

// points returns the entries of v before which each of the ids, ascending and
// not in v, belongs, and v.n at the end.
func (v idsValue) points(ids []idEntry) []int {
	points := make([]int, len(ids)+1)
	at := 0
	for i, e := range ids {
		at = v.lowerBound(sortKey(e.mixed), at)
		points[i] = at
	}
	points[len(ids)] = v.n
	return points
}

// insert returns a sealed chunk with the entries, ascending and not in it yet,
// added at their points. It copies what lies between them as it stands.
func (v idsValue) insert(s settings, b placement.Brand, number uint32, add []idEntry, points []int) ([]byte, error) {
	if v.n == 0 {
		return sealIDs(s, b, number, add), nil
	}
	n, stringBytes := v.n+len(add), len(v.strings)
	for _, e := range add {
		stringBytes += len(e.id)
	}
	kind, width := s.idsKind()
	out := make([]byte, sealSize, sealSize+5+width*n+stringBytes)
	out = binary.LittleEndian.AppendUint32(append(out, kind), uint32(n))
	at := 0
	for i, p := range points {
		out, at = append(out, v.offsets[3*at:3*p]...), p
		if i < len(add) {
			out = appendOffset(out, number, add[i].mixed)
		}
	}
	at = 0
	for i, p := range points {
		out, at = append(out, v.residues[4*at:4*p]...), p
		if i < len(add) {
			out = binary.LittleEndian.AppendUint32(out, add[i].mixed.Residue())
		}
	}
	if s.dense() {
		at = 0
		for i, p := range points {
			out, at = append(out, v.positions[4*at:4*p]...), p
			if i < len(add) {
				out = binary.LittleEndian.AppendUint32(out, add[i].pos)
			}
		}
	}
	if s.keepStrings() {
		var err error
		if out, err = v.insertStrings(out, points, add); err != nil {
			return nil, err
		}
	}
	return seal(tagIDs, idsSealKey(b, number), out), nil
}

// insertStrings appends the ends and the strings of v and of the added entries,
// which go before the entries of v that points tell.
func (v idsValue) insertStrings(out []byte, points []int, add []idEntry) ([]byte, error) {
	if v.ends == nil {
		return nil, corruptf("registry chunk at %d: it has no strings", v.base)
	}
	end := func(i int) uint32 {
		if i == 0 {
			return 0
		}
		return binary.LittleEndian.Uint32(v.ends[4*(i-1):])
	}
	if int(end(v.n)) != len(v.strings) {
		return nil, corruptf("registry chunk at %d: strings end elsewhere", v.base)
	}
	at, shift := 0, uint32(0)
	for i, p := range points {
		for ; at < p; at++ {
			out = binary.LittleEndian.AppendUint32(out, end(at+1)+shift)
		}
		if i < len(add) {
			shift += uint32(len(add[i].id))
			out = binary.LittleEndian.AppendUint32(out, end(at)+shift)
		}
	}
	at = 0
	for i, p := range points {
		if end(at) > end(p) || int(end(p)) > len(v.strings) {
			return nil, corruptf("registry chunk at %d: strings are out of order", v.base)
		}
		out, at = append(out, v.strings[end(at):end(p)]...), p
		if i < len(add) {
			out = append(out, add[i].id...)
		}
	}
	return out, nil
}

// appendOffset appends a placement's place in its registry chunk.
func appendOffset(b []byte, number uint32, m placement.Mixed) []byte {
	o := m.Placement() - number<<registryChunkBits
	return append(b, byte(o), byte(o>>8), byte(o>>16))
}

// sealIDs encodes entries ascending by placement, then residue.
func sealIDs(s settings, b placement.Brand, number uint32, entries []idEntry) []byte {
	size := 0
	for _, e := range entries {
		size += len(e.id)
	}
	n := len(entries)
	kind, width := s.idsKind()
	v := make([]byte, sealSize, sealSize+5+width*n+size)
	v = binary.LittleEndian.AppendUint32(append(v, kind), uint32(n))
	for _, e := range entries {
		v = appendOffset(v, number, e.mixed)
	}
	for _, e := range entries {
		v = binary.LittleEndian.AppendUint32(v, e.mixed.Residue())
	}
	if s.dense() {
		for _, e := range entries {
			v = binary.LittleEndian.AppendUint32(v, e.pos)
		}
	}
	if s.keepStrings() {
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
		out[i] = idEntry{v.mixed(i), v.pos(i), id}
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

// newPlacements counts the placements of ids, ascending and not in v, at which v
// has none, given their points.
func (v idsValue) newPlacements(ids []idEntry, points []int) uint64 {
	var n uint64
	for i, e := range ids {
		p, at := e.mixed.Placement(), points[i]
		if (i == 0 || ids[i-1].mixed.Placement() != p) &&
			(at == 0 || v.mixed(at-1).Placement() != p) && (at == v.n || v.mixed(at).Placement() != p) {
			n++
		}
	}
	return n
}
