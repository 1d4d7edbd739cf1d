package store

import (
	"fmt"

	"cohort/placement"
)

// openIDs checks and opens a registry chunk.
func (r *reader) openIDs(b placement.Brand, number uint32, value []byte) (idsValue, error) {
	p, ok := r.verified.unseal(tagIDs, idsSealKey(b, number), value)
	if !ok {
		return idsValue{}, corruptf("registry chunk %d of brand %q: checksum does not hold", number, b)
	}
	v, ok := parseIDs(number<<registryChunkBits, p)
	if !ok || (v.n > 0 && (v.positions != nil) != r.set.dense()) {
		return v, corruptf("registry chunk %d of brand %q: lengths do not hold together", number, b)
	}
	return v, nil
}

// registryBits is the width of a registry chunk: that of the days in a store
// of numbers, which keeps sets.
func (s settings) registryBits() uint {
	if s.ids == placement.Number {
		return packedChunkBits
	}
	return registryChunkBits
}

func (s settings) keepStrings() bool { return s.ids == placement.String && !s.dropStrings }

// known returns what is known of an id. Cost: a search in one chunk.
func (r *reader) known(b placement.Brand, m placement.Mixed) (standing, error) {
	at, err := r.foldedKnown(b, m)
	return at.and(r.view.known(b, r.set, m)), err
}

// foldedKnown is known of the ids that the registry has.
func (r *reader) foldedKnown(b placement.Brand, m placement.Mixed) (standing, error) {
	at := r.set.unknown(m)
	number := m.Placement() >> r.set.registryBits()
	if r.set.ids == placement.Number {
		value, err := r.idsValue(b, number)
		if value == nil || err != nil {
			return at, err
		}
		c, err := r.openIDSet(b, number, value)
		if err != nil {
			return at, err
		}
		at.self, err = c.contains(m.Placement())
		return at, err
	}
	v, err := r.registryChunk(b, number)
	if v == nil || err != nil {
		return at, err
	}
	for i := v.find(m.Placement()); i < v.n && v.mixed(i).Placement() == m.Placement(); i++ {
		if v.mixed(i) == m {
			at.self, at.placed, at.pos = true, true, v.pos(i)
		} else {
			at.others = true
		}
	}
	return at, nil
}

// readIDs is registryChunk without what the reader keeps.
func (r *reader) readIDs(b placement.Brand, number uint32) (*idsValue, error) {
	value, err := r.idsValue(b, number)
	if value == nil || err != nil {
		return nil, err
	}
	v, err := r.openIDs(b, number, value)
	return &v, err
}

// openIDSet opens a registry chunk of a store of numbers.
func (r *reader) openIDSet(b placement.Brand, number uint32, value []byte) (chunk, error) {
	c, err := r.openSealed(tagIDs, idsSealKey(b, number), number, r.set.registryBits(), value)
	if err != nil {
		return chunk{}, fmt.Errorf("registry: %w", err)
	}
	return c, nil
}

// idsIn returns every known id of a registry chunk, folded or not, ascending
// by placement, then residue.
func (r *reader) idsIn(b placement.Brand, number uint32) ([]idEntry, error) {
	value, err := r.idsValue(b, number)
	if err != nil {
		return nil, err
	}
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
		v, err := r.openIDs(b, number, value)
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
		out = append(out, idEntry{mixed: placement.Mixed(p), pos: p})
	}
	return out, nil
}

// foldedCounts returns how many ids and placements of a brand the registry
// holds, and ordinals its table, without those in the journal.
func (r *reader) foldedCounts(b placement.Brand) (brandCounts, error) {
	v, err := lookup(r.brands(), brandBucketKey(b), brandHolds)
	if v == nil || err != nil {
		return brandCounts{}, err
	}
	c, ok := unsealBrand(brandBucketKey(b), v)
	if !ok {
		return c, corruptf("counts of brand %q: checksum does not hold", b)
	}
	return c, nil
}

// brandBucketKey is a brand as a key: its three letters, or three zero bytes.
func brandBucketKey(b placement.Brand) []byte { return b[:] }

// eachKnown calls fn with the known ids of a brand, in order.
func (r *reader) eachKnown(b placement.Brand, fn func(idEntry) error) error {
	numbers, err := r.registryNumbers(b)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		ids, err := r.idsIn(b, n)
		if err != nil {
			return err
		}
		for _, e := range ids {
			if err := fn(e); err != nil {
				return err
			}
		}
	}
	return nil
}
