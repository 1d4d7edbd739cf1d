package store

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// The first days of an event: for each chunk, and each day, the positions whose
// first stored day it is. Each id of the event stands once, so that all of it is as
// large as a few days, and the first-ever cohort of a period is the union of its
// days' firsts, which share no bit. They stand chunk by chunk, and by day within
// one, so that all of a chunk is read in a row.
//
// What changed since it was taken in is worked out by one walk over the days of a
// chunk, in order, with the set of the positions seen so far:
//
//   - of a day that did not change, the firsts are those that are kept, but for
//     positions seen already: a late mark made an earlier day theirs;
//   - of a day that changed, they are its positions that were not seen;
//   - a position that a changed day was kept as the first of, and has lost, is
//     looked for on each day after it.
//
// Questions walk so to answer, and Remember to bring what is kept up to date.

// firstKey is the key of a day's firsts within one chunk, in its event's bucket.
func firstKey(number uint32, d Day) []byte {
	b := binary.BigEndian.AppendUint16(make([]byte, 0, 6), uint16(number))
	return binary.BigEndian.AppendUint32(b, uint32(d)^daySign)
}

func parseFirstKey(b []byte) (number uint32, d Day, ok bool) {
	if len(b) != 6 {
		return 0, 0, false
	}
	return uint32(binary.BigEndian.Uint16(b)), Day(binary.BigEndian.Uint32(b[2:]) ^ daySign), true
}

// firstSealKey is what the checksum of a day's firsts covers as its key.
func firstSealKey(event uint32, key []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 10), event), key...)
}

// firstsOfDay are what is kept as the firsts of a day within one chunk.
type firstsOfDay struct {
	day   Day
	chunk chunk
}

// keptFirsts lists what is kept of one chunk for days of a period, by day.
func (r *reader) keptFirsts(event, number uint32, p Period) ([]firstsOfDay, error) {
	b, err := r.firstsBucket(event)
	if err != nil {
		return nil, err
	}
	var all []firstsOfDay
	holds := func(k, v []byte) bool {
		_, ok := r.verified.unseal(tagFirst, firstSealKey(event, k), v)
		return ok && len(k) == 6
	}
	err = scan(b, firstKey(number, p.First), firstKey(number, p.Last), holds, func(k, v []byte) error {
		_, d, _ := parseFirstKey(k)
		c, err := parseChunk(number<<r.set.chunkBits(), v[sealSize:])
		if err == nil {
			all = append(all, firstsOfDay{d, c})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("first days: %w", err)
	}
	return all, nil
}

// firstsBucket returns the bucket of an event's first days, which are remembered.
func (r *reader) firstsBucket(event uint32) (b *bolt.Bucket, err error) {
	if top := r.tx.Bucket(bucketFirsts); top != nil {
		b = top.Bucket(binary.BigEndian.AppendUint32(nil, event))
	}
	if b == nil {
		return nil, corruptf("the first days are missing")
	}
	return b, r.isWholeKept(b, firstsKey(event))
}

// changedDays lists, ascending, the days up to a last one of which a chunk's
// firsts must be worked out: all stored ones where none are remembered.
func (r *reader) changedDays(t *timeline, number uint32, last Day) (days []Day) {
	if !t.firsts {
		for _, d := range t.days[:t.index(last+1)] {
			days = append(days, d.Day)
		}
		return days
	}
	for _, s := range t.stale {
		if s.day <= last {
			days = append(days, s.day)
		}
	}
	end := makeDayKey(t.event, last)
	r.view.days.Ascend(makeDayKey(t.event, MinDay), func(k dayKey, d *dayOps) bool {
		if _, ok := findChunk(d.chunks, number); ok && k <= end {
			days = append(days, k.day())
		}
		return k <= end
	})
	slices.Sort(days)
	return slices.Compact(days)
}

// firstWalk walks the days of one chunk in order.
type firstWalk struct {
	r      *reader
	t      *timeline
	number uint32
	seen   *bitset
	lost   []uint32 // positions that lost their first day, not seen since
}

// walkFirsts calls fn with the days of a period, in order: the positions that are
// kept as the day's firsts, and those that are. It may leave out days of which both
// are empty. The lists, of which both may be the same, do not change later.
func (r *reader) walkFirsts(t *timeline, number uint32, p Period, seen *bitset, fn func(d Day, kept, is []uint32) error) error {
	changed := r.changedDays(t, number, p.Last)
	from := p.First
	if len(changed) > 0 {
		from = MinDay
	}
	var kept []firstsOfDay
	if t.firsts {
		var err error
		if kept, err = r.keptFirsts(t.event, number, Period{from, p.Last}); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		for _, k := range kept {
			list, err := k.chunk.list(nil)
			if err == nil {
				err = fn(k.day, list, list)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	w := firstWalk{r: r, t: t, number: number, seen: seen}
	seen.begin(number << r.set.chunkBits())
	for _, d := range daysOf(t, kept, changed, p.Last) {
		var was []uint32
		var err error
		if len(kept) > 0 && kept[0].day == d {
			if was, err = kept[0].chunk.list(nil); err != nil {
				return fmt.Errorf("first days: %w", err)
			}
			kept = kept[1:]
		}
		isChanged := len(changed) > 0 && changed[0] == d
		if isChanged {
			changed = changed[1:]
		}
		is, err := w.day(d, was, isChanged)
		if err == nil && p.Contains(d) && len(was)+len(is) > 0 {
			err = fn(d, was, is)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// daysOf lists, ascending, the days up to a last one that may have firsts.
func daysOf(t *timeline, kept []firstsOfDay, changed []Day, last Day) []Day {
	days := slices.Clone(changed)
	for _, k := range kept {
		days = append(days, k.day)
	}
	for _, d := range t.days[:t.index(last+1)] {
		days = append(days, d.Day)
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// day returns the firsts of the next day, of which was are kept.
func (w *firstWalk) day(d Day, was []uint32, changed bool) (is []uint32, err error) {
	is = was
	if changed || len(w.lost) > 0 {
		s, err := w.r.daySource(makeDayKey(w.t.event, d), w.number)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		marked, err := s.positions()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		if changed {
			w.lost = inAny(w.lost, notIn(was, marked))
			is = marked
		} else {
			is = inAny(was, inBoth(w.lost, marked))
		}
	}
	is = w.seen.missing(is)
	w.seen.add(is)
	w.lost = w.seen.missing(w.lost)
	return is, nil
}

// FirstDays returns, for each of some periods, ascending and disjoint, the positions
// whose first stored day of the event lies in it, as far as they lie in one chunk
// (see FirstChunkNumbers): its first-ever cohort. The bitmaps are the caller's and
// never nil.
//
// Cost: where the days up to the last period did not change since they were taken
// in (see DB.Remember), the firsts of the periods' days are read; else those of all
// days before too, and the chunks of the days that changed. Of an event of which
// nothing is remembered, every day up to the last period is read.
func (s *Snapshot) FirstDays(e Event, periods []Period, number uint32) (cohorts []*roaring.Bitmap, err error) {
	cohorts = make([]*roaring.Bitmap, len(periods))
	for i := range periods {
		if i > 0 && periods[i].First <= periods[i-1].Last {
			return nil, fmt.Errorf("first days of event %s: %s does not follow %s", e.Name, periods[i], periods[i-1])
		}
		cohorts[i] = roaring.New()
	}
	if len(periods) == 0 {
		return cohorts, nil
	}
	err = s.do("first days of event "+e.Name, func() error {
		t, err := s.timelineOf(e.number)
		if err != nil {
			return err
		}
		seen := s.db.takeBitset()
		defer s.db.bitsets.Put(seen)
		all := Period{max(periods[0].First, MinDay), min(periods[len(periods)-1].Last, MaxDay)}
		lists := make([][]uint32, len(periods))
		i := 0
		err = s.walkFirsts(t, number, all, seen, func(d Day, _, is []uint32) error {
			for periods[i].Last < d {
				i++
			}
			if periods[i].Contains(d) {
				lists[i] = append(lists[i], is...)
			}
			return nil
		})
		for i, list := range lists {
			seen.begin(number << s.set.chunkBits())
			seen.add(list)
			cohorts[i].AddMany(seen.positions())
		}
		return err
	})
	return cohorts, err
}

// FirstCounts lists the days of the period that are the first stored day of at least
// one position, ascending, with how many, from small records alone. ok is false
// where those do not tell, for days up to the period's end changed since they were
// taken in (see DB.Remember).
func (s *Snapshot) FirstCounts(e Event, p Period) (days []DayCount, ok bool, err error) {
	err = s.do("first days of event "+e.Name, func() error {
		t, err := s.timelineOf(e.number)
		if err != nil {
			return err
		}
		p := p.Intersect(Period{MinDay, MaxDay})
		unfolded := false
		s.view.days.Ascend(makeDayKey(e.number, MinDay), func(k dayKey, _ *dayOps) bool {
			unfolded = k <= makeDayKey(e.number, p.Last)
			return false
		})
		if ok = t.firsts && !unfolded && (len(t.stale) == 0 || t.stale[0].day > p.Last); !ok || p.Empty() {
			return nil
		}
		first, last := makeDayKey(e.number, p.First).bytes(), makeDayKey(e.number, p.Last).bytes()
		return scan(s.tx.Bucket(bucketFirstTotals), first, last, firstTotalHolds, func(key, v []byte) error {
			k, _ := parseDayKey(key)
			n, _ := unsealPair(tagFirstTotal, key, v)
			days = append(days, DayCount{k.day(), n.first})
			return nil
		})
	})
	return days, ok && err == nil, err
}

// FirstChunkNumbers lists, ascending, the chunks in which FirstDays may find a
// position. ChunkNumbers will not do in its place: where the key of a chunk was
// damaged, each list shows it only to who reads what the list was made from.
//
// Cost: the first days' keys and the days that changed since; of an event of which
// nothing is remembered, the keys of every day.
func (s *Snapshot) FirstChunkNumbers(e Event) (numbers []uint32, err error) {
	err = s.do("chunks of first days of event "+e.Name, func() error {
		t, err := s.timelineOf(e.number)
		if err != nil {
			return err
		}
		if t.firsts {
			if numbers, err = s.firstNumbers(e.number); err != nil {
				return err
			}
		}
		for _, d := range t.days {
			k := makeDayKey(e.number, d.Day)
			if _, unfolded := s.view.days.Get(k); t.firsts && !unfolded && !t.isStale(d.Day) {
				continue
			}
			if numbers, err = s.chunkNumbers(k, numbers); err != nil {
				return err
			}
		}
		slices.Sort(numbers)
		numbers = slices.Compact(numbers)
		return nil
	})
	return numbers, err
}

// firstNumbers lists, ascending, the chunks that an event's firsts have.
func (r *reader) firstNumbers(event uint32) (numbers []uint32, err error) {
	b, err := r.firstsBucket(event)
	if err != nil {
		return nil, err
	}
	c := b.Cursor()
	for k, _ := c.First(); k != nil; {
		number, _, ok := parseFirstKey(k)
		if n := len(numbers); !ok || n > 0 && number <= numbers[n-1] {
			return nil, corruptf("first days: key %x is out of order", k)
		}
		numbers = append(numbers, number)
		k, _ = c.Seek(firstKey(number, MaxDay+1))
	}
	return numbers, nil
}
