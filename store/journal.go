package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"cohort/placement"
)

// The journal makes operations durable at the price of their own bytes, long
// before they reach the chunks of their days: records of about recordBytes, as
// many as a group commit needs, keyed by sequence numbers that never restart. The
// payload is a row of groups, in the order in which their operations took effect
// on each day:
//
//	op u8 | event number u32 | day i32 | brand 3 bytes | n u32 |
//	n × mixed u64 | and with opStrings set in op: n × (length uvarint, string)
//
// A string is kept where the mark registered its id, otherwise its length is 0.
// Operations are states, not changes ("this bit is set now"), so replaying a
// record whose effect is already in the chunks changes nothing.
const (
	opMark    = 1
	opUnmark  = 2
	opStrings = 0x80

	groupHeader = 16

	// recordBytes is where a commit begins another record: four fill a page of
	// 4096 bytes, which bbolt then writes once. A commit of 1,000 marks in one
	// record wrote the two or three of the commits before again.
	recordBytes = 976
)

// group is the operations of one kind on one day in a journal record.
type group struct {
	op    byte
	key   dayKey
	brand placement.Brand
	ids   []idEntry
}

// records collects the operations of one commit.
type records []*record

// add appends an operation. Its id carries a string where it is to be kept.
func (r *records) add(kind byte, k dayKey, b placement.Brand, e idEntry) {
	if n := len(*r); n == 0 || (*r)[n-1].size+8+len(e.id) > recordBytes {
		*r = append(*r, new(record))
	}
	(*r)[len(*r)-1].add(kind, k, b, e)
}

// record collects the operations of one journal record.
type record struct {
	groups []*group
	last   map[dayKey]*group
	size   int // bytes, about
}

// add appends an operation. Its id carries a string where it is to be kept.
func (r *record) add(kind byte, k dayKey, b placement.Brand, e idEntry) {
	g := r.last[k]
	if g == nil || g.op != kind {
		g = &group{op: kind, key: k, brand: b}
		r.groups = append(r.groups, g)
		if r.last == nil {
			r.last = make(map[dayKey]*group)
		}
		r.last[k] = g
		r.size += groupHeader
	}
	g.ids = append(g.ids, e)
	r.size += 8 + len(e.id)
}

// seal encodes the record.
func (r *record) seal(seq uint64, strings bool) []byte {
	size := sealSize
	for _, g := range r.groups {
		size += groupHeader + 8*len(g.ids)
	}
	v := make([]byte, sealSize, size)
	for _, g := range r.groups {
		kind := g.op
		if strings {
			kind |= opStrings
		}
		v = append(v, kind)
		v = binary.LittleEndian.AppendUint32(v, g.key.event())
		v = binary.LittleEndian.AppendUint32(v, uint32(g.key.day()))
		v = append(v, g.brand[:]...)
		v = binary.LittleEndian.AppendUint32(v, uint32(len(g.ids)))
		for _, e := range g.ids {
			v = binary.LittleEndian.AppendUint64(v, uint64(e.mixed))
		}
		if strings {
			for _, e := range g.ids {
				v = append(binary.AppendUvarint(v, uint64(len(e.id))), e.id...)
			}
		}
	}
	return seal(tagJournal, journalKey(seq), v)
}

// openRecord decodes a sealed record. Its groups share nothing with the value.
func openRecord(seq uint64, value []byte) ([]group, error) {
	p, ok := unseal(tagJournal, journalKey(seq), value)
	if !ok {
		return nil, corruptf("journal record %d: checksum does not hold", seq)
	}
	var groups []group
	for len(p) > 0 {
		g, rest, ok := openGroup(p)
		if !ok {
			return nil, corruptf("journal record %d: group %d does not hold together", seq, len(groups))
		}
		groups, p = append(groups, g), rest
	}
	return groups, nil
}

func openGroup(p []byte) (g group, rest []byte, ok bool) {
	if len(p) < groupHeader {
		return g, nil, false
	}
	g.op = p[0] &^ opStrings
	strings := p[0]&opStrings != 0
	day := Day(binary.LittleEndian.Uint32(p[5:]))
	g.key = makeDayKey(binary.LittleEndian.Uint32(p[1:]), day)
	g.brand = placement.Brand(p[9:12])
	n := binary.LittleEndian.Uint32(p[12:])
	p = p[groupHeader:]
	if (g.op != opMark && g.op != opUnmark) || !day.Valid() || uint64(n) > uint64(len(p)/8) {
		return g, nil, false
	}
	g.ids = make([]idEntry, n)
	for i := range g.ids {
		g.ids[i].mixed = placement.Mixed(binary.LittleEndian.Uint64(p[8*i:]))
	}
	p = p[8*n:]
	if !strings {
		return g, p, true
	}
	for i := range g.ids {
		length, w := binary.Uvarint(p)
		if w <= 0 || length > uint64(len(p)-w) {
			return g, nil, false
		}
		g.ids[i].id, p = string(p[w:w+int(length)]), p[w+int(length):]
	}
	return g, p, true
}

// number gives the records of a commit their sequence numbers, up to the draft's
// new last one.
func (d *draft) number(r records) {
	d.seq += uint64(len(r))
	d.records += len(r)
	if d.oldest.IsZero() {
		d.oldest = time.Now()
	}
}

// putRecords writes numbered records, whose numbers must be the journal's next.
func (w *writer) putRecords(rs records) error {
	for i, r := range rs {
		seq, err := w.journal().NextSequence()
		if err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if want := w.draft.seq - uint64(len(rs)-1-i); seq != want {
			return corruptf("journal: the next record is %d, not %d", seq, want)
		}
		if err := w.journal().Put(journalKey(seq), r.seal(seq, w.set.keepStrings())); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	return nil
}

// replay applies the journal to a draft: what a store that was not closed, or
// is open for reading, has beyond its chunks.
func (w *writer) replay() error {
	live, err := w.eventNumbers()
	if err != nil {
		return err
	}
	w.draft.seq = w.journal().Sequence()
	last := w.draft.seq // where the journal is empty
	c := w.journal().Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if len(k) != 8 {
			return corruptf("journal: a key of %d bytes", len(k))
		}
		seq := binary.BigEndian.Uint64(k)
		if w.draft.records > 0 && seq != last+1 {
			return corruptf("journal: record %d follows record %d", seq, last)
		}
		last = seq
		w.draft.records++
		groups, err := openRecord(seq, v)
		if err != nil {
			return err
		}
		if err := w.replayStrings(groups); err != nil {
			return fmt.Errorf("journal record %d: %w", seq, err)
		}
		for _, g := range groups {
			if err := w.replayGroup(seq, g, live[g.key.event()]); err != nil {
				return fmt.Errorf("journal record %d: %w", seq, err)
			}
		}
	}
	if last != w.draft.seq {
		return corruptf("journal: it ends with record %d, not %d", last, w.draft.seq)
	}
	return nil
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
			if _, _, err := w.register(g.brand, e.mixed, e.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// replayGroup applies one group. Its ids are registered even where its event
// or day is gone or its bits are folded already.
func (w *writer) replayGroup(seq uint64, g group, live bool) error {
	if live {
		v, err := lookup(w.folded(), g.key.bytes(), foldedHolds)
		if err != nil {
			return err
		}
		if v != nil {
			upTo, err := unsealFolded(g.key.bytes(), v)
			if err != nil {
				return err
			}
			live = seq > upTo
		}
	}
	for _, e := range g.ids {
		if g.op == opMark {
			if _, _, err := w.register(g.brand, e.mixed, e.id); err != nil {
				return err
			}
		}
		if !live {
			continue
		}
		pos := e.mixed.Placement()
		set, base, err := w.bit(g.key, pos)
		if err != nil {
			return err
		}
		if set != (g.op == opMark) {
			w.draft.setBit(g.key, pos>>w.set.chunkBits(), pos, !set, base)
		}
	}
	return nil
}

// eventNumbers returns the numbers of the events there are. No two may have the
// same, and the next one must be another.
func (r *reader) eventNumbers() (map[uint32]bool, error) {
	live := make(map[uint32]bool)
	c := r.events().Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		e, err := unsealEvent(k, v)
		if err != nil {
			return nil, err
		}
		if live[e.number] || uint64(e.number) > r.events().Sequence() {
			return nil, corruptf("event %q: number %d is used twice, or will be", k, e.number)
		}
		live[e.number] = true
	}
	return live, nil
}
