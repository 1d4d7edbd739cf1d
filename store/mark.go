package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"cohort/placement"
)

// Mark is one fact: the id did the event on the day.
type Mark struct {
	Event string
	ID    string
	Day   Day
}

// Result says what a mark or an unmark did.
type Result uint8

const (
	// New: the mark set the bit.
	New Result = iota + 1
	// Already: the bit was set, and no other known id stands at the placement.
	Already
	// Shared: the bit was set, and another known id stands at the placement. Of
	// an unmark: for that reason the bit was left alone.
	Shared
	// Cleared: the unmark cleared the bit.
	Cleared
	// Absent: there was no bit to clear.
	Absent
)

var resultNames = [...]string{New: "new", Already: "already", Shared: "shared", Cleared: "cleared", Absent: "absent"}

// String returns "new", "already", "shared", "cleared" or "absent".
func (r Result) String() string {
	if r == 0 || int(r) >= len(resultNames) {
		return fmt.Sprintf("Result(%d)", uint8(r))
	}
	return resultNames[r]
}

// MarshalText writes the result as String does.
func (r Result) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Tally counts what became of marks.
type Tally struct{ New, Already, Shared uint64 }

// Marks returns the number of marks counted.
func (t Tally) Marks() uint64 { return t.New + t.Already + t.Shared }

func (t *Tally) count(r Result) {
	switch r {
	case New:
		t.New++
	case Already:
		t.Already++
	case Shared:
		t.Shared++
	}
}

// Mark records that the id did the event on the day, and returns when that is
// on disk. An event belongs to the brand of its first mark. The id is known
// from then on, whatever is unmarked later.
//
// Errors: ErrInvalidEvent, placement.ErrInvalidID, ErrInvalidDay, ErrFutureDay
// for a day later than tomorrow (of the latest day that the clock has shown since the
// store was opened), ErrOtherBrand, ErrReadOnly, or why the commit failed. Where ctx has ended, the mark is not made and ctx's error is returned; a
// commit that has begun is waited for.
//
// Cost: concurrent callers share a commit: one sync of the log beside the file, or
// two of the file where there is no log yet or the event is new. A mark whose bit and
// id are already on disk returns without writing.
func (db *DB) Mark(ctx context.Context, event, id string, day Day) (Result, error) {
	return db.one(ctx, opMark, event, id, day)
}

// Unmark clears the bit of an id on one day, and returns when that is on disk.
// The id stays known. A bit that another known id shares is not cleared: the
// result is Shared. Nothing to clear, in an event never written or on a future
// day too, is Absent. Errors and cost are those of Mark.
func (db *DB) Unmark(ctx context.Context, event, id string, day Day) (Result, error) {
	return db.one(ctx, opUnmark, event, id, day)
}

func (db *DB) one(ctx context.Context, kind byte, event, id string, day Day) (Result, error) {
	if err := db.enter(); err != nil {
		return 0, err
	}
	defer db.leave()
	f, err := db.fact(kind, event, id, day)
	if err != nil {
		return 0, err
	}
	if db.cfg.ReadOnly {
		return 0, fmt.Errorf("%s: %w", db.cfg.Path, ErrReadOnly)
	}
	if kind == opMark {
		if result, err := db.marked(&f); result != 0 || err != nil {
			return result, err
		}
	}
	return db.commitOne(ctx, f)
}

// fact is a mark or unmark whose parts were checked.
type fact struct {
	kind  byte
	event string
	id    string
	brand placement.Brand
	mixed placement.Mixed
	day   Day

	folded folded
	fields *fieldWrite // of opField, in place of event and day
}

// folded is what the chunks and the registry, without the journal, say of a
// mark: that its bit is set, and what is known of its id. Callers look it up, side
// by side; where nothing was folded since, it spares the committer, which all of them
// wait for, most of its work.
type folded struct {
	chunks int    // view.chunks at the look-up; 0 where it was not made
	key    dayKey // of the event's number, which stays while chunks does
	set    bool
	at     standing // its position may be one that the journal has

	// Where a caller found nothing in the journal that is about the mark: these parts of
	// it need no second look.
	ids *brandOps
	ops *chunkOps
}

// fact checks a mark or an unmark.
func (db *DB) fact(kind byte, event, id string, day Day) (fact, error) {
	if err := CheckEvent(event); err != nil {
		return fact{}, err
	}
	brand, mixed, err := db.set.ids.Parse(id)
	if err != nil {
		return fact{}, err
	}
	today := MaxDay
	if kind != opUnmark {
		today = db.todayFor(day)
	}
	if err := checkDay(day, today); err != nil {
		return fact{}, fmt.Errorf("event %q, id %q: %w", event, id, err)
	}
	return fact{kind: kind, event: event, id: id, brand: brand, mixed: mixed, day: day}, nil
}

// todayFor returns the current day, or one that the clock has shown before, by which the
// day can be told not to be later than tomorrow: to read the clock takes a twentieth of a
// mark's time. What was allowed stays so if the clock is set back.
func (db *DB) todayFor(day Day) Day {
	if before := Day(db.reached.Load()); day <= before+1 {
		return before
	}
	today := db.Today()
	db.reached.Store(int32(today))
	return today
}

// checkDay refuses days that are none, and days later than tomorrow.
func checkDay(day, today Day) error {
	if !day.Valid() {
		return fmt.Errorf("%w: %s", ErrInvalidDay, day)
	}
	if day > today+1 {
		return fmt.Errorf("%w: %s is later than tomorrow, %s", ErrFutureDay, day, today+1)
	}
	return nil
}

// marked returns the result of a mark that is on disk already, its id known, or
// 0 where there is something to write. Most marks of a day's activity are
// repeats; they need not wait for a commit that others are in. It fills in what
// is folded of the mark.
func (db *DB) marked(f *fact) (result Result, err error) {
	err = db.look("mark", func(r *reader) error {
		e, ok, err := r.event(f.event)
		if err != nil || !ok || e.brand != f.brand {
			return err
		}
		f.folded, err = r.look(makeDayKey(e.number, f.day), f)
		return err
	})
	v := db.view.Load()
	if err != nil || f.folded.chunks != v.chunks {
		return 0, err
	}
	now := f.now(v, db.set)
	f.folded.ids, f.folded.ops = now.ids, now.ops
	switch {
	case !now.set || !now.at.self:
		return 0, nil
	case db.set.shares(now.at):
		return Shared, nil
	}
	return Already, nil
}

// look returns what is folded of a mark.
func (r *reader) look(k dayKey, f *fact) (was folded, err error) {
	was.chunks, was.key = r.view.chunks, k
	if was.at, err = r.foldedKnown(f.brand, f.mixed); err != nil {
		return was, err
	}
	if !was.at.placed {
		// The position of an id that is not folded yet: its bit may be.
		at := r.view.known(f.brand, r.set, f.mixed)
		was.at.placed, was.at.pos = at.placed, at.pos
	}
	if was.at.placed {
		was.set, err = r.foldedBit(k, was.at.pos)
	}
	return was, err
}

// state is how a mark's bit and id stand.
type state struct {
	set, base bool // the bit is set, and in its chunk
	at        standing

	// Parts of the journal in which there is nothing about the mark.
	ids *brandOps
	ops *chunkOps
}

// now adds what the journal says to what is folded of a mark. An id that got its
// position after the look-up has no bit in a chunk: none was written since.
func (f *fact) now(v *view, s settings) state {
	n := state{set: f.folded.set, base: f.folded.set, at: f.folded.at}
	if n.ids, _ = v.ids.Get(brandKey(f.brand)); n.ids != nil && n.ids != f.folded.ids {
		at := n.ids.known(s, f.mixed)
		if n.at = n.at.and(at); at != s.unknown(f.mixed) {
			n.ids = nil
		}
	}
	if n.at.placed {
		n.ops = v.opsOf(f.folded.key, n.at.pos>>s.chunkBits())
		if o, ok := n.ops.get(n.at.pos, f.folded.ops); ok {
			n.set, n.base, n.ops = o.set, o.base, nil
		}
	}
	return n
}

// CheckEvent returns ErrInvalidEvent, with the reason, unless the name is 1 to
// 255 bytes of UTF-8 without control characters.
func CheckEvent(name string) error { return checkName(ErrInvalidEvent, name) }

// checkName is CheckEvent with the error of what has the name.
func checkName(invalid error, name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "is empty"
	case len(name) > 255:
		reason = fmt.Sprintf("has %d bytes, the limit is 255", len(name))
	case !utf8.ValidString(name):
		reason = "is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		reason = "has a control character"
	default:
		return nil
	}
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return fmt.Errorf("%w: %q %s", invalid, name, reason)
}

// apply carries a fact out in the transaction and adds what it changes to the
// record. One that is refused leaves the transaction as it was.
func (w *writer) apply(f fact, rec *records) (Result, error) {
	switch f.kind {
	case opUnmark:
		return w.unmark(f, rec)
	case opVisit:
		return w.observe(&f, rec)
	case opField:
		return 0, w.updateFields(&f, rec)
	}
	e, err := w.bindEvent(f.event, f.id, f.brand)
	if err != nil {
		return 0, err
	}
	if f.folded.chunks != w.view.chunks {
		if f.folded, err = w.look(makeDayKey(e.number, f.day), &f); err != nil {
			return 0, err
		}
	}
	return w.applyFolded(&f, rec)
}

// applyFolded is apply of a mark of which it is known what is folded. It needs
// no transaction.
func (w *writer) applyFolded(f *fact, rec *records) (Result, error) {
	k := f.folded.key
	now := f.now(w.view, w.set)
	set, at := now.set, now.at
	entry := idEntry{mixed: f.mixed, pos: at.pos}
	if !at.self {
		var err error
		if entry.pos, err = w.draft.nextPosition(w.set, f.brand, f.mixed); err != nil {
			return 0, err
		}
		if w.set.keepStrings() {
			entry.id = f.id
		}
		w.addID(f.brand, entry, at.others)
	}
	if !set {
		w.draft.setBit(k, entry.pos>>w.set.chunkBits(), entry.pos, true, now.base)
	}
	if !set || !at.self {
		rec.add(w.set, opMark, k, f.brand, entry)
	}
	switch {
	case !set:
		return New, nil
	case w.set.shares(at):
		return Shared, nil
	}
	return Already, nil
}

func (w *writer) unmark(f fact, rec *records) (Result, error) {
	e, ok, err := w.event(f.event)
	if err != nil || !ok {
		return Absent, err
	}
	if err := checkBrand(f.event, e.brand, f.id, f.brand); err != nil {
		return 0, err
	}
	k := makeDayKey(e.number, f.day)
	at, err := w.known(f.brand, f.mixed)
	if err != nil || !at.placed {
		return Absent, err
	}
	set, base, err := w.bit(k, at.pos)
	if err != nil || !set {
		return Absent, err
	}
	if w.set.shares(at) {
		return Shared, nil
	}
	w.draft.setBit(k, at.pos>>w.set.chunkBits(), at.pos, false, base)
	rec.add(w.set, opUnmark, k, f.brand, idEntry{mixed: f.mixed, pos: at.pos})
	return Cleared, nil
}

// loadMarks is how many marks MarkMany collects before it commits them as a load
// does, straight into the chunks. A rest of less than journalMax, where writing
// every chunk of a day costs more than it saves, goes through the journal in
// records of recordMarks.
const (
	loadMarks   = 1 << 19
	journalMax  = 1 << 15
	recordMarks = 4096
)

// MarkMany records the marks of a sequence, in order, and returns when they are
// on disk. It commits as it goes, 524,288 marks at a time, and what is left at
// the end. The first mark that Mark would refuse ends it with an error that
// tells the mark's index: all marks before that one are made, none after. When
// ctx ends it returns at the next commit. The tally counts what is on disk.
//
// The sequence runs outside of any transaction, so it may read the store.
func (db *DB) MarkMany(ctx context.Context, marks iter.Seq[Mark]) (Tally, error) {
	l, err := db.Load(ctx)
	if err != nil {
		return Tally{}, err
	}
	l.batch, l.journal = loadMarks, true
	i := 0
	for m := range marks {
		if err := l.Add(m.Event, m.ID, m.Day); err != nil {
			t, closeErr := l.Close()
			switch {
			case closeErr == nil:
				err = fmt.Errorf("mark %d: %w", i, err)
			case errors.Is(err, closeErr): // a commit failed, whatever the mark
			default:
				err = fmt.Errorf("mark %d: %w; %w", i, err, closeErr)
			}
			return t, err
		}
		i++
	}
	return l.Close()
}
