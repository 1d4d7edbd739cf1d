package main

import (
	"context"
	"fmt"
	"strconv"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// setLoad marks the ids of sets with one event, on one day.
type setLoad struct {
	app     *app
	db      *store.DB
	event   string
	day     store.Day
	brand   placement.Brand // of the ids, in a store of others than numbers
	sets    []namedSet
	bar     *progress
	refused *refusals
	figures

	first uint32 // the first placement that was refused
}

// namedSet is the set of a file.
type namedSet struct {
	file string
	set  *roaring.Bitmap
}

// mark marks all sets; a row is an id, or a placement without one.
func (l *setLoad) mark(ctx context.Context, loader rowLoader, bar *progress) error {
	l.bar = bar
	one := l.numbers
	if l.db.Config().IDs != placement.Number {
		one = l.placements
	}
	for _, s := range l.sets {
		if err := one(ctx, loader, s); err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
	}
	return nil
}

// size returns the number of positions of all sets.
func (l *setLoad) size() (n uint64) {
	for _, s := range l.sets {
		n += s.set.GetCardinality()
	}
	return n
}

// checkEvery is after how many ids it is checked whether the context has ended, and
// shown how far it came.
const checkEvery = 1 << 16

// numbers marks a set of number ids.
func (l *setLoad) numbers(ctx context.Context, loader rowLoader, s namedSet) error {
	var digits []byte
	for n := range roaring.Values(s.set) {
		if l.rows%checkEvery == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.bar.at(int64(l.rows), l.rows)
		}
		digits = strconv.AppendUint(digits[:0], uint64(n), 10)
		if err := l.add(loader, string(digits)); err != nil {
			return err
		}
	}
	return nil
}

// add marks an id. What the store refuses of one, such as a future day, it would
// refuse of all.
func (l *setLoad) add(loader rowLoader, id string) error {
	if err := loader.Add(l.event, id, l.day); err != nil {
		return err
	}
	l.rows++
	return nil
}

// partBits is the width of a part of the placements, whose known ids are looked up
// at once. It is that of a chunk of the registry: of ten million ids 10,000 are in
// a part.
const partBits = 22

// placements marks the ids that are known at the placements of a set.
func (l *setLoad) placements(ctx context.Context, loader rowLoader, s namedSet) error {
	for first := uint64(0); first < placement.Placements; first += 1 << partBits {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := roaring.New()
		part.AddRange(first, first+1<<partBits)
		if part.And(s.set); part.IsEmpty() {
			continue
		}
		ids, err := l.known(part)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := l.add(loader, id); err != nil {
				return err
			}
		}
		if err := l.refuse(part); err != nil {
			return err
		}
		l.bar.at(int64(l.rows), l.rows)
	}
	return nil
}

// findBrand returns the brand of the ids: that of the event; of one never written,
// the only brand of which an id is known, or none.
func (l *setLoad) findBrand() (b placement.Brand, err error) {
	snap, err := l.db.Snapshot()
	if err != nil {
		return b, err
	}
	defer closeInto(&err, snap)
	e, ok, err := snap.Event(l.event)
	if err != nil || ok {
		return e.Brand, err
	}
	brands, err := snap.Brands()
	if err != nil || len(brands) == 0 {
		return b, err
	}
	if len(brands) > 1 {
		return b, fmt.Errorf("the store knows ids of %v, %v and perhaps others, and the event %q is of none yet: mark an id of its brand first",
			brands[0].Brand, brands[1].Brand, l.event)
	}
	return brands[0].Brand, nil
}

// known returns the known ids at some placements, and removes the placements at
// which there are any.
func (l *setLoad) known(at *roaring.Bitmap) (ids []string, err error) {
	snap, err := l.db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, snap)
	kind, found := snap.Config().IDs, roaring.New()
	for id, err := range snap.MembersAt(l.brand, at) {
		if err != nil {
			return nil, err
		}
		_, mixed, err := kind.Parse(id)
		if err != nil {
			return nil, err
		}
		found.Add(mixed.Placement())
		ids = append(ids, id)
	}
	at.AndNot(found)
	return ids, nil
}

// refuse refuses placements at which no id is known.
func (l *setLoad) refuse(unknown *roaring.Bitmap) error {
	if unknown.IsEmpty() {
		return nil
	}
	if l.refused.total == 0 {
		l.first = unknown.Minimum()
	}
	l.rows += unknown.GetCardinality()
	if l.refused.rejects != nil {
		for n := range roaring.Values(unknown) {
			err := l.refused.write(string(ingest.BadID), strconv.FormatUint(uint64(n), 10), "", l.event, l.day.String())
			if err != nil {
				return err
			}
		}
	}
	if l.refused.count(ingest.BadID, unknown.GetCardinality()) {
		return fmt.Errorf("more than %d rows refused: no id is known at placement %d", l.refused.max, l.first)
	}
	return nil
}
