package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"

	"cohort/placement"
)

// Digest returns a SHA-256, in hexadecimal, over what the store knows: the kind
// of ids, every event with its brand, days and placements, every saved set with its
// brand and placements, every known id, and the sketches of every page and day.
// Stores that hold the same facts have the same digest, whatever the order and
// the way in which they came, folded or not. Cost: it reads everything.
func (s *Snapshot) Digest() (digest string, err error) {
	err = s.do("digest", func() error {
		d := digester{h: sha256.New()}
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
		digest = hex.EncodeToString(d.h.Sum(nil))
		return nil
	})
	return digest, err
}

// digester hashes values so that no two rows of them look alike.
type digester struct{ h hash.Hash }

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
			if err := s.digestDay(d, makeDayKey(e.number, day.Day)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Snapshot) digestDay(d *digester, k dayKey) error {
	numbers, err := s.sortedChunks(k)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		b, err := s.dayChunk(k, n)
		if err != nil {
			return err
		}
		d.numbers(b.ToArray())
	}
	return nil
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
		if err != nil {
			return fmt.Errorf("set %s: %w", set.Name, err)
		}
		for _, n := range numbers {
			b, err := s.setChunk(set, n)
			if err != nil {
				return fmt.Errorf("set %s: %w", set.Name, err)
			}
			d.numbers(b.ToArray())
		}
	}
	return nil
}

func (s *Snapshot) digestIDs(d *digester) error {
	brands, err := s.brandList()
	if err != nil {
		return err
	}
	for _, b := range brands {
		d.text(b.String())
		if err := s.digestBrand(d, b); err != nil {
			return err
		}
	}
	return nil
}

func (s *Snapshot) digestBrand(d *digester, b placement.Brand) error {
	numbers, err := s.registryNumbers(b)
	if err != nil {
		return err
	}
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
