package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// SavedSet is a named set of ids without a date, as of a snapshot: bots, staff, a
// test group. It is a fact like a mark, and is kept until it is deleted.
type SavedSet struct {
	Name  string
	Brand placement.Brand // of its ids; zero also of an empty set that is of no brand
	Count uint64          // bits
	Bytes uint64          // of its chunks in the file
}

// SaveSet saves positions, as [Bits.Bitmap] gives them, as the set of a name, in
// place of the set that had it, and returns when that is on disk. Positions at which
// no id of the brand is known are left out: the ids may have been erased since the
// set was computed. The bitmap is not changed, and may be used again on return. In a
// store of branded ids the zero brand is for the empty set.
//
// Errors: ErrInvalidSet, ErrReadOnly, a bad brand, or why the commit failed; then
// the set of the name is what it was.
//
// Cost: one transaction, during which marks wait: the set's chunks are written, and
// the registry chunks where it has a position are decoded.
func (db *DB) SaveSet(ctx context.Context, name string, b placement.Brand, positions *roaring.Bitmap) (SavedSet, error) {
	if branded := db.set.ids == placement.Branded; branded == b.IsZero() && !(branded && positions.IsEmpty()) {
		return SavedSet{}, fmt.Errorf("set %s: brand %q in a store of %s ids", name, b, db.set.ids)
	}
	return db.saveSet(ctx, name, func(w *writer) (SavedSet, error) { return w.putSet(name, b, positions) })
}

// SaveIDs saves ids as the set of a name, in place of the set that had it, and
// returns when that is on disk. The ids are known from then on. Where a placement is
// shared, every id there belongs to the set. An error of the sequence, an id that
// Mark would refuse, or ids of two brands (ErrOtherBrand) save nothing and register
// none. No ids at all make the empty set.
//
// The sequence runs outside of any transaction, so it may read the store. Errors
// are those of SaveSet besides. Cost: 32 bytes of memory an id, and strings where
// they are kept; one transaction, which writes the set and the registry chunks of
// its new ids.
func (db *DB) SaveIDs(ctx context.Context, name string, ids iter.Seq2[string, error]) (SavedSet, error) {
	if err := CheckSetName(name); err != nil {
		return SavedSet{}, err
	}
	var brand placement.Brand
	var first string
	var entries []idEntry
	for id, err := range ids {
		if err != nil {
			return SavedSet{}, err
		}
		b, mixed, err := db.set.ids.Parse(id)
		if err != nil {
			return SavedSet{}, fmt.Errorf("set %s: %w", name, err)
		}
		if len(entries) == 0 {
			brand, first = b, strings.Clone(id)
		}
		if b != brand {
			return SavedSet{}, fmt.Errorf("set %s: %w: %q is of %v, %q of %v", name, ErrOtherBrand, first, brand, id, b)
		}
		e := idEntry{mixed: mixed}
		if db.set.keepStrings() {
			e.id = strings.Clone(id)
		}
		entries = append(entries, e)
	}
	return db.saveSet(ctx, name, func(w *writer) (SavedSet, error) {
		w.draft.chunks = w.draft.txid // as DB.rewrite does: the registry is written
		positions, err := w.positionsOf(brand, entries)
		if err != nil {
			return SavedSet{}, err
		}
		return w.putSet(name, brand, roaring.BitmapOf(positions...))
	})
}

// DeleteSet removes a saved set, and returns when that is on disk. Its ids stay
// known. ErrNoSet where there is none of the name.
func (db *DB) DeleteSet(ctx context.Context, name string) error {
	_, err := db.saveSet(ctx, name, func(w *writer) (SavedSet, error) {
		old, ok, err := w.savedSet(name)
		if err == nil && !ok {
			err = ErrNoSet
		}
		if err == nil {
			err = w.dropSet(old)
		}
		return old, err
	})
	return err
}

// saveSet runs fn, which writes the set of a name, in a transaction.
func (db *DB) saveSet(ctx context.Context, name string, fn func(w *writer) (SavedSet, error)) (set SavedSet, err error) {
	if err := CheckSetName(name); err != nil {
		return set, err
	}
	if err := db.enter(); err != nil {
		return set, err
	}
	defer db.leave()
	db.chunkMu.Lock()
	defer db.chunkMu.Unlock()
	if err := ctx.Err(); err != nil {
		return set, err
	}
	err = db.update("set "+name, func(w *writer) (bool, error) {
		set, err = fn(w)
		return true, err
	})
	if err != nil {
		return SavedSet{}, err
	}
	return set, nil
}

// Set returns the saved set of a name; ok is false where there is none.
func (s *Snapshot) Set(name string) (set SavedSet, ok bool, err error) {
	err = s.do("set "+name, func() error {
		set, ok, err = s.savedSet(name)
		return err
	})
	return set, ok && err == nil, err
}

// Sets lists the saved sets, in order of the names' bytes. Cost: one small record a
// set.
func (s *Snapshot) Sets() (sets []SavedSet, err error) {
	err = s.do("sets", func() error {
		sets, err = s.savedSets()
		return err
	})
	return sets, err
}

// SetChunkNumbers lists, ascending, the chunks in which a saved set has a bit. A set
// never saved has none. Cost: the checksum of every chunk, once while the store is open.
func (s *Snapshot) SetChunkNumbers(name string) (numbers []uint32, err error) {
	err = s.do("set "+name, func() error {
		set, _, err := s.savedSet(name)
		if err == nil {
			numbers, err = s.setNumbers(set)
		}
		return err
	})
	return numbers, err
}

// SetChunk returns a saved set as far as it lies in one chunk: the positions as they
// stand, in a bitmap that is the caller's. It is never nil.
func (s *Snapshot) SetChunk(name string, number uint32) (b *roaring.Bitmap, err error) {
	err = s.do("set "+name, func() error {
		set, _, err := s.savedSet(name)
		if err == nil {
			b, err = s.setChunk(set, number)
		}
		return err
	})
	return b, err
}

func (r *reader) savedSet(name string) (SavedSet, bool, error) {
	v, err := lookup(r.sets(), []byte(name), setHolds)
	if v == nil || err != nil {
		return SavedSet{}, false, err
	}
	rec, err := unsealSet([]byte(name), v)
	return SavedSet{name, rec.brand, rec.cardinality, rec.bytes}, true, err
}

func (r *reader) savedSets() (sets []SavedSet, err error) {
	bucket := r.sets()
	if bucket == nil {
		return nil, nil
	}
	c := bucket.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		rec, err := unsealSet(k, v)
		if err != nil {
			return nil, err
		}
		sets = append(sets, SavedSet{string(k), rec.brand, rec.cardinality, rec.bytes})
	}
	return sets, nil
}

// setBucket returns the chunks of a set, nil where it is empty.
func (r *reader) setBucket(set SavedSet) (bucket *bolt.Bucket, err error) {
	if set.Count == 0 {
		return nil, nil
	}
	if all := r.setChunks(); all != nil {
		bucket = all.Bucket([]byte(set.Name))
	}
	if bucket == nil {
		return nil, corruptf("its chunks are missing")
	}
	return bucket, r.isWholeSet(bucket, set)
}

// setNumbers lists the chunks of a set, which must add up to its cardinality. Their
// seals must hold: a number that was damaged would hide its chunk from whoever looks
// only into those that two sets have in common.
func (r *reader) setNumbers(set SavedSet) ([]uint32, error) {
	bucket, err := r.setBucket(set)
	if bucket == nil || err != nil {
		return nil, err
	}
	numbers, sum, err := listChunks(bucket, nil)
	if err == nil && sum != set.Count {
		err = corruptf("its chunks have %d bits, not %d", sum, set.Count)
	}
	for i := 0; err == nil && i < len(numbers); i++ {
		if !r.setChunkHolds(set.Name, chunkKey(numbers[i]), bucket.Get(chunkKey(numbers[i]))) {
			err = corruptf("chunk %d: checksum does not hold", numbers[i])
		}
	}
	if err != nil {
		return nil, err
	}
	return numbers, nil
}

// setChunkHolds reports whether the seal of a set's chunk fits its key.
func (r *reader) setChunkHolds(name string, key, value []byte) bool {
	n, ok := parseChunkKey(key)
	if ok {
		_, ok = r.verified.unseal(tagSetChunk, setChunkSealKey(name, n), value)
	}
	return ok
}

// setChunk returns one chunk of a set.
func (r *reader) setChunk(set SavedSet, number uint32) (*roaring.Bitmap, error) {
	bucket, err := r.setBucket(set)
	if bucket == nil || err != nil {
		return roaring.New(), err
	}
	v, err := lookup(bucket, chunkKey(number), func(key, value []byte) bool { return r.setChunkHolds(set.Name, key, value) })
	if v == nil || err != nil {
		return roaring.New(), err
	}
	c, err := r.openSealed(tagSetChunk, setChunkSealKey(set.Name, number), number, r.set.chunkBits(), v)
	if err != nil {
		return nil, err
	}
	return c.bitmap()
}

// putSet writes the known ones among some positions as a set, in place of the one
// of its name.
func (w *writer) putSet(name string, b placement.Brand, positions *roaring.Bitmap) (SavedSet, error) {
	old, ok, err := w.savedSet(name)
	if ok && err == nil {
		err = w.dropSet(old)
	}
	if err != nil {
		return SavedSet{}, err
	}
	set := SavedSet{Name: name, Brand: b}
	bits := w.set.chunkBits()
	for rest := positions.Iterator(); rest.HasNext(); {
		number := rest.PeekNext() >> bits
		var list []uint32
		for rest.HasNext() && rest.PeekNext()>>bits == number {
			list = append(list, rest.Next())
		}
		part := roaring.BitmapOf(list...)
		known, err := w.seenChunk(b, number)
		if err != nil {
			return SavedSet{}, err
		}
		part.And(known)
		if err := w.putSetChunk(&set, number, part); err != nil {
			return SavedSet{}, err
		}
	}
	return set, w.putSetRecord(set)
}

// putSetChunk writes a chunk of a set, empty or not, and counts it in the set.
func (w *writer) putSetChunk(set *SavedSet, number uint32, part *roaring.Bitmap) error {
	value, err := sealChunkAs(tagSetChunk, setChunkSealKey(set.Name, number), number, w.set.chunkBits(), part)
	if err != nil || value == nil {
		return err
	}
	bucket, err := w.tx.CreateBucketIfNotExists(bucketSetChunks)
	if err == nil {
		bucket, err = bucket.CreateBucketIfNotExists([]byte(set.Name))
	}
	if err == nil {
		err = bucket.Put(chunkKey(number), value)
	}
	if err != nil {
		return fmt.Errorf("chunk %d: %w", number, err)
	}
	set.Count += part.GetCardinality()
	set.Bytes += uint64(len(value))
	return nil
}

func (w *writer) putSetRecord(set SavedSet) error {
	bucket, err := w.tx.CreateBucketIfNotExists(bucketSets)
	if err != nil {
		return err
	}
	name := []byte(set.Name)
	return bucket.Put(name, setRecord{set.Brand, set.Count, set.Bytes}.seal(name))
}

// dropSet removes a set with its chunks.
func (w *writer) dropSet(set SavedSet) error {
	name := []byte(set.Name)
	err := w.sets().Delete(name)
	if all := w.setChunks(); all != nil && all.Bucket(name) != nil {
		err = errors.Join(err, all.DeleteBucket(name))
	}
	return err
}
