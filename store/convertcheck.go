package store

import (
	"errors"
	"fmt"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// comparison compares a store with what it was converted from.
type comparison struct {
	*converter
	made   *Snapshot
	shared map[placement.Brand]map[uint64]idEntry // by sort key
}

// check compares the new store with the snapshot, id by id, and counts.
func (c *converter) check(events []Event) (err error) {
	made, err := c.to.Snapshot()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	m := comparison{c, made, make(map[placement.Brand]map[uint64]idEntry)}
	if err := m.events(events); err != nil {
		return err
	}
	if err := m.sets(); err != nil {
		return err
	}
	if err := m.fields(); err != nil {
		return err
	}
	return m.ids()
}

// differ is the error of a conversion that came out wrong.
func differ(format string, args ...any) error {
	return fmt.Errorf("the converted store differs: %s", fmt.Sprintf(format, args...))
}

func (m *comparison) events(events []Event) error {
	made, err := m.made.Events("")
	if err != nil {
		return err
	}
	if len(made) != len(events) {
		return differ("%d events, not %d", len(made), len(events))
	}
	m.done.Events = len(events)
	for i, e := range events {
		if made[i].Name != e.Name || made[i].Brand != e.Brand || made[i].Days != e.Days {
			return differ("event %q of %d days, not %q of %d", made[i].Name, made[i].Days, e.Name, e.Days)
		}
		days, err := m.from.Days(e, Period{MinDay, MaxDay})
		if err != nil {
			return err
		}
		for _, d := range days {
			if err := m.ctx.Err(); err != nil {
				return err
			}
			if err := m.day(e, made[i], d.Day); err != nil {
				return fmt.Errorf("event %q, day %s: %w", e.Name, d.Day, err)
			}
		}
		m.done.Days += len(days)
		m.done.Marks += made[i].Marks
	}
	return nil
}

func (m *comparison) day(was, is Event, day Day) error {
	before, err := m.from.dayBits(makeDayKey(was.number, day))
	if err != nil {
		return err
	}
	after, err := m.made.dayBits(makeDayKey(is.number, day))
	if err != nil {
		return err
	}
	return m.bits(was.Brand, before, after)
}

func (m *comparison) sets() error {
	before, err := m.from.savedSets()
	if err != nil {
		return err
	}
	after, err := m.made.savedSets()
	if err != nil {
		return err
	}
	if len(before) != len(after) {
		return differ("%d sets, not %d", len(after), len(before))
	}
	m.done.Sets = len(before)
	for i, was := range before {
		if is := after[i]; is.Name != was.Name || is.Brand != was.Brand {
			return differ("set %s, not %s", is.Name, was.Name)
		}
		a, err := m.from.setBits(was)
		if err != nil {
			return err
		}
		b, err := m.made.setBits(after[i])
		if err != nil {
			return err
		}
		if err := m.bits(was.Brand, a, b); err != nil {
			return fmt.Errorf("set %s: %w", was.Name, err)
		}
	}
	return nil
}

// bits compares the ids at positions of either store. In the hashed one of them all
// ids at a placement have its bit, so in the dense one those count as well.
func (m *comparison) bits(b placement.Brand, before, after *roaring.Bitmap) error {
	was, err := m.from.placementSet(b, before)
	if err != nil {
		return err
	}
	is, err := m.made.placementSet(b, after)
	if err != nil {
		return err
	}
	if !was.Equals(is) {
		return differ("%d placements, not %d, or others", is.GetCardinality(), was.GetCardinality())
	}
	var only *roaring.Bitmap
	if m.made.set.dense() {
		only = after
	}
	bits := m.from.set.registryBits()
	for a, z := was.Iterator(), is.Iterator(); a.HasNext(); {
		number := a.PeekNext() >> bits
		want, err := m.from.entriesIn(b, number, a, nil)
		if err != nil {
			return err
		}
		got, err := m.made.entriesIn(b, number, z, only)
		if err != nil {
			return err
		}
		if !slices.EqualFunc(got, want, sameID) {
			return differ("%d ids in chunk %d of the registry, not %d, or others", len(got), number, len(want))
		}
		m.noteShared(b, want)
	}
	return nil
}

func sameID(a, b idEntry) bool { return a.mixed == b.mixed && a.id == b.id }

// noteShared notes the ids, ascending, that stand at one placement.
func (m *comparison) noteShared(b placement.Brand, ids []idEntry) {
	for i := 1; i < len(ids); i++ {
		if ids[i].mixed.Placement() != ids[i-1].mixed.Placement() {
			continue
		}
		if m.shared[b] == nil {
			m.shared[b] = make(map[uint64]idEntry)
		}
		for _, e := range ids[i-1 : i+1] {
			m.shared[b][sortKey(e.mixed)] = e
		}
	}
}

// ids compares the registries, and lists the ids that share bits.
func (m *comparison) ids() error {
	before, err := m.from.Brands()
	if err != nil {
		return err
	}
	after, err := m.made.Brands()
	if err != nil {
		return err
	}
	if !slices.Equal(before, after) {
		return differ("brands %v, not %v", after, before)
	}
	for _, n := range before {
		m.done.IDs += n.IDs
		numbers, err := m.from.registryNumbers(n.Brand)
		if err != nil {
			return err
		}
		for _, number := range numbers {
			want, err := m.from.idsIn(n.Brand, number)
			if err != nil {
				return err
			}
			got, err := m.made.idsIn(n.Brand, number)
			if err != nil {
				return err
			}
			if !slices.EqualFunc(got, want, sameID) {
				return differ("%d ids in chunk %d of the registry of brand %q, not %d, or others", len(got), number, n.Brand, len(want))
			}
		}
		if err := m.listShared(n.Brand); err != nil {
			return err
		}
	}
	return nil
}

func (m *comparison) listShared(b placement.Brand) error {
	var keys []uint64
	for k := range m.shared[b] {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		id, err := m.from.idOrResidue(b, m.shared[b][k])
		if err != nil {
			return err
		}
		m.done.Shared = append(m.done.Shared, id)
	}
	return nil
}
