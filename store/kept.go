package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
)

// What is remembered of an event besides its days can all be worked out from
// them: the first days of its ids (firsts.go) and the unions of its closed
// periods (rollup.go). It lags behind the days, and never in the way of a write:
//
//   - Whoever changes the chunks of a day marks the day as stale, in the same
//     transaction. Where a bit was lost, the unions that may hold it drop their
//     chunk of it.
//   - Questions use what is remembered together with the stale days and what the
//     journal has, so that their answers are exact at any time.
//   - Remember, in the background or on demand, takes the stale days in.
//
// These buckets hold it. They are made when there is something to put into them.
//
//	stale        event number | day             -> changes u32
//	kept         event number | first day | kind -> whole u8, dropped u32, cardinality u64, bytes u64
//	rollups      event number | first day | kind -> bucket: chunk number -> chunk
//	firsts       event number                   -> bucket: chunk number | day -> chunk
//	firsttotals  event number | day             -> cardinality, bytes
var (
	bucketStale       = []byte("stale")
	bucketKept        = []byte("kept")
	bucketRollups     = []byte("rollups")
	bucketFirsts      = []byte("firsts")
	bucketFirstTotals = []byte("firsttotals")

	keptBuckets = [][]byte{bucketStale, bucketKept, bucketRollups, bucketFirsts, bucketFirstTotals}
)

const (
	tagStale      tag = 32
	tagKept       tag = 33
	tagRollup     tag = 34
	tagFirst      tag = 35
	tagFirstTotal tag = 36
)

// keptKind tells what is remembered: the first days, or the union of a period of
// some length.
type keptKind byte

const (
	keptFirsts keptKind = iota
	keptWeek
	keptMonth
	keptQuarter
	keptYear
)

// rollupKinds are the lengths of periods, each of which holds several of the one
// before or days.
var rollupKinds = [...]keptKind{keptWeek, keptMonth, keptQuarter, keptYear}

// period returns the period of the kind that contains a day, without days outside
// the years 1 to 9999.
func (k keptKind) period(d Day, start WeekStart) Period {
	var p Period
	year, month, _ := d.Date()
	switch k {
	case keptWeek:
		n := int(d) + 3 // day 0 is a Thursday
		if start == Sunday {
			n++
		}
		p.First = d - Day((n%7+7)%7)
		p.Last = p.First + 6
	case keptMonth:
		p = Period{Date(year, month, 1), Date(year, month+1, 1) - 1}
	case keptQuarter:
		first := (month-1)/3*3 + 1
		p = Period{Date(year, first, 1), Date(year, first+3, 1) - 1}
	case keptYear:
		p = Period{Date(year, time.January, 1), Date(year+1, time.January, 1) - 1}
	}
	return p.Intersect(Period{MinDay, MaxDay})
}

// keptKey names what is remembered. Of the first days the day is MinDay.
type keptKey struct {
	event uint32
	first Day
	kind  keptKind
}

func firstsKey(event uint32) keptKey { return keptKey{event, MinDay, keptFirsts} }

func (k keptKey) bytes() []byte {
	return append(makeDayKey(k.event, k.first).bytes(), byte(k.kind))
}

func parseKeptKey(b []byte) (keptKey, bool) {
	if len(b) != 9 || keptKind(b[8]) > keptYear {
		return keptKey{}, false
	}
	k := dayKey(binary.BigEndian.Uint64(b))
	return keptKey{k.event(), k.day(), keptKind(b[8])}, true
}

// keptRecord tells about what is remembered: whole says that all of it is there,
// so that it may be used.
type keptRecord struct {
	whole              bool
	dropped            uint32 // chunks that are to be worked out again
	cardinality, bytes uint64
}

func (r keptRecord) seal(key []byte) []byte {
	v := make([]byte, sealSize, sealSize+21)
	if r.whole {
		v = append(v, 1)
	} else {
		v = append(v, 0)
	}
	v = binary.LittleEndian.AppendUint32(v, r.dropped)
	v = binary.LittleEndian.AppendUint64(v, r.cardinality)
	return seal(tagKept, key, binary.LittleEndian.AppendUint64(v, r.bytes))
}

func unsealKept(key, v []byte) (keptRecord, bool) {
	p, ok := unseal(tagKept, key, v)
	if !ok || len(p) != 21 || p[0] > 1 {
		return keptRecord{}, false
	}
	return keptRecord{
		whole: p[0] == 1, dropped: binary.LittleEndian.Uint32(p[1:]),
		cardinality: binary.LittleEndian.Uint64(p[5:]), bytes: binary.LittleEndian.Uint64(p[13:]),
	}, true
}

func keptHolds(key, v []byte) bool {
	_, ok := unsealKept(key, v)
	return ok && len(key) == 9
}

// A stale value counts the transactions that changed the day since it was taken
// in, so that whoever takes it in sees whether it changed meanwhile.
func sealStale(key []byte, changes uint32) []byte {
	return seal(tagStale, key, binary.LittleEndian.AppendUint32(make([]byte, sealSize, sealSize+4), changes))
}

func unsealStale(key, v []byte) (uint32, bool) {
	p, ok := unseal(tagStale, key, v)
	if !ok || len(p) != 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(p), true
}

func staleHolds(key, v []byte) bool {
	_, ok := unsealStale(key, v)
	return ok && len(key) == 8
}

func firstTotalHolds(key, v []byte) bool {
	_, ok := unsealPair(tagFirstTotal, key, v)
	return ok && len(key) == 8
}

// scan calls fn with the entries from first to last, both included, in order. Every
// entry's seal must hold, that of both neighbours too: one of them may belong here
// by a key that was damaged. A bucket that is not there, nil, is empty.
func scan(b *bolt.Bucket, first, last []byte, holds func(k, v []byte) bool, fn func(k, v []byte) error) error {
	if b == nil {
		return nil
	}
	c := b.Cursor()
	k, _ := c.Seek(first)
	if before, v := previous(c, k); before != nil && !holds(before, v) {
		return corruptf("key %x does not hold", before)
	}
	var at []byte
	for k, v := c.Seek(first); k != nil; k, v = c.Next() {
		if !holds(k, v) || bytes.Compare(k, at) < 0 {
			return corruptf("key %x does not hold", k)
		}
		if bytes.Compare(k, last) > 0 {
			break
		}
		if err := fn(k, v); err != nil {
			return err
		}
		at = k
	}
	return nil
}

// createLater returns a bucket that is made when there is something to put into it.
func (w *writer) createLater(name []byte) (*bolt.Bucket, error) {
	b, err := w.tx.CreateBucketIfNotExists(name)
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	return b, nil
}

// markStale records that the chunks of a day are others than what is remembered
// took in.
func (w *writer) markStale(k dayKey) error {
	b, err := w.createLater(bucketStale)
	if err != nil {
		return err
	}
	key := k.bytes()
	v, err := lookup(b, key, staleHolds)
	if err != nil {
		return err
	}
	var changes uint32
	if v != nil {
		var ok bool
		if changes, ok = unsealStale(key, v); !ok {
			return corruptf("the stale mark of %s: checksum does not hold", k.day())
		}
	}
	if err := b.Put(key, sealStale(key, changes+1)); err != nil {
		return fmt.Errorf("stale mark of %s: %w", k.day(), err)
	}
	return nil
}

// keptRecord returns what is noted of something remembered; ok is false where
// nothing of it is.
func (r *reader) keptRecord(k keptKey) (rec keptRecord, ok bool, err error) {
	key := k.bytes()
	v, err := lookup(r.tx.Bucket(bucketKept), key, keptHolds)
	if v == nil || err != nil {
		return rec, false, err
	}
	if rec, ok = unsealKept(key, v); !ok {
		return rec, false, corruptf("the record of what is remembered from %s: checksum does not hold", k.first)
	}
	return rec, true, nil
}

// eachKept calls fn with every record.
func (r *reader) eachKept(fn func(keptKey, keptRecord)) error {
	first, last := keptKey{0, MinDay, 0}.bytes(), keptKey{1<<32 - 1, MaxDay, keptYear}.bytes()
	return scan(r.tx.Bucket(bucketKept), first, last, keptHolds, func(key, v []byte) error {
		k, ok := parseKeptKey(key)
		if !ok {
			return corruptf("key %x names nothing that is remembered", key)
		}
		rec, _ := unsealKept(key, v)
		fn(k, rec)
		return nil
	})
}

func (w *writer) putKept(k keptKey, rec keptRecord) error {
	b, err := w.createLater(bucketKept)
	if err != nil {
		return err
	}
	key := k.bytes()
	if err := b.Put(key, rec.seal(key)); err != nil {
		return fmt.Errorf("record of what is remembered from %s: %w", k.first, err)
	}
	return nil
}

// forget removes something remembered, as far as it is there.
func (w *writer) forget(k keptKey) error {
	if _, ok, err := w.keptRecord(k); !ok || err != nil {
		return err
	}
	if err := w.tx.Bucket(bucketKept).Delete(k.bytes()); err != nil {
		return fmt.Errorf("record of what is remembered from %s: %w", k.first, err)
	}
	if k.kind != keptFirsts {
		return deleteBucket(w.tx.Bucket(bucketRollups), k.bytes())
	}
	if err := deleteRange(w.tx.Bucket(bucketFirstTotals), k.event, firstTotalHolds); err != nil {
		return err
	}
	return deleteBucket(w.tx.Bucket(bucketFirsts), binary.BigEndian.AppendUint32(nil, k.event))
}

// deleteBucket deletes a bucket in another, as far as both are there.
func deleteBucket(b *bolt.Bucket, key []byte) error {
	if b == nil || b.Bucket(key) == nil {
		return nil
	}
	if err := b.DeleteBucket(key); err != nil {
		return fmt.Errorf("bucket %x: %w", key, err)
	}
	return nil
}

// deleteRange deletes the entries of an event's days.
func deleteRange(b *bolt.Bucket, event uint32, holds func(k, v []byte) bool) error {
	var keys [][]byte
	first, last := makeDayKey(event, MinDay).bytes(), makeDayKey(event, MaxDay).bytes()
	err := scan(b, first, last, holds, func(k, _ []byte) error {
		keys = append(keys, bytes.Clone(k))
		return nil
	})
	for i := 0; i < len(keys) && err == nil; i++ {
		err = b.Delete(keys[i])
	}
	return err
}

// forgetDay removes the unions that a deleted day is part of.
func (w *writer) forgetDay(k dayKey) error {
	for _, kind := range rollupKinds {
		p := kind.period(k.day(), w.set.weekStart)
		if err := w.forget(keptKey{k.event(), p.First, kind}); err != nil {
			return err
		}
	}
	return w.markStale(k)
}

// forgetEvent removes all that is remembered of an event that is deleted.
func (w *writer) forgetEvent(event uint32) error {
	t, err := w.timeline(event)
	if err != nil {
		return err
	}
	for _, k := range t.kept {
		if err := w.forget(k.key); err != nil {
			return err
		}
	}
	return deleteRange(w.tx.Bucket(bucketStale), event, staleHolds)
}
