package store

import (
	"fmt"
	"slices"
)

// firstChange is what the firsts of a day within one chunk become.
type firstChange struct {
	number        uint32
	day           Day
	value         []byte // sealed, nil where none are left
	before, after int    // positions
	bytes         int    // of the value before
}

// putFirsts writes changes of an event's firsts and of their totals.
func (w *writer) putFirsts(event uint32, changes []firstChange) error {
	b, err := w.firstsBucket(event)
	if err != nil {
		return err
	}
	totals := make(map[Day]dayTotal)
	for _, c := range changes {
		key := firstKey(c.number, c.day)
		if c.value == nil {
			err = b.Delete(key)
		} else {
			err = b.Put(key, c.value)
		}
		if err != nil {
			return fmt.Errorf("first days, chunk %d: %w", c.number, err)
		}
		t := totals[c.day]
		t.cardinality += int64(c.after - c.before)
		t.bytes += int64(len(c.value) - c.bytes)
		totals[c.day] = t
	}
	return w.addFirstTotals(event, totals)
}

// eraseFirst removes a position, of an id that is erased, from what is kept of an
// event's first days.
func (w *writer) eraseFirst(event, pos uint32) error {
	if _, ok, err := w.keptRecord(firstsKey(event)); !ok || err != nil {
		return err
	}
	number := pos >> w.set.chunkBits()
	kept, err := w.keptFirsts(event, number, Period{MinDay, MaxDay})
	if err != nil {
		return err
	}
	for _, k := range kept {
		list, err := k.chunk.list(nil)
		if err != nil {
			return err
		}
		i, ok := slices.BinarySearch(list, pos)
		if !ok {
			continue
		}
		c := firstChange{
			number: number, day: k.day, before: len(list), after: len(list) - 1,
			bytes: sealSize + chunkHeader + len(k.chunk.data),
		}
		if c.value, err = w.set.sealFirsts(event, number, k.day, slices.Delete(list, i, i+1)); err != nil {
			return err
		}
		return w.putFirsts(event, []firstChange{c})
	}
	return nil
}

func (w *writer) addFirstTotals(event uint32, totals map[Day]dayTotal) error {
	b, err := w.createLater(bucketFirstTotals)
	if err != nil {
		return err
	}
	rec, ok, err := w.keptRecord(firstsKey(event))
	if err != nil || !ok {
		return err
	}
	for d, t := range totals {
		key := makeDayKey(event, d).bytes()
		v, err := lookup(b, key, firstTotalHolds)
		if err != nil {
			return err
		}
		var had pair
		if v != nil {
			if had, ok = unsealPair(tagFirstTotal, key, v); !ok {
				return corruptf("the number of first days on %s: checksum does not hold", d)
			}
		}
		sum := pair{had.first + uint64(t.cardinality), had.second + uint64(t.bytes)}
		if sum.first == 0 {
			err = b.Delete(key)
		} else {
			err = b.Put(key, sum.seal(tagFirstTotal, key))
		}
		if err != nil {
			return fmt.Errorf("number of first days on %s: %w", d, err)
		}
		rec.cardinality += uint64(t.cardinality)
		rec.bytes += uint64(t.bytes)
	}
	return w.putKept(firstsKey(event), rec)
}

// sealFirsts encodes the firsts of a day within one chunk.
func (s settings) sealFirsts(event, number uint32, d Day, positions []uint32) ([]byte, error) {
	return sealPositionsAs(tagFirst, firstSealKey(event, firstKey(number, d)), number, s, positions)
}
