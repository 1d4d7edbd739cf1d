package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// pass takes the stale days of one event into what is remembered of it, chunk by
// chunk, and builds unions that are missing.
type pass struct {
	event  uint32
	stale  []staleDay // at its start
	forget []keptKey  // what is not to be remembered any more, and broken-off work
	firsts bool       // the first days are to be remembered
	begin  bool       // they are not yet
	build  []keptKey  // of one kind
	chunks []uint32   // still to do
	seen   *bitset
}

// A pass builds as many unions as passUnions, and takes chunks together up to about
// passRead bytes read, so that no transaction and no wait for one grows with the
// store.
const (
	passUnions = 64
	passRead   = 16 << 20
)

// errEventGone ends a pass whose event was deleted.
var errEventGone = errors.New("the event is gone")

// isLive returns errEventGone unless there is an event of the number.
func (r *reader) isLive(event uint32) error {
	live, err := r.eventNumbers()
	if err == nil && !live[event] {
		err = errEventGone
	}
	return err
}

// planPass looks up what there is to do for an event; nil where there is nothing.
func (db *DB) planPass(event uint32, all bool) (p *pass, err error) {
	today := db.Today()
	err = db.folded(func(r *reader) error {
		t, err := r.timeline(event)
		if err != nil {
			return err
		}
		p = &pass{event: event, stale: t.stale, firsts: !db.opts.NoFirstDays, seen: newBitset(r.set.chunkBits())}
		p.begin = p.firsts && !t.firsts && len(t.days) > 0
		due := p.begin
		for _, k := range t.kept {
			off := db.opts.NoRollups
			if k.key.kind == keptFirsts {
				off = db.opts.NoFirstDays
			}
			if off || !k.rec.whole {
				p.forget = append(p.forget, k.key)
			}
			due = due || off || k.rec.dropped > 0
		}
		if !db.opts.NoRollups {
			p.build = t.missing(today, r.set.weekStart)
		}
		due = due || len(p.build) > 0
		for _, s := range t.stale {
			due = due || (all || s.day < today) && len(t.kept) > 0
		}
		if !due {
			p = nil
			return nil
		}
		p.firsts = p.firsts && (p.begin || t.firsts)
		p.chunks, err = r.passChunks(t)
		return err
	})
	return p, err
}

// leastParts is of how many days or shorter unions a period must consist to be
// worth a union of its own.
const leastParts = 3

// missing lists the closed periods, of the shortest kind of which there are any,
// whose unions are not remembered.
func (t *timeline) missing(today Day, start WeekStart) []keptKey {
	have := make(map[keptKey]bool)
	for _, k := range t.kept {
		have[k.key] = k.rec.whole
	}
	var build []keptKey
	for _, kind := range rollupKinds {
		for i := 0; i < len(t.days); {
			p := kind.period(t.days[i].Day, start)
			next := t.index(p.Last + 1)
			key := keptKey{t.event, p.First, kind}
			if p.Last < today && !have[key] && len(t.coverBy(i, next, kind-1)) >= leastParts {
				build = append(build, key)
			}
			i = next
		}
		if len(build) > 0 {
			return build[:min(len(build), passUnions)]
		}
	}
	return nil
}

// passChunks lists the chunks in which an event has bits, or has something
// remembered.
func (r *reader) passChunks(t *timeline) (numbers []uint32, err error) {
	for _, d := range t.days {
		if numbers, err = r.chunkNumbers(makeDayKey(t.event, d.Day), numbers); err != nil {
			return nil, err
		}
	}
	if t.firsts {
		more, err := r.firstNumbers(t.event)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, more...)
	}
	for i := range t.rollups {
		if numbers, err = r.rollupNumbers(&t.rollups[i], numbers); err != nil {
			return nil, err
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// startPass notes what the pass begins to remember, so that whoever takes a day
// away takes that away, too.
func (db *DB) startPass(p *pass) error {
	db.chunkMu.Lock()
	defer db.chunkMu.Unlock()
	return db.transact("remember", true, func(w *writer) (bool, error) {
		if err := w.isLive(p.event); err != nil {
			return false, err
		}
		for _, k := range p.forget {
			if err := w.forget(k); err != nil {
				return false, err
			}
		}
		if p.begin {
			b, err := w.createLater(bucketFirsts)
			if err == nil {
				_, err = b.CreateBucket(binary.BigEndian.AppendUint32(nil, p.event))
			}
			if err == nil {
				err = w.putKept(firstsKey(p.event), keptRecord{})
			}
			if err != nil {
				return false, fmt.Errorf("first days: %w", err)
			}
		}
		for _, k := range p.build {
			b, err := w.createLater(bucketRollups)
			if err == nil {
				_, err = b.CreateBucket(k.bytes())
			}
			if err == nil {
				err = w.putKept(k, keptRecord{})
			}
			if err != nil {
				return false, fmt.Errorf("union from %s: %w", k.first, err)
			}
		}
		return p.begin || len(p.build)+len(p.forget) > 0, nil
	})
}

// passSome does a few chunks: it works them out beside everybody but those who
// change chunks, and writes what came of it in one transaction.
func (db *DB) passSome(p *pass) error {
	db.chunkMu.Lock()
	defer db.chunkMu.Unlock()
	var out passOutput
	err := db.folded(func(r *reader) error {
		err := r.isLive(p.event)
		var t *timeline
		if err == nil {
			t, err = r.timeline(p.event)
		}
		for err == nil && len(p.chunks) > 0 && out.written < foldBytes && out.read < db.passRead {
			err = p.chunk(r, t, p.chunks[0], &out)
			p.chunks = p.chunks[1:]
		}
		return err
	})
	if err != nil || len(out.firsts)+len(out.rollups) == 0 {
		return err
	}
	return db.transact("remember", true, func(w *writer) (bool, error) {
		if len(out.firsts) > 0 {
			if err := w.putFirsts(p.event, out.firsts); err != nil {
				return false, err
			}
		}
		return true, w.putRollups(out.rollups)
	})
}

// finishPass notes that everything was taken in but the days that changed meanwhile,
// and that what was begun is whole unless it was taken away.
func (db *DB) finishPass(p *pass) error {
	db.chunkMu.Lock()
	defer db.chunkMu.Unlock()
	return db.transact("remember", true, func(w *writer) (bool, error) {
		err := w.isLive(p.event)
		var t *timeline
		if err == nil {
			t, err = w.timeline(p.event)
		}
		if err != nil {
			return false, err
		}
		for _, k := range t.kept {
			if k.rec.whole {
				continue
			}
			k.rec.whole = true
			if err := w.putKept(k.key, k.rec); err != nil {
				return false, err
			}
		}
		for _, s := range t.stale {
			if !slices.Contains(p.stale, s) {
				continue
			}
			if err := w.tx.Bucket(bucketStale).Delete(makeDayKey(p.event, s.day).bytes()); err != nil {
				return false, fmt.Errorf("stale mark of %s: %w", s.day, err)
			}
		}
		return true, nil
	})
}

// passOutput is what a transaction of a pass will write.
type passOutput struct {
	firsts        []firstChange
	rollups       []rollupChange
	read, written int // bytes, about
}

// chunk works out one chunk.
func (p *pass) chunk(r *reader, t *timeline, number uint32, out *passOutput) error {
	if p.firsts {
		if err := p.firstDays(r, t, number, out); err != nil {
			return err
		}
	}
	for i := range t.rollups {
		if err := p.extend(r, t, &t.rollups[i], number, out); err != nil {
			return fmt.Errorf("union from %s: %w", t.rollups[i].key.first, err)
		}
	}
	for _, k := range t.kept {
		if k.key.kind == keptFirsts || k.rec.whole {
			continue
		}
		period := k.key.kind.period(k.key.first, r.set.weekStart)
		parts := t.coverBy(t.index(period.First), t.index(period.Last+1), k.key.kind-1)
		if err := p.union(r, t, k.key, nil, parts, number, out); err != nil {
			return fmt.Errorf("union from %s: %w", k.key.first, err)
		}
	}
	return nil
}

// firstDays works out the firsts of one chunk.
func (p *pass) firstDays(r *reader, t *timeline, number uint32, out *passOutput) error {
	whole := Period{MinDay, MaxDay}
	return r.walkFirsts(t, number, whole, p.seen, func(d Day, kept, is []uint32) error {
		out.read += 2 * (len(kept) + len(is))
		if slices.Equal(kept, is) {
			return nil
		}
		c := firstChange{number: number, day: d, before: len(kept), after: len(is)}
		var err error
		if len(kept) > 0 {
			// What the file has is what this list is sealed as.
			had, err := r.set.sealFirsts(t.event, number, d, kept)
			if err != nil {
				return err
			}
			c.bytes = len(had)
		}
		if c.value, err = r.set.sealFirsts(t.event, number, d, is); err != nil {
			return err
		}
		out.firsts = append(out.firsts, c)
		out.written += len(c.value)
		return nil
	})
}

// extend adds the stale days of a union to its chunk, or works a dropped chunk out
// again.
func (p *pass) extend(r *reader, t *timeline, u *rollup, number uint32, out *passOutput) error {
	old, err := r.rollupValue(u.key, number)
	if err != nil {
		return err
	}
	var parts []part
	if old != nil && old[sealSize] == chunkDropped {
		parts = t.coverBy(u.from, u.to, u.key.kind-1)
	} else if u.stale > 0 {
		if old != nil {
			parts = append(parts, part{rollup: u})
		} else {
			for _, s := range t.stale {
				if u.period.Contains(s.day) {
					parts = append(parts, part{day: s.day})
				}
			}
		}
	}
	if parts == nil {
		return nil
	}
	return p.union(r, t, u.key, old, parts, number, out)
}

// union works out the chunk of a union, which was old.
func (p *pass) union(r *reader, t *timeline, k keptKey, old []byte, parts []part, number uint32, out *passOutput) error {
	all, err := r.sources(t, parts, number, nil)
	if err != nil {
		return err
	}
	p.seen.begin(number << r.set.chunkBits())
	if err := p.seen.addSources(all); err != nil {
		return err
	}
	for _, s := range all {
		out.read += len(s.chunk.data)
	}
	c := rollupChange{key: k, number: number, old: old}
	c.value, err = sealPositionsAs(tagRollup, rollupSealKey(k, number), number, r.set, p.seen.positions())
	if err != nil {
		return err
	}
	if old == nil && c.value == nil || slices.Equal(old, c.value) {
		return nil
	}
	c.old = slices.Clone(old[:min(len(old), sealSize+chunkHeader)])
	c.oldBytes = len(old)
	out.rollups = append(out.rollups, c)
	out.written += len(c.value)
	return nil
}
