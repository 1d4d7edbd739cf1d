package store

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"cohort/placement"
)

// The journal makes operations durable at the price of their own bytes, long
// before they reach the chunks of their days. Its records are numbered by
// sequence numbers that never restart. Where there are many marks they go to
// the log beside the file (see journalLog), one a group commit. What needs a
// transaction anyway, and all of a store that is not open for long, goes to a
// bucket: records of about recordBytes, as many as a commit needs. The payload is a row of groups, in the order in which their operations took effect
// on each day:
//
//	op u8 | event number u32 | day i32 | brand 3 bytes | n u32 |
//	n × mixed u64 | with opPositions set in op: n × position u32 |
//	of opField: n × value i64 | with opStrings: n × (length uvarint, string)
//
// Positions are there in dense stores. A string is kept where the mark registered its id, otherwise its length is 0.
// Of a visit, the number is that of the page, and in place of the mixed values
// stand the hashes of the ids, without positions and strings.
// Of a field, the number is that of the field, and the day the one behind the last;
// opFieldClear takes values away, and registers nobody.
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
