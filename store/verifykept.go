package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// kept checks what is remembered of the events against their days, and that all of it
// belongs to an event.
func (v *verifier) kept(ctx context.Context) error {
	ofEvent := func(event uint32) error {
		if _, ok := v.names[event]; !ok {
			return corruptf("it is of event %d, which is not there", event)
		}
		return nil
	}
	v.eachEntry("what is remembered", v.tx.Bucket(bucketKept), func(key, value []byte) error {
		k, ok := parseKeptKey(key)
		if !ok || !keptHolds(key, value) {
			return corruptf("key %x does not hold", key)
		}
		return ofEvent(k.event)
	})
	v.eachEntry("days that changed", v.tx.Bucket(bucketStale), func(key, value []byte) error {
		if !staleHolds(key, value) {
			return corruptf("key %x does not hold", key)
		}
		k, _ := parseDayKey(key)
		return ofEvent(k.event())
	})
	v.eachEntry("numbers of first days", v.tx.Bucket(bucketFirstTotals), func(key, value []byte) error {
		if !firstTotalHolds(key, value) {
			return corruptf("key %x does not hold", key)
		}
		k, _ := parseDayKey(key)
		return ofEvent(k.event())
	})
	v.eachEntry("first days", v.tx.Bucket(bucketFirsts), func(key, _ []byte) error {
		if len(key) != 4 {
			return corruptf("a key of %d bytes", len(key))
		}
		return v.isNoted(firstsKey(binary.BigEndian.Uint32(key)))
	})
	v.eachEntry("unions of periods", v.tx.Bucket(bucketRollups), func(key, _ []byte) error {
		k, ok := parseKeptKey(key)
		if !ok {
			return corruptf("key %x does not hold", key)
		}
		return v.isNoted(k)
	})
	if len(v.broken) > 0 {
		return nil // what is compared below might be among it
	}
	for _, number := range slices.Sorted(maps.Keys(v.names)) {
		v.check(fmt.Sprintf("event %q, what is remembered", v.names[number].name), func() error {
			return v.checkKept(ctx, number)
		})
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// isNoted returns an error unless there is a record of something remembered.
func (v *verifier) isNoted(k keptKey) error {
	_, ok, err := v.keptRecord(k)
	if err == nil && !ok {
		err = corruptf("chunks of event %d without a record", k.event)
	}
	return err
}

// eachEntry checks the entries of a bucket; nil is empty.
func (v *verifier) eachEntry(where string, b *bolt.Bucket, fn func(key, value []byte) error) {
	if b == nil {
		return
	}
	v.check(where, func() error {
		c := b.Cursor()
		for key, value := c.First(); key != nil; key, value = c.Next() {
			v.check(where, func() error { return fn(key, value) })
		}
		return nil
	})
}
