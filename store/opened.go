package store

import (
	"maps"
	"sync"
	"sync/atomic"

	"cohort/placement"

	bolt "go.etcd.io/bbolt"
)

// opened are what a reader has found before. Of names only those that are there are
// kept; of buckets and chunks also that there is none, which a new day's are until
// they are folded.
type opened struct {
	events found[string, eventRecord]
	days   found[dayKey, *bolt.Bucket]          // of chunks
	brands found[placement.Brand, *bolt.Bucket] // of registry chunks
	chunks found[chunkBlock, *block[chunk]]
	ids    found[idsBlock, *block[idsValue]]
	pages  sync.Map // key of a page -> its number
}

// found is a map that is read many times as often as it is added to: mostly its readers
// share nothing that is written. The zero found is empty.
type found[K comparable, V any] struct {
	all    atomic.Pointer[map[K]V] // never changed, but replaced
	mu     sync.Mutex              // guards what follows, and who replaces all
	added  map[K]V                 // not in all yet
	missed int                     // how often all lacked what was asked for
}

// foundMost bounds a found, whose buckets or blocks take up to 4 MB then.
const foundMost = 2048

// get returns what there is of the key.
func (f *found[K, V]) get(key K) (V, bool) {
	if v, ok := f.shared()[key]; ok {
		return v, true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.look(key)
}

// add keeps what fresh returns, unless somebody was quicker, and returns what is kept. ok
// is false where there is no room.
func (f *found[K, V]) add(key K, fresh func() V) (v V, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v, ok := f.look(key); ok {
		return v, true
	}
	if len(f.shared())+len(f.added) >= foundMost {
		return v, false
	}
	if f.added == nil {
		f.added = make(map[K]V)
	}
	v = fresh()
	f.added[key] = v
	f.share()
	return v, true
}

// keep returns what there is of the key, or else what open finds, and keeps that.
func (f *found[K, V]) keep(key K, open func() (V, error)) (V, error) {
	if v, ok := f.get(key); ok {
		return v, nil
	}
	v, err := open()
	if err == nil {
		f.add(key, func() V { return v })
	}
	return v, err
}

// shared is what is read without the lock.
func (f *found[K, V]) shared() map[K]V {
	if all := f.all.Load(); all != nil {
		return *all
	}
	return nil
}

// look finds what shared lacked, with the lock.
func (f *found[K, V]) look(key K) (V, bool) {
	f.missed++
	if v, ok := f.added[key]; ok {
		f.share()
		return v, true
	}
	v, ok := f.shared()[key] // it may have come just now
	return v, ok
}

// share makes what was added readable without the lock, once as many asked in vain as an
// eighth of what there is to copy: each of them pays for eight.
func (f *found[K, V]) share() {
	before := f.shared()
	if 8*f.missed < len(before) {
		return
	}
	all := make(map[K]V, len(before)+len(f.added))
	maps.Copy(all, before)
	maps.Copy(all, f.added)
	f.all.Store(&all)
	f.added, f.missed = nil, 0
}

// blockBits tells how many chunks with numbers next to each other are a block.
const blockBits = 8

// block is the chunks of one block that were looked up.
type block[V any] struct {
	chunks [1 << blockBits]atomic.Pointer[V] // nil where one was not looked up
	none   V                                 // what stands for a chunk that is not there
}

// chunkBlock and idsBlock are the names of blocks: number is that of a chunk without
// its last bits.
type chunkBlock struct {
	day    dayKey
	number uint32
}

type idsBlock struct {
	brand  placement.Brand
	number uint32
}

// keepChunk returns a chunk of a block, which it has open find if need be.
func keepChunk[K comparable, V any](blocks *found[K, *block[V]], key K, number uint32, open func() (*V, error)) (*V, error) {
	b, ok := blocks.get(key)
	if !ok {
		if b, ok = blocks.add(key, func() *block[V] { return new(block[V]) }); !ok {
			return open()
		}
	}
	slot := &b.chunks[number%(1<<blockBits)]
	switch v := slot.Load(); v {
	case nil:
	case &b.none:
		return nil, nil
	default:
		return v, nil
	}
	v, err := open()
	switch {
	case err != nil:
	case v == nil:
		slot.Store(&b.none)
	default:
		slot.Store(v)
	}
	return v, err
}

// foldedChunk returns a chunk of a day, or nil where it has none.
func (r *reader) foldedChunk(k dayKey, number uint32) (*chunk, error) {
	if r.opened == nil {
		return r.readChunk(k, number)
	}
	return keepChunk(&r.opened.chunks, chunkBlock{k, number >> blockBits}, number, func() (*chunk, error) { return r.readChunk(k, number) })
}

// registryChunk returns a chunk of a brand's registry, or nil where it has none.
func (r *reader) registryChunk(b placement.Brand, number uint32) (*idsValue, error) {
	if r.opened == nil {
		return r.readIDs(b, number)
	}
	return keepChunk(&r.opened.ids, idsBlock{b, number >> blockBits}, number, func() (*idsValue, error) { return r.readIDs(b, number) })
}

// chunkBucket returns the bucket of a day's chunks, or nil where none is folded.
func (r *reader) chunkBucket(k dayKey) (*bolt.Bucket, error) {
	if r.opened == nil {
		return r.openChunkBucket(k)
	}
	return r.opened.days.keep(k, func() (*bolt.Bucket, error) { return r.openChunkBucket(k) })
}

// brandBucket returns the bucket of a brand's registry chunks, or nil where none
// is folded.
func (r *reader) brandBucket(b placement.Brand) (*bolt.Bucket, error) {
	if r.opened == nil {
		return r.openBrandBucket(b)
	}
	return r.opened.brands.keep(b, func() (*bolt.Bucket, error) { return r.openBrandBucket(b) })
}

// event returns the record of the named event; ok is false where it was never
// written.
func (r *reader) event(name string) (e eventRecord, ok bool, err error) {
	if r.opened != nil {
		if e, ok = r.opened.events.get(name); ok {
			return e, true, nil
		}
	}
	e, err = r.openEvent(name)
	ok = err == nil && e.number != 0
	if ok && r.opened != nil {
		r.opened.events.add(name, func() eventRecord { return e })
	}
	return e, ok, err
}

// keep returns what m has of the key, or else what open finds, which it keeps
// unless it is the zero value.
func keep[K, V comparable](m *sync.Map, key K, open func() (V, error)) (V, error) {
	if v, ok := m.Load(key); ok {
		return v.(V), nil
	}
	v, err := open()
	var none V
	if err == nil && v != none {
		m.Store(key, v)
	}
	return v, err
}
