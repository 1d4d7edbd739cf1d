package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"cohort/placement"
)

// journalEntries returns the records that are needed, of the file's journal and
// those that the log beside it holds, in order; none may be missing. The draft
// gets the first and the last number.
func (w *writer) journalEntries(state journalState, noted bool, logged []logEntry) ([]logEntry, error) {
	entries := logged
	c := w.journal().Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if len(k) != 8 {
			return nil, corruptf("journal: a key of %d bytes", len(k))
		}
		seq := binary.BigEndian.Uint64(k)
		p, ok := unseal(tagJournal, k, v)
		if !ok {
			return nil, corruptf("journal record %d: checksum does not hold", seq)
		}
		if seq > state.floor {
			entries = append(entries, logEntry{seq, p})
		}
	}
	slices.SortFunc(entries, func(a, b logEntry) int { return cmp.Compare(a.seq, b.seq) })
	last := w.journal().Sequence()
	w.draft.floor = state.floor
	switch {
	case noted || len(entries) == 0:
	case entries[0].seq == 0:
		return nil, corruptf("journal: a record 0")
	default:
		w.draft.floor = entries[0].seq - 1
	}
	w.draft.seq = w.draft.floor
	if !noted && len(entries) == 0 {
		w.draft.floor, w.draft.seq = last, last
	}
	for _, e := range entries {
		if e.seq != w.draft.seq+1 {
			return nil, corruptf("journal: record %d follows record %d", e.seq, w.draft.seq)
		}
		w.draft.seq = e.seq
	}
	if w.draft.seq < last || (state.log == 0 && w.draft.seq > last) {
		return nil, corruptf("journal: it ends with record %d, not %d", w.draft.seq, last)
	}
	return entries, nil
}

// replay applies the journal to a draft: what a store that was not closed, or
// is open for reading, has beyond its chunks.
func (w *writer) replay(entries []logEntry) error {
	live, err := w.eventNumbers()
	if err != nil {
		return err
	}
	fields, err := w.fieldNumbers()
	if err != nil {
		return err
	}
	for _, e := range entries {
		groups, err := openRecord(w.set, e.seq, e.payload)
		if err != nil {
			return err
		}
		if err := w.replayStrings(groups); err != nil {
			return fmt.Errorf("journal record %d: %w", e.seq, err)
		}
		for _, g := range groups {
			switch g.op {
			case opVisit:
				err = w.replayVisits(e.seq, g)
			case opField, opFieldClear:
				err = w.replayFields(e.seq, g, fields)
			default:
				err = w.replayGroup(e.seq, g, live[g.key.event()])
			}
			if err != nil {
				return fmt.Errorf("journal record %d: %w", e.seq, err)
			}
		}
	}
	return w.checkOrdinals()
}

// replayStrings registers the ids of a record that came with their strings.
// Groups stand in the order of their days: the mark that carries an id's string
// may be in a later group than another mark of that id.
func (w *writer) replayStrings(groups []group) error {
	for _, g := range groups {
		for _, e := range g.ids {
			if e.id == "" {
				continue
			}
			if err := w.replayID(g.brand, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// replayID makes the id of a mark known, where the mark gave it its position.
func (w *writer) replayID(b placement.Brand, e idEntry) error {
	at, err := w.known(b, e.mixed)
	if err != nil {
		return err
	}
	if at.self && at.pos != e.pos {
		return corruptf("id %#x of brand %q stands at %d, not at %d", uint64(e.mixed), b, at.pos, e.pos)
	}
	if !at.self {
		w.addID(b, e, at.others)
	} else if w.set.dense() {
		w.draft.place(b, e.pos, e.mixed.Placement()) // its id may be folded, its ordinal not
	}
	return nil
}

// replayGroup applies one group. Its ids are registered even where its event
// or day is gone or its bits are folded already.
func (w *writer) replayGroup(seq uint64, g group, live bool) error {
	if live {
		upTo, err := w.foldedUpTo(g.key)
		if err != nil {
			return err
		}
		live = seq > upTo
	}
	for _, e := range g.ids {
		if g.op == opMark {
			if err := w.replayID(g.brand, e); err != nil {
				return err
			}
		}
		if !live {
			continue
		}
		set, base, err := w.bit(g.key, e.pos)
		if err != nil {
			return err
		}
		if set != (g.op == opMark) {
			w.draft.setBit(g.key, e.pos>>w.set.chunkBits(), e.pos, !set, base)
		}
	}
	return nil
}

// replayVisits applies one group of visits, unless it is folded.
func (w *writer) replayVisits(seq uint64, g group) error {
	page := g.key.event()
	if w.pages() == nil || page == 0 || uint64(page) > w.pages().Sequence() {
		return corruptf("page %d was never given out", page)
	}
	upTo, err := w.foldedUpTo(foldedSketches(g.key.day()))
	if err != nil || seq <= upTo {
		return err
	}
	for _, e := range g.ids {
		w.draft.addVisit(makeVisitKey(g.key.day(), page), g.brand, uint64(e.mixed))
	}
	return nil
}

// foldedUpTo returns the fold mark of a day, 0 where it has none.
func (r *reader) foldedUpTo(k dayKey) (uint64, error) {
	v, err := lookup(r.folded(), k.bytes(), foldedHolds)
	if v == nil || err != nil {
		return 0, err
	}
	return unsealFolded(k.bytes(), v)
}

// replayFields applies one group of values. Its ids are registered even where the
// field is gone or its values are folded already.
func (w *writer) replayFields(seq uint64, g group, live map[uint32]Field) error {
	f, ok := live[g.key.event()]
	if ok {
		if f.Brand != g.brand {
			return corruptf("a value of an id of brand %q in field %q of brand %q", g.brand, f.Name, f.Brand)
		}
		upTo, err := w.foldedUpTo(g.key)
		if err != nil {
			return err
		}
		ok = seq > upTo
	}
	for i, e := range g.ids {
		var next fieldState
		if g.op == opField {
			if err := w.replayID(g.brand, e); err != nil {
				return err
			}
			next = fieldState{g.values[i], true}
		}
		if !ok {
			continue
		}
		if low, high := f.Limits(); next.value < low || next.value > high {
			return corruptf("field %q: the value %d is outside its range", f.Name, next.value)
		}
		now, base, err := w.valueAt(f, e.pos)
		if err != nil {
			return err
		}
		if now != next {
			w.draft.setField(makeFieldChunk(f.number, e.pos>>w.set.chunkBits()), e.pos, next, base)
		}
	}
	return nil
}
