package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// A dense store gives each id an ordinal: the number of ids of its brand that
// were known before it. The registry has it beside the id; the table of ordinals
// leads back, from each ordinal to the placement of its id, where the registry
// is searched. It is cut into chunks of 2^16 ordinals, of which all but the last
// are full. Payload of a chunk:
//
//	kind u8 | n u32 | m u32 | n × placement u32 | m × erased ordinal within the chunk u16
//
// Ordinals are given away by commits in order and never again. Those that are
// erased keep their place in the table, with placement 0.
const (
	ordinalBits   = 16
	ordinalKind   = 1
	ordinalHeader = 9
	ordinalsMax   = 1 << 32 // of a brand
)

var errNoOrdinal = errors.New("all 4,294,967,296 ordinals are given away")

// ordinalsValue is a chunk of the table whose checksum holds. It aliases the value.
type ordinalsValue struct {
	n          int
	placements []byte // n × u32
	erased     []byte // × u16, ascending
}

func parseOrdinals(p []byte) (v ordinalsValue, ok bool) {
	if len(p) < ordinalHeader || p[0] != ordinalKind {
		return v, false
	}
	n, erased := binary.LittleEndian.Uint32(p[1:]), binary.LittleEndian.Uint32(p[5:])
	rest := p[ordinalHeader:]
	if n > 1<<ordinalBits || erased > n || len(rest) != int(4*n+2*erased) {
		return v, false
	}
	return ordinalsValue{int(n), rest[:4*n], rest[4*n:]}, true
}

// sealOrdinals encodes a chunk of the table with further placements.
func (v ordinalsValue) seal(b placement.Brand, number uint32, more []uint32) []byte {
	n := v.n + len(more)
	out := make([]byte, sealSize, sealSize+ordinalHeader+4*n+len(v.erased))
	out = binary.LittleEndian.AppendUint32(append(out, ordinalKind), uint32(n))
	out = binary.LittleEndian.AppendUint32(out, uint32(len(v.erased)/2))
	out = append(out, v.placements...)
	for _, p := range more {
		out = binary.LittleEndian.AppendUint32(out, p)
	}
	return seal(tagOrdinals, idsSealKey(b, number), append(out, v.erased...))
}

func (v ordinalsValue) placement(i int) uint32 {
	return binary.LittleEndian.Uint32(v.placements[4*i:])
}

// ordinalsBucket returns the bucket of a brand's table, or nil where it has none.
func (r *reader) ordinalsBucket(b placement.Brand) *bolt.Bucket {
	if all := r.tx.Bucket(bucketOrdinals); all != nil {
		return all.Bucket(brandBucketKey(b))
	}
	return nil
}

// openOrdinals returns a chunk of a brand's table, empty behind its end.
func (r *reader) openOrdinals(b placement.Brand, number uint32) (v ordinalsValue, err error) {
	folded, first := r.view.ordinalsOf(b).folded, uint64(number)<<ordinalBits
	if first >= folded {
		return v, nil
	}
	ok := false
	if bucket := r.ordinalsBucket(b); bucket != nil {
		var p []byte
		if p, ok = r.verified.unseal(tagOrdinals, idsSealKey(b, number), bucket.Get(chunkKey(number))); ok {
			v, ok = parseOrdinals(p)
		}
	}
	if !ok || uint64(v.n) != min(folded-first, 1<<ordinalBits) {
		return v, corruptf("ordinals of brand %q: chunk %d does not hold", b, number)
	}
	return v, nil
}

// placementsOf returns the placements of the ids at some positions of a dense
// store, in the order of the positions.
func (r *reader) placementsOf(b placement.Brand, at *roaring.Bitmap) ([]uint32, error) {
	placements := make([]uint32, 0, at.GetCardinality())
	o := r.view.ordinalsOf(b)
	unfolded := o.placed.all(ordinal.compare)
	it := at.Iterator()
	for it.HasNext() {
		number := it.PeekNext() >> ordinalBits
		v, err := r.openOrdinals(b, number)
		if err != nil {
			return nil, err
		}
		for it.HasNext() && it.PeekNext()>>ordinalBits == number {
			pos := it.Next()
			if i := int(pos & (1<<ordinalBits - 1)); i < v.n {
				placements = append(placements, v.placement(i))
				continue
			}
			i := int64(pos) - int64(o.folded)
			if i < 0 || i >= int64(len(unfolded)) || unfolded[i].pos != pos {
				return nil, corruptf("ordinals of brand %q: %d is of no id", b, pos)
			}
			placements = append(placements, unfolded[i].placement)
		}
	}
	return placements, nil
}

// given returns those of some positions that were given to ids of the brand.
func (r *reader) given(b placement.Brand, positions *roaring.Bitmap) *roaring.Bitmap {
	next := r.view.ordinalsOf(b).next
	if positions.IsEmpty() || uint64(positions.Maximum()) < next {
		return positions
	}
	positions = positions.Clone()
	positions.RemoveRange(next, ordinalsMax)
	return positions
}

// placementSet returns positions of a brand as placements.
func (r *reader) placementSet(b placement.Brand, positions *roaring.Bitmap) (*roaring.Bitmap, error) {
	if !r.set.dense() {
		return positions, nil
	}
	list, err := r.placementsOf(b, positions)
	if err != nil {
		return nil, err
	}
	slices.Sort(list)
	set := roaring.New()
	set.AddMany(list)
	return set, nil
}

// seenOrdinals returns the positions of a chunk of days at which an id is known.
func (r *reader) seenOrdinals(b placement.Brand, number uint32) (*roaring.Bitmap, error) {
	seen := roaring.New()
	first := uint64(number) << r.set.chunkBits()
	end := min(first+1<<r.set.chunkBits(), r.view.ordinalsOf(b).next)
	if first >= end {
		return seen, nil
	}
	seen.AddRange(first, end)
	for at := first; at < end; at += 1 << ordinalBits {
		v, err := r.openOrdinals(b, uint32(at>>ordinalBits))
		if err != nil {
			return nil, err
		}
		for e := v.erased; len(e) > 0; e = e[2:] {
			seen.Remove(uint32(at) + uint32(binary.LittleEndian.Uint16(e)))
		}
	}
	return seen, nil
}

// foldOrdinals adds a brand's unfolded ordinals to its table, and behind them
// the ordinals that are next, given their placements. It returns the bytes
// written.
func (w *writer) foldOrdinals(b placement.Brand, more []uint32) (written int, err error) {
	o := w.draft.ownOrdinals(b)
	var add []uint32
	for i, u := range o.placed.all(ordinal.compare) {
		if uint64(u.pos) != o.folded+uint64(i) {
			return 0, corruptf("ordinals of brand %q: %d is where %d should be", b, u.pos, o.folded+uint64(i))
		}
		add = append(add, u.placement)
	}
	add = append(add, more...)
	if len(add) == 0 {
		return 0, nil
	}
	bucket, err := w.tx.CreateBucketIfNotExists(bucketOrdinals)
	if err == nil {
		bucket, err = bucket.CreateBucketIfNotExists(brandBucketKey(b))
	}
	if err != nil {
		return 0, fmt.Errorf("ordinals of brand %q: %w", b, err)
	}
	if err := w.countIDs(b, pair{}, uint64(len(add))); err != nil {
		return 0, err
	}
	for len(add) > 0 {
		number := uint32(o.folded >> ordinalBits)
		v, err := w.openOrdinals(b, number)
		if err != nil {
			return 0, err
		}
		n := min(len(add), 1<<ordinalBits-v.n)
		value := v.seal(b, number, add[:n])
		if err := bucket.Put(chunkKey(number), value); err != nil {
			return 0, fmt.Errorf("ordinals of brand %q: %w", b, err)
		}
		o.folded, add, written = o.folded+uint64(n), add[n:], written+len(value)
	}
	o.next, o.placed = max(o.next, o.folded), runs[ordinal]{}
	return written, nil
}

// eraseOrdinal takes the placement of an erased id out of the table, which has it.
// The ordinal is not given to another id.
func (w *writer) eraseOrdinal(b placement.Brand, pos uint32) error {
	number, i := pos>>ordinalBits, int(pos&(1<<ordinalBits-1))
	v, err := w.openOrdinals(b, number)
	if err != nil {
		return err
	}
	if i >= v.n {
		return corruptf("ordinals of brand %q: %d is of no id", b, pos)
	}
	placements := make([]uint32, v.n)
	for j := range placements {
		placements[j] = v.placement(j)
	}
	placements[i] = 0
	var erased []byte
	rest := v.erased
	for len(rest) > 0 && int(binary.LittleEndian.Uint16(rest)) < i {
		erased, rest = append(erased, rest[:2]...), rest[2:]
	}
	erased = append(binary.LittleEndian.AppendUint16(erased, uint16(i)), rest...)
	value := ordinalsValue{erased: erased}.seal(b, number, placements)
	if err := w.ordinalsBucket(b).Put(chunkKey(number), value); err != nil {
		return fmt.Errorf("ordinals of brand %q: %w", b, err)
	}
	return nil
}

// countOrdinals takes over how many ordinals each brand has in its table.
func (w *writer) countOrdinals() error {
	if !w.set.dense() {
		return nil
	}
	brands, err := w.brandList()
	if err != nil {
		return err
	}
	for _, b := range brands {
		n, err := w.foldedCounts(b)
		if err != nil {
			return err
		}
		if n.ordinals > ordinalsMax || n.first > n.ordinals {
			return corruptf("brand %q: %d ids with %d ordinals", b, n.first, n.ordinals)
		}
		o := w.draft.ownOrdinals(b)
		o.folded, o.next = n.ordinals, n.ordinals
	}
	return nil
}

// checkOrdinals sees that the journal's ordinals follow those in the tables
// without a gap.
func (r *reader) checkOrdinals() (err error) {
	r.view.ordinals.Scan(func(brand uint32, o *ordinalOps) bool {
		for i, u := range o.placed.all(ordinal.compare) {
			if uint64(u.pos) != o.folded+uint64(i) {
				err = corruptf("journal: ordinal %d of brand %q is where %d should be", u.pos, brandOf(brand), o.folded+uint64(i))
				return false
			}
		}
		return true
	})
	return err
}

// ordinalOps are the ordinals of one brand, as far as memory has them.
type ordinalOps struct {
	owner  int64         // the draft that may still change it
	folded uint64        // how many the table has
	next   uint64        // what the next id gets
	placed runs[ordinal] // those from folded to next
}

// ordinal is one that the table does not have yet.
type ordinal struct{ pos, placement uint32 }

func (a ordinal) compare(b ordinal) int { return cmp.Compare(a.pos, b.pos) }

// ordinalsOf returns the ordinals of a brand, which must not be changed.
func (v *view) ordinalsOf(b placement.Brand) ordinalOps {
	if o, ok := v.ordinals.Get(brandKey(b)); ok {
		return *o
	}
	return ordinalOps{}
}

// ownOrdinals returns the ordinals of a brand, ready to be changed.
func (d *draft) ownOrdinals(b placement.Brand) *ordinalOps {
	o, ok := d.ordinals.Get(brandKey(b))
	if ok && o.owner == d.stamp {
		return o
	}
	own := &ordinalOps{}
	if ok {
		*own = *o
		own.placed = o.placed.own()
	}
	own.owner = d.stamp
	d.ordinals.Set(brandKey(b), own)
	return own
}

// place notes the ordinal of an id, unless the table has it.
func (d *draft) place(b placement.Brand, pos, placement uint32) {
	if o := d.ownOrdinals(b); uint64(pos) >= o.folded {
		o.placed.put(ordinal{pos, placement}, ordinal.compare)
		o.next = max(o.next, uint64(pos)+1)
	}
}

// nextPosition returns where the bit of an id that is not known will stand.
func (d *draft) nextPosition(s settings, b placement.Brand, m placement.Mixed) (uint32, error) {
	if !s.dense() {
		return m.Placement(), nil
	}
	next := d.ordinalsOf(b).next
	if next >= ordinalsMax {
		return 0, fmt.Errorf("brand %q: %w", b, errNoOrdinal)
	}
	return uint32(next), nil
}
