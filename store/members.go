package store

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// BrandStats counts the known ids of one brand.
type BrandStats struct {
	Brand      placement.Brand
	IDs        uint64
	Placements uint64 // at which at least one id is known
}

// Brands lists the brands of which an id is known, in order. Cost: one small
// record a brand.
func (s *Snapshot) Brands() (stats []BrandStats, err error) {
	err = s.do("brands", func() error {
		brands, err := s.brandList()
		if err != nil {
			return err
		}
		for _, b := range brands {
			n, err := s.foldedCounts(b)
			if err != nil {
				return err
			}
			if o, ok := s.view.ids.Get(brandKey(b)); ok {
				n.first += o.counts.first
				n.second += o.counts.second
			}
			if n.first > 0 {
				stats = append(stats, BrandStats{b, n.first, n.second})
			}
		}
		return nil
	})
	return stats, err
}

// brandList returns the brands that the registry or the journal has.
func (r *reader) brandList() ([]placement.Brand, error) {
	var keys []uint32
	c := r.brands().Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if len(k) != 3 {
			return nil, corruptf("brands: a key of %d bytes", len(k))
		}
		keys = append(keys, brandKey(placement.Brand(k)))
	}
	r.view.ids.Scan(func(k uint32, _ *brandOps) bool {
		keys = append(keys, k)
		return true
	})
	slices.Sort(keys)
	keys = slices.Compact(keys)
	brands := make([]placement.Brand, len(keys))
	for i, k := range keys {
		brands[i] = brandOf(k)
	}
	return brands, nil
}

// registryNumbers lists the registry chunks of a brand, ascending.
func (r *reader) registryNumbers(b placement.Brand) ([]uint32, error) {
	var numbers []uint32
	bucket, err := r.brandBucket(b)
	if err != nil {
		return nil, err
	}
	if bucket != nil {
		var sum uint64
		if numbers, sum, err = listChunks(bucket, nil); err != nil {
			return nil, fmt.Errorf("registry of brand %q: %w", b, err)
		}
		if n, err := r.foldedCounts(b); err != nil || n.first != sum {
			return nil, cmp.Or(err, corruptf("the registry of brand %q has %d ids, not %d", b, sum, n.first))
		}
	}
	if o, ok := r.view.ids.Get(brandKey(b)); ok {
		for _, c := range o.chunks {
			numbers = append(numbers, c.number)
		}
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
	}
	return numbers, nil
}

// SeenChunkNumbers lists, ascending, the chunks (see ChunkBits) in which a known
// id of the brand may stand.
func (s *Snapshot) SeenChunkNumbers(b placement.Brand) (numbers []uint32, err error) {
	err = s.do("seen", func() error {
		if s.set.dense() {
			for first := uint64(0); first < s.view.ordinalsOf(b).next; first += 1 << s.set.chunkBits() {
				numbers = append(numbers, uint32(first>>s.set.chunkBits()))
			}
			return nil
		}
		numbers, err = s.registryNumbers(b)
		shift := s.set.chunkBits() - s.set.registryBits()
		for i := range numbers {
			numbers[i] >>= shift
		}
		numbers = slices.Compact(numbers)
		return err
	})
	return numbers, err
}

// SeenChunk returns the positions of all known ids of the brand, as far as
// they lie in one chunk, in a bitmap that is the caller's.
func (s *Snapshot) SeenChunk(b placement.Brand, number uint32) (seen *roaring.Bitmap, err error) {
	err = s.do("seen", func() (err error) {
		seen, err = s.seenChunk(b, number)
		return err
	})
	return seen, err
}

func (r *reader) seenChunk(b placement.Brand, number uint32) (*roaring.Bitmap, error) {
	if r.set.dense() {
		return r.seenOrdinals(b, number)
	}
	seen := roaring.New()
	shift := r.set.chunkBits() - r.set.registryBits()
	for n := number << shift; n < (number+1)<<shift; n++ {
		ids, err := r.idsIn(b, n)
		if err != nil {
			return nil, err
		}
		positions := make([]uint32, len(ids))
		for i, e := range ids {
			positions[i] = e.mixed.Placement()
		}
		seen.AddMany(positions)
	}
	return seen, nil
}

// errNoStrings says why members cannot be listed.
var errNoStrings = errors.New("the store was created without keeping strings: its members cannot be listed")

// Members yields the known ids of the brand whose bits are in a set of positions,
// in order of placement, and at one placement in order of id. The loop runs inside the
// snapshot: it must not wait for a write to this store that waits for it. An
// error ends the sequence. Cost: every registry chunk in which the set has a
// bit is decoded, and one string allocated an id; in a dense store 4 bytes more for
// each position.
func (s *Snapshot) Members(b placement.Brand, set *roaring.Bitmap) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		placements, only := set, (*roaring.Bitmap)(nil)
		if s.set.dense() {
			only = s.given(b, set)
			err := s.do("members", func() (err error) {
				placements, err = s.placementSet(b, only)
				return err
			})
			if err != nil {
				yield("", err)
				return
			}
		}
		s.idsAt(b, placements, only)(yield)
	}
}

// MembersAt yields the known ids of the brand at a set of placements, whatever the
// kind of the store, in the order and under the conditions of Members.
func (s *Snapshot) MembersAt(b placement.Brand, placements *roaring.Bitmap) iter.Seq2[string, error] {
	return s.idsAt(b, placements, nil)
}

// idsAt yields the known ids at placements, only those at some positions unless
// that is nil.
func (s *Snapshot) idsAt(b placement.Brand, placements, only *roaring.Bitmap) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if s.set.ids == placement.String && s.set.dropStrings {
			yield("", errNoStrings)
			return
		}
		bits := s.set.registryBits()
		it := placements.Iterator()
		for it.HasNext() {
			number := it.PeekNext() >> bits
			var ids []string
			err := s.do("members", func() (err error) {
				ids, err = s.membersIn(b, number, it, only)
				return err
			})
			if err != nil {
				yield("", err)
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
		}
	}
}

// membersIn returns the ids in one registry chunk whose placements the iterator
// gives, of these only those at some positions unless that is nil, and moves the
// iterator past the chunk.
func (r *reader) membersIn(b placement.Brand, number uint32, it roaring.IntPeekable, only *roaring.Bitmap) ([]string, error) {
	entries, err := r.entriesIn(b, number, it, only)
	if err != nil {
		return nil, err
	}
	ids, first := make([]string, len(entries)), 0
	for i, e := range entries {
		if ids[i], err = r.idOf(b, e); err != nil {
			return nil, err
		}
		if e.mixed.Placement() != entries[first].mixed.Placement() {
			first = i
		}
		if i > first {
			slices.Sort(ids[first : i+1])
		}
	}
	return ids, nil
}

// entriesIn is membersIn of entries, those at one placement in order of residue.
func (r *reader) entriesIn(b placement.Brand, number uint32, it roaring.IntPeekable, only *roaring.Bitmap) (entries []idEntry, err error) {
	known, err := r.idsIn(b, number)
	if err != nil {
		return nil, err
	}
	i := 0
	for it.HasNext() && it.PeekNext()>>r.set.registryBits() == number {
		p := it.Next()
		for i < len(known) && known[i].mixed.Placement() < p {
			i++
		}
		for ; i < len(known) && known[i].mixed.Placement() == p; i++ {
			if only == nil || only.Contains(known[i].pos) {
				entries = append(entries, known[i])
			}
		}
	}
	return entries, nil
}

// idOf writes a known id as it was given.
func (r *reader) idOf(b placement.Brand, e idEntry) (string, error) {
	if r.set.ids == placement.String {
		if r.set.dropStrings {
			return "", errNoStrings
		}
		return e.id, nil
	}
	id, ok := r.set.ids.Format(b, e.mixed)
	if !ok {
		return "", corruptf("registry of brand %q: %#x is no id", b, uint64(e.mixed))
	}
	return id, nil
}

// idOrResidue is idOf, with a placeholder in a store without strings: "?" and the
// residue in hexadecimal.
func (r *reader) idOrResidue(b placement.Brand, e idEntry) (string, error) {
	id, err := r.idOf(b, e)
	if errors.Is(err, errNoStrings) {
		return fmt.Sprintf("?%08x", e.mixed.Residue()), nil
	}
	return id, err
}

// Known reports whether the id was ever marked, and lists the other known ids
// at its placement, in order. In a store without strings the list has a
// placeholder, "?" and the residue in hexadecimal, for each.
func (s *Snapshot) Known(id string) (known bool, sharing []string, err error) {
	brand, mixed, err := s.set.ids.Parse(id)
	if err != nil {
		return false, nil, err
	}
	err = s.do("known", func() error {
		ids, err := s.idsIn(brand, mixed.Placement()>>s.set.registryBits())
		if err != nil {
			return err
		}
		i, _ := slices.BinarySearchFunc(ids, firstEntry(mixed.Placement()), idEntry.compare)
		for ; i < len(ids) && ids[i].mixed.Placement() == mixed.Placement(); i++ {
			if ids[i].mixed == mixed {
				known = true
				continue
			}
			other, err := s.idOrResidue(brand, ids[i])
			if err != nil {
				return err
			}
			sharing = append(sharing, other)
		}
		slices.Sort(sharing)
		return nil
	})
	return known, sharing, err
}
