package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"cohort/placement"

	bolt "go.etcd.io/bbolt"
)

// ids checks the registry: the order and the place of its ids, and their counts.
func (v *verifier) ids(ctx context.Context) error {
	v.check("counts of brands", func() error {
		c := v.brands().Cursor()
		for key, value := c.First(); key != nil; key, value = c.Next() {
			where := brandName(key)
			want, ok := unsealBrand(key, value)
			switch {
			case !ok || len(key) != 3:
				v.fault(where, corruptf("counts: checksum does not hold"))
				continue
			case v.isBroken(bucketRegistry, key):
				continue
			case v.registry().Bucket(key) == nil:
				if want.first > 0 {
					v.fault(where, corruptf("its registry is missing"))
				}
				continue
			}
			got, err := v.brandIDs(ctx, placement.Brand(key), v.registry().Bucket(key))
			if err != nil {
				return err
			}
			if v.set.dense() && !v.isBroken(bucketOrdinals, key) {
				v.check("ordinals of "+where, func() error { return v.checkTable(placement.Brand(key), want.first) })
			}
			v.done.IDs += got.first
			if got != want.pair {
				v.fault(where, corruptf("%d ids at %d placements, where %d at %d are noted", got.first, got.second, want.first, want.second))
			}
		}
		return nil
	})
	v.check("registry", func() error {
		c := v.registry().Cursor()
		for key, _ := c.First(); key != nil; key, _ = c.Next() {
			if v.brands().Get(key) == nil {
				v.fault(brandName(key), corruptf("a registry without counts"))
			}
		}
		return nil
	})
	return ctx.Err()
}

// brandIDs checks the registry chunks of a brand and counts what is in them.
func (v *verifier) brandIDs(ctx context.Context, b placement.Brand, bucket *bolt.Bucket) (got pair, err error) {
	last := -1
	c := bucket.Cursor()
	for key, value := c.First(); key != nil; key, value = c.Next() {
		if err := ctx.Err(); err != nil {
			return got, err
		}
		number, ok := parseChunkKey(key)
		if !ok || int(number) <= last || number >= 1<<(32-v.set.registryBits()) {
			v.fault("registry of "+brandName(b[:]), corruptf("key %x is that of no chunk, or out of order", key))
			continue
		}
		last = int(number)
		v.check(fmt.Sprintf("registry of %s, chunk %d", brandName(b[:]), number), func() error {
			ids, err := v.foldedIDs(b, number, value)
			if err != nil {
				return err
			}
			got.first += uint64(len(ids))
			got.second += placementsOf(ids)
			return v.checkIDs(b, number, ids)
		})
	}
	return got, nil
}

// checkIDs checks the ids of a registry chunk.
func (v *verifier) checkIDs(b placement.Brand, number uint32, ids []idEntry) error {
	if len(ids) == 0 {
		return corruptf("a chunk without ids")
	}
	for i, e := range ids {
		at := e.mixed.Placement()
		if at>>v.set.registryBits() != number || i > 0 && e.compare(ids[i-1]) <= 0 {
			return corruptf("id %d of %d, at placement %d, is out of order", i, len(ids), at)
		}
		if v.set.dense() {
			if err := v.checkOrdinal(b, e); err != nil {
				return err
			}
		}
		switch {
		case v.set.keepStrings():
			if _, mixed, err := v.set.ids.Parse(e.id); err != nil || mixed != e.mixed {
				return corruptf("id %d of %d, at placement %d, has another string", i, len(ids), at)
			}
		case v.set.ids != placement.String:
			if _, err := v.idOf(b, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkOrdinal checks that the table of ordinals leads from an id's position to its
// placement.
func (v *verifier) checkOrdinal(b placement.Brand, e idEntry) error {
	if uint64(e.pos) >= v.view.ordinalsOf(b).folded {
		return nil // the journal has it
	}
	t, err := v.openOrdinals(b, e.pos>>ordinalBits)
	if err != nil {
		return err
	}
	if i := int(e.pos & (1<<ordinalBits - 1)); t.placement(i) != e.mixed.Placement() {
		return corruptf("ordinal %d is of placement %d, its id is at %d", e.pos, t.placement(i), e.mixed.Placement())
	}
	return nil
}

// checkTable checks the table of a brand's ordinals: every known id has one.
func (v *verifier) checkTable(b placement.Brand, folded uint64) error {
	o := v.view.ordinalsOf(b)
	var erased uint64
	for first := uint64(0); first < o.folded; first += 1 << ordinalBits {
		t, err := v.openOrdinals(b, uint32(first>>ordinalBits))
		if err != nil {
			return err
		}
		last := -1
		for e := t.erased; len(e) > 0; e = e[2:] {
			at := int(binary.LittleEndian.Uint16(e))
			if at <= last || at >= t.n || t.placement(at) != 0 {
				return corruptf("ordinal %d is not erased as it should be", first+uint64(at))
			}
			last = at
			erased++
		}
	}
	ids := folded
	if u, ok := v.view.ids.Get(brandKey(b)); ok {
		ids += u.counts.first
	}
	if ids != o.next-erased {
		return corruptf("%d ids, %d ordinals of which %d are erased", ids, o.next, erased)
	}
	return nil
}

// records checks the journal: its records, their numbers, and what they are about;
// and the fold marks.
func (v *verifier) records(context.Context) error {
	var numbers []uint64
	v.check("journal", func() error {
		c := v.journal().Cursor()
		for key, value := c.First(); key != nil; key, value = c.Next() {
			if len(key) != 8 {
				v.fault("journal", corruptf("a key of %d bytes", len(key)))
				continue
			}
			seq := binary.BigEndian.Uint64(key)
			v.done.Records++
			numbers = append(numbers, seq)
			p, ok := unseal(tagJournal, key, value)
			if !ok {
				v.fault(fmt.Sprintf("journal record %d", seq), corruptf("checksum does not hold"))
				continue
			}
			v.record(logEntry{seq, p})
		}
		return nil
	})
	v.check("log beside the file", func() error {
		entries, floor, err := v.logEntries()
		for _, e := range entries {
			v.done.Records++
			numbers = append(numbers, e.seq)
			v.record(e)
		}
		if err != nil || floor >= v.view.seq {
			return err
		}
		needed := slices.DeleteFunc(numbers, func(n uint64) bool { return n <= floor })
		if got, want := uint64(len(needed)), v.view.seq-floor; got != want {
			return corruptf("%d of %d records that are not folded are missing", want-min(got, want), want)
		}
		return nil
	})
	v.check("fold marks", func() error {
		c := v.folded().Cursor()
		for key, value := c.First(); key != nil; key, value = c.Next() {
			k, ok := parseDayKey(key)
			seq, err := unsealFolded(key, value)
			if err == nil && (!ok || seq > v.view.seq) {
				err = corruptf("a fold mark for record %d, the last is %d", seq, v.view.seq)
			}
			if err != nil {
				v.fault(v.where(k), err)
			}
		}
		return nil
	})
	return nil
}

// record checks what a journal record is about: its marks registered their ids.
func (v *verifier) record(e logEntry) {
	v.check(fmt.Sprintf("journal record %d", e.seq), func() error {
		groups, err := openRecord(v.set, e.seq, e.payload)
		if err != nil || e.seq <= v.view.floor {
			return err
		}
		for _, g := range groups {
			if g.op == opVisit {
				continue
			}
			if ev, ok := v.names[g.key.event()]; ok && g.op < opVisit && ev.brand != g.brand {
				return corruptf("ids of brand %q for event %q", g.brand, ev.name)
			}
			for _, id := range g.ids {
				if g.op != opMark && g.op != opField {
					continue
				}
				at, err := v.known(g.brand, id.mixed)
				if err == nil && (!at.self || at.pos != id.pos) {
					err = corruptf("a mark of an id that is not known at position %d", id.pos)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// logEntries reads the records of the log beside the file that the view has and the
// chunks may not have: those above floor. None is written meanwhile.
func (v *verifier) logEntries() (entries []logEntry, floor uint64, err error) {
	v.db.viewMu.Lock()
	defer v.db.viewMu.Unlock()
	floor = max(v.view.floor, v.db.view.Load().floor)
	if v.db.journal == nil {
		return nil, floor, nil
	}
	l, entries, err := openLog(v.db.logPath, v.db.opts.openLog, v.db.journal.id, floor, true)
	if err != nil {
		return nil, floor, err
	}
	kept := entries[:0]
	for _, e := range entries {
		if e.seq <= v.view.seq {
			kept = append(kept, e)
		}
	}
	return kept, floor, l.close()
}

// brandName tells a brand by its key; that of string and number ids is "".
func brandName(key []byte) string {
	if len(key) == 3 {
		return fmt.Sprintf("brand %q", placement.Brand(key))
	}
	return fmt.Sprintf("brand %q", key)
}
