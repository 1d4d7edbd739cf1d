package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// verifiedEvent is an event whose record holds.
type verifiedEvent struct {
	name  string
	brand placement.Brand
}

// verifiedDay is a day whose total holds.
type verifiedDay struct {
	key   dayKey
	total pair
}

// where tells where a day stands.
func (v *verifier) where(k dayKey) string {
	if e, ok := v.names[k.event()]; ok {
		return fmt.Sprintf("event %q, %s", e.name, k.day())
	}
	return fmt.Sprintf("event %d, %s", k.event(), k.day())
}

// events checks the records of the events, and their numbers.
func (v *verifier) events(context.Context) error {
	v.names = make(map[uint32]verifiedEvent)
	v.check("events", func() error {
		c := v.reader.events().Cursor()
		for name, value := c.First(); name != nil; name, value = c.Next() {
			where := fmt.Sprintf("event %q", name)
			e, err := unsealEvent(name, value)
			if err == nil {
				err = CheckEvent(string(name))
			}
			if _, ok := v.names[e.number]; err == nil && (ok || uint64(e.number) > v.reader.events().Sequence()) {
				err = corruptf("its number %d is used twice, or will be", e.number)
			}
			if err != nil {
				v.fault(where, err)
				continue
			}
			v.names[e.number] = verifiedEvent{string(name), e.brand}
			v.done.Events++
		}
		return nil
	})
	return nil
}

// days checks that totals and days belong to each other and to an event, and that
// the totals are those of the chunks.
func (v *verifier) days(ctx context.Context) error {
	v.check("totals", func() error {
		c := v.totals().Cursor()
		for kb, value := c.First(); kb != nil; kb, value = c.Next() {
			k, ok := parseDayKey(kb)
			if !ok {
				v.fault("totals", corruptf("a key of %d bytes", len(kb)))
				continue
			}
			t, err := openTotal(k, value)
			if _, ok := v.names[k.event()]; err == nil && !(ok && k.day().Valid() && t.first > 0) {
				err = corruptf("%d bits of no event or no day", t.first)
			}
			if err != nil {
				v.fault(v.where(k), err)
				continue
			}
			v.listed = append(v.listed, verifiedDay{k, t})
			v.total += t.second
		}
		return nil
	})
	v.check("days", func() error {
		c := v.reader.days().Cursor()
		for kb, value := c.First(); kb != nil; kb, value = c.Next() {
			k, ok := parseDayKey(kb)
			_, listed := slices.BinarySearchFunc(v.listed, k, compareDay)
			if !ok || value != nil || !listed {
				v.fault(v.where(k), corruptf("chunks without a total"))
			}
		}
		return nil
	})
	for _, d := range v.listed {
		if err := ctx.Err(); err != nil {
			return err
		}
		v.done.Days++
		v.check(v.where(d.key), func() error {
			return v.checkSums(v.reader.days(), bucketDays, d.key.bytes(), d.total)
		})
	}
	return nil
}

func compareDay(d verifiedDay, k dayKey) int {
	switch {
	case d.key < k:
		return -1
	case d.key > k:
		return 1
	}
	return 0
}

// checkSums compares what the chunks in a bucket say to hold, and their bytes, with
// what was noted.
func (v *verifier) checkSums(of *bolt.Bucket, name, key []byte, want pair) error {
	if v.isBroken(name, key) {
		return nil // it was reported
	}
	bucket := of.Bucket(key)
	if bucket == nil {
		return corruptf("its chunks are missing")
	}
	numbers, sum, err := listChunks(bucket, nil)
	if n := len(numbers); err == nil && n > 0 && numbers[n-1] >= 1<<(32-v.set.chunkBits()) {
		err = corruptf("chunk %d is past the last that there can be", numbers[n-1])
	}
	if err != nil {
		return err
	}
	got := pair{first: sum}
	c := bucket.Cursor()
	for k, value := c.First(); k != nil; k, value = c.Next() {
		got.second += uint64(len(value))
	}
	if got != want {
		return corruptf("%d bits in chunks of %d bytes, where %d in %d are noted", got.first, got.second, want.first, want.second)
	}
	return nil
}

// sets checks the records of the saved sets, and that they are those of their chunks.
func (v *verifier) sets(context.Context) error {
	named := make(map[string]bool)
	v.check("saved sets", func() error {
		bucket := v.reader.sets()
		if bucket == nil {
			return nil
		}
		c := bucket.Cursor()
		for name, value := c.First(); name != nil; name, value = c.Next() {
			v.done.Sets++
			named[string(name)] = true
			v.check(fmt.Sprintf("set %q", name), func() error {
				rec, err := unsealSet(name, value)
				if err == nil {
					err = CheckSetName(string(name))
				}
				if err != nil || rec.cardinality == 0 && rec.bytes == 0 {
					return err
				}
				v.total += rec.bytes
				if v.setChunks() == nil {
					return corruptf("its chunks are missing")
				}
				return v.checkSums(v.setChunks(), bucketSetChunks, name, pair{rec.cardinality, rec.bytes})
			})
		}
		return nil
	})
	v.check("chunks of saved sets", func() error {
		bucket := v.setChunks()
		if bucket == nil {
			return nil
		}
		c := bucket.Cursor()
		for name, _ := c.First(); name != nil; name, _ = c.Next() {
			if !named[string(name)] {
				v.fault(fmt.Sprintf("set %q", name), corruptf("chunks without a record"))
			}
		}
		return nil
	})
	return nil
}

// seenAtOnce is of how many ids the placements are held while chunks are checked.
const seenAtOnce = 8 << 20

// chunks checks the chunks of days and saved sets, brand by brand, and a part of the
// positions after the other where the brand has many ids.
func (v *verifier) chunks(ctx context.Context) error {
	sets, err := v.savedSets()
	if err != nil {
		sets = nil // it was reported
	}
	var brands []placement.Brand
	for _, e := range v.names {
		brands = append(brands, e.brand)
	}
	for _, s := range sets {
		brands = append(brands, s.Brand)
	}
	slices.SortFunc(brands, func(a, b placement.Brand) int { return bytes.Compare(a[:], b[:]) })
	for _, b := range slices.Compact(brands) {
		var ids uint64
		v.check(brandName(b[:]), func() error {
			n, err := v.foldedCounts(b)
			ids = n.first
			return err
		})
		all := uint64(1) << (32 - v.set.chunkBits())
		parts := min(1+ids/seenAtOnce, all)
		for i := range parts {
			p := chunkPart{brand: b, first: uint32(all * i / parts), end: uint32(all * (i + 1) / parts)}
			if err := v.part(ctx, p, sets); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunkPart is chunks of a brand, from first to before end.
type chunkPart struct {
	brand      placement.Brand
	first, end uint32
	seen       map[uint32]*roaring.Bitmap // known placements of each; nil where the registry is damaged
}

// part checks the chunks of a part, in all days and sets.
func (v *verifier) part(ctx context.Context, p chunkPart, sets []SavedSet) error {
	p.seen = make(map[uint32]*roaring.Bitmap)
	for _, d := range v.listed {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := d.key.bytes()
		if v.names[d.key.event()].brand != p.brand || v.isBroken(bucketDays, key) {
			continue
		}
		v.check(v.where(d.key), func() error {
			return v.bucketPart(v.where(d.key), v.reader.days().Bucket(key), p, true, func(number uint32, value []byte) (chunk, error) {
				return v.openChunk(d.key, number, value)
			})
		})
	}
	for _, s := range sets {
		name := []byte(s.Name)
		if s.Brand != p.brand || s.Count == 0 || v.setChunks() == nil || v.isBroken(bucketSetChunks, name) {
			continue
		}
		where := fmt.Sprintf("set %q", name)
		v.check(where, func() error {
			return v.bucketPart(where, v.setChunks().Bucket(name), p, false, func(number uint32, value []byte) (chunk, error) {
				return v.openSealed(tagSetChunk, setChunkSealKey(s.Name, number), number, v.set.chunkBits(), value)
			})
		})
	}
	return nil
}

// bucketPart checks the chunks of a part in a bucket, nil where that was found missing.
func (v *verifier) bucketPart(where string, bucket *bolt.Bucket, p chunkPart, marks bool, open func(uint32, []byte) (chunk, error)) error {
	if bucket == nil {
		return nil
	}
	c := bucket.Cursor()
	for key, value := c.Seek(chunkKey(p.first)); key != nil; key, value = c.Next() {
		number, ok := parseChunkKey(key)
		if !ok || number >= p.end {
			return nil // a bad key was reported
		}
		v.done.Chunks++
		v.check(fmt.Sprintf("%s, chunk %d", where, number), func() error {
			ch, err := open(number, value)
			if err != nil {
				return err
			}
			b, err := ch.bitmap()
			if err != nil {
				return err
			}
			if marks {
				v.done.Marks += b.GetCardinality()
			}
			return v.checkBits(b, number, p)
		})
		v.progress(len(value))
	}
	return nil
}

// checkBits checks that a chunk has bits, all of them in its range and of known ids.
func (v *verifier) checkBits(b *roaring.Bitmap, number uint32, p chunkPart) error {
	width := v.set.chunkBits()
	switch {
	case b.IsEmpty():
		return corruptf("a chunk without bits")
	case b.Minimum()>>width != number || b.Maximum()>>width != number:
		return corruptf("positions %d to %d belong to another chunk", b.Minimum(), b.Maximum())
	}
	seen, ok := p.seen[number]
	if !ok {
		if err := guarded(func() (err error) {
			seen, err = v.seenChunk(p.brand, number)
			return err
		}); err != nil {
			seen = nil // the registry is looked at by itself
		}
		p.seen[number] = seen
	}
	if seen == nil {
		return nil
	}
	if b.AndNot(seen); !b.IsEmpty() {
		return corruptf("%d bits of no known id, the first at position %d", b.GetCardinality(), b.Minimum())
	}
	return nil
}
