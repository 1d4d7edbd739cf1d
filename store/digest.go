package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// Digest returns a SHA-256, in hexadecimal, over what the store knows: the kind
// of ids, every event with its brand, days and placements, every saved set with its
// brand and placements, every known id, the sketches of every page and day, and the
// values of every field by id.
// Stores that hold the same facts have the same digest, whatever the order and
// the way in which they came, folded or not. So do a hashed and a dense store, as
// long as no two ids share a placement: then a dense one knows more. Cost: it
// reads everything.
func (s *Snapshot) Digest() (digest string, err error) {
	err = s.do("digest", func() error {
		d := digester{sha256.New(), make(map[placement.Brand]*crowdedIDs)}
		d.text("cohort " + s.set.ids.String() + " " + s.set.zone + " " + s.set.weekStart.String())
		if err := s.digestEvents(&d); err != nil {
			return err
		}
		if err := s.digestSets(&d); err != nil {
			return err
		}
		if err := s.digestIDs(&d); err != nil {
			return err
		}
		if err := s.digestVisits(&d); err != nil {
			return err
		}
		if err := s.digestFields(&d); err != nil {
			return err
		}
		digest = hex.EncodeToString(d.h.Sum(nil))
		return nil
	})
	return digest, err
}

// digester hashes values so that no two rows of them look alike.
type digester struct {
	h       hash.Hash
	crowded map[placement.Brand]*crowdedIDs // of a dense store
}

func (d digester) number(n uint64) {
	_, _ = d.h.Write(binary.LittleEndian.AppendUint64(nil, n)) // a hash never fails
}

func (d digester) text(s string) {
	d.number(uint64(len(s)))
	_, _ = d.h.Write([]byte(s)) // a hash never fails
}

func (d digester) numbers(ns []uint32) {
	b := make([]byte, 0, 4*len(ns))
	for _, n := range ns {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	_, _ = d.h.Write(b) // a hash never fails
}

func (s *Snapshot) digestEvents(d *digester) error {
	c := s.events().Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		e, err := unsealEvent(k, v)
		if err != nil {
			return err
		}
		d.text(string(k))
		d.text(e.brand.String())
		days, err := s.dayCounts(e.number, Period{MinDay, MaxDay})
		if err != nil {
			return err
		}
		d.number(uint64(len(days)))
		for _, day := range days {
			d.text(day.Day.String())
			d.number(day.Count)
			if err := s.digestDay(d, e.brand, makeDayKey(e.number, day.Day)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Snapshot) digestDay(d *digester, b placement.Brand, k dayKey) error {
	defer s.unlist(k)
	numbers, err := s.sortedChunks(k)
	if err != nil {
		return err
	}
	return s.digestBits(d, b, numbers, func(n uint32) (*roaring.Bitmap, error) { return s.dayChunk(k, n) })
}

// digestSets adds nothing where no set is saved.
func (s *Snapshot) digestSets(d *digester) error {
	sets, err := s.savedSets()
	if err != nil || len(sets) == 0 {
		return err
	}
	d.text("saved sets")
	d.number(uint64(len(sets)))
	for _, set := range sets {
		d.text(set.Name)
		d.text(set.Brand.String())
		d.number(set.Count)
		numbers, err := s.setNumbers(set)
		if err == nil {
			err = s.digestBits(d, set.Brand, numbers, func(n uint32) (*roaring.Bitmap, error) { return s.setChunk(set, n) })
		}
		if err != nil {
			return fmt.Errorf("set %s: %w", set.Name, err)
		}
	}
	return nil
}

// digestBits adds the placements of a brand's positions, ascending, given by
// chunks in order. In a dense store, of the ids that are crowded, at placements
// where several are known, the placement does not tell which: they follow.
func (s *Snapshot) digestBits(d *digester, brand placement.Brand, numbers []uint32, chunk func(n uint32) (*roaring.Bitmap, error)) error {
	var placements []uint32
	var which []uint64
	for _, n := range numbers {
		b, err := chunk(n)
		if err != nil {
			return err
		}
		if !s.set.dense() {
			d.numbers(b.ToArray())
			continue
		}
		at, err := s.placementsOf(brand, b)
		if err != nil {
			return err
		}
		placements = append(placements, at...)
		crowded, err := d.crowdedOf(s, brand)
		if err != nil {
			return err
		}
		for pos := range roaring.Values(roaring.And(b, crowded.positions)) {
			which = append(which, sortKey(crowded.ids[pos]))
		}
	}
	slices.Sort(placements)
	d.numbers(placements)
	slices.Sort(which)
	for _, w := range which {
		d.number(w)
	}
	return nil
}

// crowdedIDs are the ids of a brand at placements where several are known.
type crowdedIDs struct {
	positions *roaring.Bitmap
	ids       map[uint32]placement.Mixed // by position
}

// crowdedOf returns the crowded ids of a brand.
func (d *digester) crowdedOf(s *Snapshot, b placement.Brand) (*crowdedIDs, error) {
	if crowded, ok := d.crowded[b]; ok {
		return crowded, nil
	}
	numbers, err := s.registryNumbers(b)
	if err != nil {
		return nil, err
	}
	crowded := &crowdedIDs{roaring.New(), make(map[uint32]placement.Mixed)}
	for _, n := range numbers {
		ids, err := s.idsIn(b, n)
		if err != nil {
			return nil, err
		}
		for i := 1; i < len(ids); i++ {
			if ids[i].mixed.Placement() == ids[i-1].mixed.Placement() {
				for _, e := range ids[i-1 : i+1] {
					crowded.positions.Add(e.pos)
					crowded.ids[e.pos] = e.mixed
				}
			}
		}
	}
	d.crowded[b] = crowded
	return crowded, nil
}

func (s *Snapshot) digestIDs(d *digester) error {
	brands, err := s.brandList()
	if err != nil {
		return err
	}
	for _, b := range brands {
		if err := s.digestBrand(d, b); err != nil {
			return err
		}
	}
	return nil
}

func (s *Snapshot) digestBrand(d *digester, b placement.Brand) error {
	numbers, err := s.registryNumbers(b)
	if err != nil || len(numbers) == 0 {
		return err // a brand without ids, all of them erased, adds nothing
	}
	d.text(b.String())
	for _, n := range numbers {
		ids, err := s.idsIn(b, n)
		if err != nil {
			return err
		}
		for _, e := range ids {
			d.number(uint64(e.mixed))
			if s.set.keepStrings() {
				d.text(e.id)
			}
		}
	}
	return nil
}
