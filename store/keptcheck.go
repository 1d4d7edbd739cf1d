package store

import (
	"context"
	"fmt"
	"slices"
)

// checkKept compares what is remembered of an event with its days: the first days
// and the unions, each together with the stale days as questions take them, and the
// totals noted of them with their chunks. Cost: the event's days are read twice.
func (r *reader) checkKept(ctx context.Context, event uint32) error {
	folded := *r
	folded.view = emptyView()
	t, err := folded.timeline(event)
	if err != nil || len(t.kept) == 0 {
		return err
	}
	numbers, err := folded.passChunks(t)
	if err != nil {
		return err
	}
	plain := &timeline{event: event, days: t.days} // nothing is remembered of it
	one, two := newBitset(r.set.chunkBits()), newBitset(r.set.chunkBits())
	totals := make(map[Day]dayTotal)
	for _, n := range numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t.firsts {
			if err := folded.checkFirsts(t, plain, n, one, totals); err != nil {
				return fmt.Errorf("chunk %d: %w", n, err)
			}
		}
		for i := range t.rollups {
			if err := folded.checkRollup(t, plain, &t.rollups[i], n, one, two); err != nil {
				return fmt.Errorf("chunk %d: %w", n, err)
			}
		}
	}
	if t.firsts {
		return folded.checkFirstTotals(t, totals)
	}
	return nil
}

// checkFirsts compares the firsts of one chunk with those worked out from the days,
// and adds what is kept to the totals.
func (r *reader) checkFirsts(t, plain *timeline, number uint32, seen *bitset, totals map[Day]dayTotal) error {
	whole := Period{MinDay, MaxDay}
	kept, err := r.keptFirsts(t.event, number, whole)
	if err != nil {
		return err
	}
	for _, k := range kept {
		sum := totals[k.day]
		sum.cardinality += int64(k.chunk.card)
		sum.bytes += int64(sealSize + chunkHeader + len(k.chunk.data))
		totals[k.day] = sum
	}
	want := make(map[Day][]uint32)
	err = r.walkFirsts(plain, number, whole, seen, func(d Day, _, is []uint32) error {
		want[d] = slices.Clone(is)
		return nil
	})
	if err != nil {
		return err
	}
	err = r.walkFirsts(t, number, whole, seen, func(d Day, _, is []uint32) error {
		if !slices.Equal(is, want[d]) {
			return corruptf("%d positions have their first day on %s, by the days it is %d, or others", len(is), d, len(want[d]))
		}
		delete(want, d)
		return nil
	})
	for d, is := range want {
		if err == nil && len(is) > 0 {
			err = corruptf("no position has its first day on %s, by the days %d have", d, len(is))
		}
	}
	return err
}

// checkFirstTotals compares the noted numbers of first days with the chunks'.
func (r *reader) checkFirstTotals(t *timeline, sums map[Day]dayTotal) error {
	first, last := makeDayKey(t.event, MinDay).bytes(), makeDayKey(t.event, MaxDay).bytes()
	var all pair
	err := scan(r.tx.Bucket(bucketFirstTotals), first, last, firstTotalHolds, func(key, v []byte) error {
		k, _ := parseDayKey(key)
		n, _ := unsealPair(tagFirstTotal, key, v)
		if s := sums[k.day()]; s.cardinality != int64(n.first) || s.bytes != int64(n.second) {
			return corruptf("first days on %s: %d in %d bytes are noted, the chunks have %d in %d", k.day(), n.first, n.second, s.cardinality, s.bytes)
		}
		delete(sums, k.day())
		all.first += n.first
		all.second += n.second
		return nil
	})
	for d := range sums {
		if err == nil {
			err = corruptf("first days on %s: their number is not noted", d)
		}
	}
	if err != nil {
		return err
	}
	rec, _, err := r.keptRecord(firstsKey(t.event))
	if err == nil && (pair{rec.cardinality, rec.bytes}) != all {
		err = corruptf("first days: %d in %d bytes are noted, the days add up to %d in %d", rec.cardinality, rec.bytes, all.first, all.second)
	}
	return err
}

// checkRollup compares one chunk of a union with the union of its days.
func (r *reader) checkRollup(t, plain *timeline, u *rollup, number uint32, one, two *bitset) error {
	base := number << r.set.chunkBits()
	one.begin(base)
	two.begin(base)
	got, err := r.rollupSources(t, u, number, nil)
	if err == nil {
		err = one.addSources(got)
	}
	if err != nil {
		return err
	}
	want, err := r.sources(plain, plain.coverBy(u.from, u.to, keptFirsts), number, nil)
	if err == nil {
		err = two.addSources(want)
	}
	if err != nil {
		return err
	}
	a, b := one.positions(), two.positions()
	if !slices.Equal(a, b) {
		return corruptf("the union of %s has %d positions, by the days %d, or others", u.period, len(a), len(b))
	}
	return nil
}
