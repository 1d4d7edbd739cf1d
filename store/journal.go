package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"cohort/placement"
)

// The journal makes operations durable at the price of their own bytes, long
// before they reach the chunks of their days. Its records are numbered by
// sequence numbers that never restart. Where there are many marks they go to
// the log beside the file (see journalLog), one a group commit. What needs a
// transaction anyway, and all of a store that is not open for long, goes to a
// bucket: records of about recordBytes, as many as a commit needs. The payload is a
// row of groups, in the order in which their operations took effect on each day:
//
//	op u8 | event number u32 | day i32 | brand 3 bytes | n u32 |
//	n × mixed u64 | with opPositions set in op: n × position u32 |
//	of opField: n × value i64 | with opStrings: n × (length uvarint, string)
//
// Positions are there in dense stores. A string is kept where the mark registered
// its id, otherwise its length is 0. Of a visit, the number is that of the page, and
// in place of the mixed values stand the hashes of the ids, without positions and
// strings. Of a field, the number is that of the field, and the day the one behind
// the last; opFieldClear takes values away, and registers nobody.
//
// Operations are states, not changes ("this bit is set now"), so replaying a
// record whose effect is already in the chunks changes nothing.
const (
	opMark       = 1
	opUnmark     = 2
	opVisit      = 3
	opField      = 4
	opFieldClear = 5
	opPositions  = 0x40
	opStrings    = 0x80

	groupHeader = 16

	// recordBytes is where a commit begins another record: four fill a page of
	// 4096 bytes, which bbolt then writes once. A commit of 1,000 marks in one
	// record wrote the two or three of the commits before again.
	recordBytes = 976
)

// group is the operations of one kind on one day in a journal record.
type group struct {
	op    byte
	key   dayKey // of a visit, with the page's number for an event's
	brand placement.Brand
	ids   []idEntry

	values []int64 // of opField, one an id
}

// records collects the operations of one commit.
type records []*record

// add appends an operation, and returns the group it is in. Its id carries a string
// where it is to be kept.
func (r *records) add(s settings, kind byte, k dayKey, b placement.Brand, e idEntry) *group {
	size := s.opBytes(kind) + len(e.id)
	if n := len(*r); n == 0 || (*r)[n-1].size+size > recordBytes {
		*r = append(*r, new(record))
	}
	last := (*r)[len(*r)-1]
	last.size += size
	return last.add(kind, k, b, e)
}

// positioned reports whether the operations of a kind come with their positions.
func (s settings) positioned(kind byte) bool { return s.dense() && kind != opVisit }

// opBytes is what an operation takes in a record, without strings.
func (s settings) opBytes(kind byte) int {
	n := 8
	if s.positioned(kind) {
		n += 4
	}
	if kind == opField {
		n += 8
	}
	return n
}

// record collects the operations of one journal record.
type record struct {
	groups []*group
	last   map[dayKey]*group
	size   int // bytes, about
}

// add appends an operation, and returns the group it is in.
func (r *record) add(kind byte, k dayKey, b placement.Brand, e idEntry) *group {
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
	return g
}

// seal encodes the record.
func (r *record) seal(s settings, seq uint64) []byte {
	v := r.encode(make([]byte, sealSize, sealSize+r.size), s)
	return seal(tagJournal, journalKey(seq), v)
}

// encode appends the record's groups to v.
func (r *record) encode(v []byte, s settings) []byte {
	for _, g := range r.groups {
		kind := g.op
		positions, strings := s.positioned(g.op), s.keepStrings() && g.op != opVisit
		if strings {
			kind |= opStrings
		}
		if positions {
			kind |= opPositions
		}
		v = append(v, kind)
		v = binary.LittleEndian.AppendUint32(v, g.key.event())
		v = binary.LittleEndian.AppendUint32(v, uint32(g.key.day()))
		v = append(v, g.brand[:]...)
		v = binary.LittleEndian.AppendUint32(v, uint32(len(g.ids)))
		for _, e := range g.ids {
			v = binary.LittleEndian.AppendUint64(v, uint64(e.mixed))
		}
		if positions {
			for _, e := range g.ids {
				v = binary.LittleEndian.AppendUint32(v, e.pos)
			}
		}
		for _, value := range g.values {
			v = binary.LittleEndian.AppendUint64(v, uint64(value))
		}
		if strings {
			for _, e := range g.ids {
				v = append(binary.AppendUvarint(v, uint64(len(e.id))), e.id...)
			}
		}
	}
	return v
}

// openRecord decodes a record's payload. Its groups share nothing with it.
func openRecord(s settings, seq uint64, p []byte) ([]group, error) {
	var groups []group
	for len(p) > 0 {
		g, rest, ok := openGroup(s, p)
		if !ok {
			return nil, corruptf("journal record %d: group %d does not hold together", seq, len(groups))
		}
		groups, p = append(groups, g), rest
	}
	return groups, nil
}

func openGroup(s settings, p []byte) (g group, rest []byte, ok bool) {
	if len(p) < groupHeader {
		return g, nil, false
	}
	g.op = p[0] &^ (opStrings | opPositions)
	strings, positions := p[0]&opStrings != 0, p[0]&opPositions != 0
	day := Day(binary.LittleEndian.Uint32(p[5:]))
	g.key = makeDayKey(binary.LittleEndian.Uint32(p[1:]), day)
	g.brand = placement.Brand(p[9:12])
	n := binary.LittleEndian.Uint32(p[12:])
	p = p[groupHeader:]
	width := s.opBytes(g.op)
	ofField := g.op == opField || g.op == opFieldClear
	if g.op < opMark || g.op > opFieldClear || day.Valid() == ofField || ofField && day != fieldDay ||
		uint64(n) > uint64(len(p)/width) || positions != s.positioned(g.op) {
		return g, nil, false
	}
	g.ids = make([]idEntry, n)
	for i := range g.ids {
		e := &g.ids[i]
		e.mixed = placement.Mixed(binary.LittleEndian.Uint64(p[8*i:]))
		e.pos = e.mixed.Placement()
		if positions {
			e.pos = binary.LittleEndian.Uint32(p[8*int(n)+4*i:])
		}
	}
	if g.op == opField {
		g.values = make([]int64, n)
		for i := range g.values {
			g.values[i] = int64(binary.LittleEndian.Uint64(p[(width-8)*int(n)+8*i:]))
		}
	}
	p = p[width*int(n):]
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

// number gives the next so many records their sequence numbers.
func (d *draft) number(records int) {
	d.seq += uint64(records)
	if d.oldest.IsZero() {
		d.oldest = time.Now()
	}
}

// putRecords writes the records of a commit into the store's file. The draft's
// sequence number is that of the last.
func (w *writer) putRecords(rs records) error {
	first := w.draft.seq - uint64(len(rs)) + 1
	for i, r := range rs {
		seq := first + uint64(i)
		if err := w.journal().Put(journalKey(seq), r.seal(w.set, seq)); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
	}
	if err := w.journal().SetSequence(w.draft.seq); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// journalState returns where the journal stands, and whether that was noted.
func (r *reader) journalState() (j journalState, ok bool, err error) {
	v := r.tx.Bucket(bucketMeta).Get(keyJournal)
	if v == nil {
		return j, false, nil
	}
	j, err = unsealJournalState(v)
	return j, err == nil, err
}

// putFloor notes up to where the journal is not needed any more.
func (w *writer) putFloor(floor uint64) error {
	j, _, err := w.journalState()
	if err != nil {
		return err
	}
	return w.putJournalState(journalState{floor, j.log})
}

func (w *writer) putJournalState(j journalState) error {
	if err := w.tx.Bucket(bucketMeta).Put(keyJournal, j.seal()); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}
