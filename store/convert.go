package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// Conversion says what Convert did, in figures.
type Conversion struct {
	Positions Positions // of the new store
	IDs       uint64
	Events    int
	Days      int    // with a bit, of all events
	Marks     uint64 // bits in the new store
	Sets      int
	Fields    int
	// Shared lists the ids that the hashed one of the two stores cannot tell from
	// another, by brand and placement: of a shared bit, it is not known whose marks
	// they are. Made dense, each of its ids has the marks; made hashed, one bit has
	// the marks of all.
	Shared []string
}

// errNumbers says why a store of numbers has no other kind.
var errNumbers = errors.New("number ids are their own positions: there is no other kind of such a store")

// Convert makes a store of the other kind at path, dense of a hashed one and hashed of
// a dense one, that holds what the snapshot does: events, days, ids, saved sets,
// fields and sketches. Then it compares the two id by id: the known ids, who was active
// on each day of each event and is in each set, and the values of each field. Ids of a
// dense store that have values and would share a placement are refused with ErrShared.
// The file takes its place when it is whole and compared; there must be none, or the
// error is ErrExist.
//
// Ids of a dense store get their ordinals by their first days. Memory is that of a
// Loader and the largest day. The journal of a store with sketches must be folded.
func (s *Snapshot) Convert(ctx context.Context, path string) (done Conversion, err error) {
	if s.set.ids == placement.Number {
		return done, errNumbers
	}
	if s.view.visits.Len() > 0 {
		return done, errors.New("visits are not folded yet: fold the store first")
	}
	if _, err := os.Lstat(path); err == nil {
		return done, fmt.Errorf("%s: %w", path, ErrExist)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".cohort-convert-*")
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(dir)
	temp := filepath.Join(dir, "store")
	to, err := Open(temp, s.otherKind())
	if err != nil {
		return done, err
	}
	c := converter{ctx: ctx, from: s, to: to, done: Conversion{Positions: to.set.positions}}
	err = c.run()
	if err := errors.Join(err, to.Close()); err != nil {
		return done, err
	}
	switch err := os.Link(temp, path); {
	case errors.Is(err, os.ErrExist):
		return done, fmt.Errorf("%s: %w", path, ErrExist)
	case err != nil: // a file system without hard links
		if err := os.Rename(temp, path); err != nil {
			return done, err
		}
	}
	return c.done, syncFile(filepath.Dir(path))
}

// otherKind returns the options of the store to make.
func (s *Snapshot) otherKind() *Options {
	o := &Options{
		IDs: s.set.ids, Positions: Dense, TimeZone: s.set.zone, WeekStart: s.set.weekStart, DropStrings: s.set.dropStrings,
		SketchPrecision: int(s.db.precision), Create: CreateOnly, Now: s.db.opts.Now, Logger: s.db.log, FoldAge: -1, RememberEvery: -1,
	}
	if s.set.dense() {
		o.Positions = Hashed
	}
	return o
}

// converter copies a snapshot into an empty store.
type converter struct {
	ctx  context.Context // of Convert
	from *Snapshot
	to   *DB
	done Conversion
}

func (c *converter) run() error {
	events, err := c.from.Events("")
	if err != nil {
		return err
	}
	for _, step := range []func([]Event) error{c.copyDays, c.copyIDs, c.bindEvents, c.copySets, c.copyFields, c.copySketches, c.check} {
		if err := guard("convert", func() error { return step(events) }); err != nil {
			return err
		}
	}
	return nil
}

// copyDays marks what is marked, day by day: the first ids get the first ordinals.
func (c *converter) copyDays(events []Event) error {
	type eventDay struct {
		event Event
		day   Day
	}
	var days []eventDay
	for _, e := range events {
		counts, err := c.from.Days(e, Period{MinDay, MaxDay})
		if err != nil {
			return err
		}
		for _, d := range counts {
			days = append(days, eventDay{e, d.Day})
		}
	}
	slices.SortStableFunc(days, func(a, b eventDay) int { return cmp.Compare(a.day, b.day) })
	l, err := c.to.Load(c.ctx)
	if err != nil {
		return err
	}
	for _, d := range days {
		if err := c.copyDay(l, d.event, d.day); err != nil {
			_, closeErr := l.Close()
			return errors.Join(err, closeErr)
		}
	}
	_, err = l.Close()
	return err
}

func (c *converter) copyDay(l *Loader, e Event, day Day) error {
	positions, err := c.from.dayBits(makeDayKey(e.number, day))
	if err != nil {
		return err
	}
	event, ok := l.events[e.Name]
	if !ok {
		event = &loadEvent{name: e.Name, brand: e.Brand, bound: true}
		l.events[e.Name] = event
	}
	return c.from.eachEntry(e.Brand, positions, func(ids []idEntry) error {
		for _, id := range ids {
			if err := l.add(event, id.mixed, id.id, day); err != nil {
				return err
			}
		}
		return nil
	})
}

// dayBits returns all positions of a day.
func (r *reader) dayBits(k dayKey) (*roaring.Bitmap, error) {
	defer r.unlist(k)
	numbers, err := r.sortedChunks(k)
	if err != nil {
		return nil, err
	}
	return joined(numbers, func(n uint32) (*roaring.Bitmap, error) { return r.dayChunk(k, n) })
}

// setBits returns all positions of a saved set.
func (r *reader) setBits(set SavedSet) (*roaring.Bitmap, error) {
	numbers, err := r.setNumbers(set)
	if err != nil {
		return nil, err
	}
	return joined(numbers, func(n uint32) (*roaring.Bitmap, error) { return r.setChunk(set, n) })
}

func joined(numbers []uint32, chunk func(n uint32) (*roaring.Bitmap, error)) (*roaring.Bitmap, error) {
	parts := make([]*roaring.Bitmap, len(numbers))
	for i, n := range numbers {
		var err error
		if parts[i], err = chunk(n); err != nil {
			return nil, err
		}
	}
	return roaring.FastOr(parts...), nil
}

// eachEntry calls f with the known ids at some positions, by chunks of the registry.
func (r *reader) eachEntry(b placement.Brand, positions *roaring.Bitmap, f func([]idEntry) error) error {
	placements, err := r.placementSet(b, positions)
	if err != nil {
		return err
	}
	var only *roaring.Bitmap
	if r.set.dense() {
		only = positions
	}
	for it := placements.Iterator(); it.HasNext(); {
		ids, err := r.entriesIn(b, it.PeekNext()>>r.set.registryBits(), it, only)
		if err == nil {
			err = f(ids)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyIDs makes the ids known that have no mark.
func (c *converter) copyIDs([]Event) error {
	brands, err := c.from.brandList()
	if err != nil {
		return err
	}
	for _, b := range brands {
		numbers, err := c.from.registryNumbers(b)
		if err != nil {
			return err
		}
		var ids []idEntry
		for i, n := range numbers {
			more, err := c.from.idsIn(b, n)
			if err != nil {
				return err
			}
			ids = append(ids, more...)
			if len(ids) < journalMax && i < len(numbers)-1 {
				continue
			}
			if err := c.register(b, ids); err != nil {
				return err
			}
			ids = ids[:0]
		}
	}
	return nil
}

func (c *converter) register(b placement.Brand, ids []idEntry) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	return c.to.rewrite("convert", func(w *writer) (bool, error) {
		_, err := w.positionsOf(b, ids)
		return true, err
	})
}

// bindEvents makes the events that have no day.
func (c *converter) bindEvents(events []Event) error {
	return c.to.update("convert", func(w *writer) (bool, error) {
		for _, e := range events {
			if _, err := w.bindEvent(e.Name, "", e.Brand); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

func (c *converter) copySets([]Event) error {
	sets, err := c.from.savedSets()
	if err != nil {
		return err
	}
	for _, set := range sets {
		positions, err := c.from.setBits(set)
		if err != nil {
			return fmt.Errorf("set %s: %w", set.Name, err)
		}
		var ids []idEntry
		err = c.from.eachEntry(set.Brand, positions, func(more []idEntry) error {
			ids = append(ids, more...)
			return c.ctx.Err()
		})
		if err != nil {
			return fmt.Errorf("set %s: %w", set.Name, err)
		}
		_, err = c.to.saveSet(c.ctx, set.Name, func(w *writer) (SavedSet, error) {
			w.draft.chunks = w.draft.txid // as DB.rewrite does
			positions, err := w.positionsOf(set.Brand, ids)
			if err != nil {
				return SavedSet{}, err
			}
			return w.putSet(set.Name, set.Brand, roaring.BitmapOf(positions...))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copySketches copies the buckets of sketches, which know of no positions, a day a
// transaction.
func (c *converter) copySketches([]Event) error {
	if c.from.pages() == nil {
		return nil
	}
	err := c.to.update("convert", func(w *writer) (bool, error) {
		if err := w.createSketches(); err != nil {
			return false, err
		}
		for _, name := range sketchBuckets {
			if err := copyValues(c.from.tx.Bucket(name), w.tx.Bucket(name)); err != nil {
				return false, fmt.Errorf("bucket %q: %w", name, err)
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return c.from.tx.Bucket(bucketSketches).ForEachBucket(func(day []byte) error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		return c.to.update("convert", func(w *writer) (bool, error) {
			to, err := w.tx.Bucket(bucketSketches).CreateBucket(day)
			if err == nil {
				err = copyValues(c.from.tx.Bucket(bucketSketches).Bucket(day), to)
			}
			return true, err
		})
	})
}

// copyValues copies the values of a bucket, but not the buckets in it.
func copyValues(from, to *bolt.Bucket) error {
	if err := to.SetSequence(from.Sequence()); err != nil {
		return err
	}
	return from.ForEach(func(k, v []byte) error {
		if v == nil {
			return nil
		}
		return to.Put(k, v)
	})
}
