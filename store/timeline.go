package store

import (
	"cmp"
	"slices"
	"sort"
	"sync"
)

// timeline is what a transaction and its view have of one event, apart from
// chunks: its stored days, which of them are stale, and what is remembered.
type timeline struct {
	event  uint32
	days   []DayCount // stored, ascending
	bytes  uint64     // that their chunks take in the file
	stale  []staleDay // ascending; also days that are not stored any more
	firsts bool       // the first days are remembered, but for stale days
	kept   []keptEntry

	// rollups are the whole ones, by their first stored day, the shorter before
	// the longer.
	rollups []rollup

	covers sync.Map // Period -> []part, of long periods
	held   *held    // of the snapshot, to count them
}

// size returns about how many bytes the timeline takes, but for its covers.
func (t *timeline) size() int64 {
	return int64(16*len(t.days) + 8*len(t.stale) + 48*len(t.kept) + 96*len(t.rollups) + 500)
}

type staleDay struct {
	day     Day
	changes uint32
}

// keptEntry is something remembered, or being worked out.
type keptEntry struct {
	key keptKey
	rec keptRecord
}

// rollup is the remembered union of a period.
type rollup struct {
	keptEntry
	period   Period
	from, to int // its stored days, as indexes of timeline.days: from ≤ i < to
	stale    int // of them stale
}

// part is a piece of a period: one day, or a remembered union.
type part struct {
	day    Day
	rollup *rollup // nil for a day
}

// timeline reads the timeline of an event. Cost: a small record a stored day.
func (r *reader) timeline(event uint32) (*timeline, error) {
	t := &timeline{event: event, held: r.held}
	var err error
	if t.days, t.bytes, err = r.daySizes(event, Period{MinDay, MaxDay}); err != nil {
		return nil, err
	}
	first, last := makeDayKey(event, MinDay), makeDayKey(event, MaxDay)
	err = scan(r.tx.Bucket(bucketStale), first.bytes(), last.bytes(), staleHolds, func(key, v []byte) error {
		k, _ := parseDayKey(key)
		changes, _ := unsealStale(key, v)
		t.stale = append(t.stale, staleDay{k.day(), changes})
		return nil
	})
	if err != nil {
		return nil, err
	}
	end := append(last.bytes(), 0xff)
	err = scan(r.tx.Bucket(bucketKept), first.bytes(), end, keptHolds, func(key, v []byte) error {
		k, ok := parseKeptKey(key)
		if !ok {
			return corruptf("key %x names nothing that is remembered", key)
		}
		rec, _ := unsealKept(key, v)
		t.kept = append(t.kept, keptEntry{k, rec})
		return nil
	})
	for _, k := range t.kept {
		switch {
		case !k.rec.whole:
		case k.key.kind == keptFirsts:
			t.firsts = true
		default:
			t.addRollup(k, r.set.weekStart)
		}
	}
	slices.SortFunc(t.rollups, func(a, b rollup) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	return t, err
}

func (t *timeline) addRollup(k keptEntry, start WeekStart) {
	p := k.key.kind.period(k.key.first, start)
	u := rollup{keptEntry: k, period: p, from: t.index(p.First), to: t.index(p.Last + 1)}
	for _, s := range t.stale {
		if p.Contains(s.day) {
			u.stale++
		}
	}
	t.rollups = append(t.rollups, u)
}

// index returns how many stored days come before a day.
func (t *timeline) index(d Day) int {
	return sort.Search(len(t.days), func(i int) bool { return t.days[i].Day >= d })
}

// isStale reports whether a day is stale.
func (t *timeline) isStale(d Day) bool {
	_, ok := slices.BinarySearchFunc(t.stale, d, func(s staleDay, d Day) int { return cmp.Compare(s.day, d) })
	return ok
}

// longPeriod is the number of stored days from which a cover is kept for the next
// time: every chunk asks for the same.
const longPeriod = 8

// cover returns the stored days of a period, the remembered unions in the place of
// as many of them as possible: the fewest values to read in each chunk.
func (t *timeline) cover(p Period) []part {
	from, to := t.index(p.First), t.index(p.Last+1)
	if to-from < longPeriod {
		return t.coverBy(from, to, keptYear)
	}
	if c, ok := t.covers.Load(p); ok {
		return c.([]part)
	}
	c := t.coverBy(from, to, keptYear)
	t.covers.Store(p, c)
	if t.held != nil {
		t.held.bytes.Add(int64(16*len(c) + 100))
	}
	return c
}

// coverBy is cover of the stored days from ≤ i < to, by unions of a kind at most.
// A union costs one value to read, and one more for each of its stale days.
func (t *timeline) coverBy(from, to int, most keptKind) []part {
	if from >= to {
		return nil
	}
	type step struct {
		cost, next int
		rollup     *rollup
	}
	steps := make([]step, to-from+1)
	u := len(t.rollups) - 1
	for i := to - 1; i >= from; i-- {
		best := step{cost: 1 + steps[i+1-from].cost, next: i + 1}
		for ; u >= 0 && t.rollups[u].from >= i; u-- {
			r := &t.rollups[u]
			if r.from > i || r.to <= i || r.to > to || r.key.kind > most {
				continue
			}
			if cost := 1 + r.stale + steps[r.to-from].cost; cost < best.cost {
				best = step{cost, r.to, r}
			}
		}
		steps[i-from] = best
	}
	var parts []part
	for i := from; i < to; i = steps[i-from].next {
		parts = append(parts, part{t.days[i].Day, steps[i-from].rollup})
	}
	return parts
}
