package store

import (
	"cmp"
	"slices"
)

// dayList is where the chunks of a day lie, as a snapshot that reads all of them
// keeps it: looking each up would cost more than counting it. It takes 28 bytes a
// chunk, 7 KB for a hashed day.
type dayList struct {
	numbers []uint32 // ascending
	values  [][]byte // sealed
}

// list returns the list of a day, which is made once where the reader keeps lists.
func (r *reader) list(k dayKey) (*dayList, error) {
	if r.held == nil {
		return r.listDay(k)
	}
	return keep(&r.held.days, k, func() (*dayList, error) {
		l, err := r.listDay(k)
		if err == nil {
			r.held.bytes.Add(l.size())
		}
		return l, err
	})
}

// listDay lists the chunks of a day. Their cardinalities must add up to the day's.
func (r *reader) listDay(k dayKey) (*dayList, error) {
	bucket, err := r.chunkBucket(k)
	l := new(dayList)
	if bucket == nil || err != nil {
		return l, err
	}
	sum, err := eachChunk(bucket, func(n uint32, value []byte) {
		l.numbers, l.values = append(l.numbers, n), append(l.values, value)
	})
	if err != nil {
		return nil, err
	}
	if t, err := r.total(k); err != nil || t.first != sum {
		return nil, cmp.Or(err, corruptf("the chunks have %d bits, not %d", sum, t.first))
	}
	return l, nil
}

// unlist forgets the list of a day, for who reads every day once.
func (r *reader) unlist(k dayKey) {
	if r.held == nil {
		return
	}
	if l, ok := r.held.days.LoadAndDelete(k); ok {
		r.held.bytes.Add(-l.(*dayList).size())
	}
}

// size returns about how many bytes the list takes.
func (l *dayList) size() int64 { return int64(28*len(l.numbers) + 200) }

// listedValue is chunkValue from the list of the day. Where the day has no such
// chunk, those between which it would stand are checked (see lookup).
func (r *reader) listedValue(k dayKey, number uint32) ([]byte, error) {
	l, err := r.list(k)
	if err != nil {
		return nil, err
	}
	i, ok := slices.BinarySearch(l.numbers, number)
	if ok {
		return l.values[i], nil
	}
	for _, j := range []int{i - 1, i} {
		if j < 0 || j >= len(l.numbers) {
			continue
		}
		if _, ok := r.verified.unseal(tagChunk, chunkSealKey(k, l.numbers[j]), l.values[j]); !ok {
			return nil, corruptf("chunk %d, beside which chunk %d would stand, does not hold", l.numbers[j], number)
		}
	}
	return nil, nil
}
