package store

import (
	"context"
	"fmt"
	"slices"
)

// Overflow says what adding does where the sum leaves the field's range.
type Overflow uint8

const (
	// Fail: the value stays, and the error is ErrRange. The default.
	Fail Overflow = iota
	// Wrap: the sum goes on at the other end of the range, as machine integers do.
	Wrap
	// Saturate: the value becomes the greatest, or the least, of the range.
	Saturate
)

var overflowNames = [...]string{Fail: "fail", Wrap: "wrap", Saturate: "saturate"}

// String returns "fail", "wrap" or "saturate".
func (o Overflow) String() string {
	if int(o) >= len(overflowNames) {
		return fmt.Sprintf("Overflow(%d)", uint8(o))
	}
	return overflowNames[o]
}

// ParseOverflow reads "fail", "wrap" or "saturate".
func ParseOverflow(s string) (Overflow, error) {
	for o, name := range overflowNames {
		if s == name {
			return Overflow(o), nil
		}
	}
	return 0, fmt.Errorf("overflow %q is none of fail, wrap, saturate", s)
}

// FieldUpdate is what is to be done to one field of an id: see SetTo, AddTo
// and ClearOf.
type FieldUpdate struct {
	Field    string
	kind     byte
	value    int64
	overflow Overflow
}

const (
	updateSet = iota + 1
	updateAdd
	updateClear
)

// SetTo makes a value that of a field.
func SetTo(field string, value int64) FieldUpdate {
	return FieldUpdate{Field: field, kind: updateSet, value: value}
}

// AddTo adds to the value of a field; no value counts as 0.
func AddTo(field string, delta int64, o Overflow) FieldUpdate {
	return FieldUpdate{Field: field, kind: updateAdd, value: delta, overflow: o}
}

// ClearOf takes the value of a field away.
func ClearOf(field string) FieldUpdate { return FieldUpdate{Field: field, kind: updateClear} }

// SetField makes a value that of a field for an id, and returns when that is on disk.
// The id is known from then on. Setting a value again changes nothing.
//
// Errors: ErrNoField unless the field was defined, placement.ErrInvalidID, a
// *RangeError, a *FieldBrandError, a *SharedError in a hashed store where another
// known id stands at the placement, ErrReadOnly, or why the commit failed. When ctx
// ends before the commit has begun, nothing is changed and its error is returned.
//
// Cost: that of Mark. Concurrent callers, of Mark too, share a commit.
func (db *DB) SetField(ctx context.Context, field, id string, value int64) error {
	_, err := db.UpdateFields(ctx, id, SetTo(field, value))
	return err
}

// AddField adds to the value of a field for an id, where no value counts as 0, and
// returns the new value when it is on disk. No addition of concurrent callers is lost:
// each is worked out on the value that the one before it left. Adding is not
// repeatable: after an error of the commit, read the value. Errors and cost are those
// of SetField; a sum outside the range is a *RangeError with Fail.
func (db *DB) AddField(ctx context.Context, field, id string, delta int64, o Overflow) (int64, error) {
	v, err := db.UpdateFields(ctx, id, AddTo(field, delta, o))
	if err != nil {
		return 0, err
	}
	return v[0].Value, nil
}

// ClearField takes the value of a field of an id away, and returns when that is on
// disk. A value that is not there changes nothing, and the id does not become known.
func (db *DB) ClearField(ctx context.Context, field, id string) error {
	_, err := db.UpdateFields(ctx, id, ClearOf(field))
	return err
}

// FieldValues is Snapshot.FieldValues of the store as of the last commit.
func (db *DB) FieldValues(id string, fields ...string) ([]FieldValue, error) {
	s, err := db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }() // a read transaction has nothing to lose
	return s.FieldValues(id, fields...)
}

// UpdateFields updates several fields of one id, all of them or none, and returns
// their new values, in order, when they are on disk. An update sees those before it.
// Errors and cost are those of SetField.
func (db *DB) UpdateFields(ctx context.Context, id string, updates ...FieldUpdate) ([]FieldValue, error) {
	if len(updates) == 0 {
		return nil, nil
	}
	if len(updates) > maxUpdates {
		return nil, fmt.Errorf("id %q: %d updates are more than %d", id, len(updates), maxUpdates)
	}
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer db.leave()
	brand, mixed, err := db.set.ids.Parse(id)
	if err != nil {
		return nil, err
	}
	for _, u := range updates {
		if err := CheckField(u.Field); err != nil {
			return nil, err
		}
		if u.kind < updateSet || u.kind > updateClear || int(u.overflow) >= len(overflowNames) {
			return nil, fmt.Errorf("field %q: an update that does nothing: use SetTo, AddTo or ClearOf", u.Field)
		}
	}
	if db.cfg.ReadOnly {
		return nil, fmt.Errorf("%s: %w", db.cfg.Path, ErrReadOnly)
	}
	f := fact{kind: opField, id: id, brand: brand, mixed: mixed, fields: &fieldWrite{updates: updates}}
	err = db.look("fields", func(r *reader) error { return r.lookFields(&f) })
	if err != nil {
		return nil, err
	}
	if _, err := db.commitOne(ctx, f); err != nil {
		return nil, err
	}
	return f.fields.values, nil
}

// maxUpdates bounds the updates of one call, and with them the record of a group.
const maxUpdates = 1024

// fieldWrite is the updates of a fact, and what came of them.
type fieldWrite struct {
	updates []FieldUpdate
	fields  []Field      // as they stood at the look-up
	folded  []fieldState // of each field, in its slices
	values  []FieldValue // the new ones
}

// lookFields fills in what is folded of the fields of a fact. Where a field is of no
// brand yet, or of another, it leaves that to the committer.
func (r *reader) lookFields(f *fact) error {
	w := f.fields
	w.fields, w.folded = w.fields[:0], w.folded[:0]
	f.folded.chunks = 0
	var err error
	if f.folded.at, err = r.foldedKnown(f.brand, f.mixed); err != nil {
		return err
	}
	if !f.folded.at.placed {
		// The position of an id that is not folded yet: its values may be.
		at := r.view.known(f.brand, r.set, f.mixed)
		f.folded.at.placed, f.folded.at.pos = at.placed, at.pos
	}
	bound := true
	for _, u := range w.updates {
		field, ok, err := r.field(u.Field)
		switch {
		case err != nil:
			return err
		case !ok:
			return fmt.Errorf("field %q: %w", u.Field, ErrNoField)
		case field.Brand != f.brand && !field.Brand.IsZero():
			return &FieldBrandError{Field: u.Field, FieldBrand: field.Brand, ID: f.id, OffendBrand: f.brand}
		}
		bound = bound && field.Brand == f.brand
		var s fieldState
		if f.folded.at.placed {
			if s, err = r.foldedValue(field, f.folded.at.pos); err != nil {
				return fmt.Errorf("field %q: %w", u.Field, err)
			}
		}
		w.fields, w.folded = append(w.fields, field), append(w.folded, s)
	}
	if bound {
		f.folded.chunks = r.view.chunks
	}
	return nil
}

// updateFields carries the updates of a fact out in the transaction. The first write
// binds a field to the brand of the id.
func (w *writer) updateFields(f *fact, rec *records) error {
	if f.folded.chunks == w.view.chunks {
		return w.applyFields(f, rec)
	}
	if err := w.lookFields(f); err != nil {
		return err
	}
	bound := f.folded.chunks == w.view.chunks
	if !bound && !w.tx.Writable() {
		return errNewEvent
	}
	if err := w.applyFields(f, rec); err != nil || bound {
		return err
	}
	for i, v := range f.fields.values {
		if !v.Has {
			continue
		}
		if _, err := w.bindField(f.fields.updates[i].Field, f.id, f.brand); err != nil {
			return err
		}
	}
	return nil
}

// applyFields is updateFields where it is known what is folded. It needs a
// transaction only to name another id. With an error nothing has changed.
func (w *writer) applyFields(f *fact, rec *records) error {
	at := f.folded.at.and(w.view.known(f.brand, w.set, f.mixed))
	if w.set.shares(at) {
		if w.tx == nil {
			return ErrShared // the committer meets it again, and says more
		}
		return w.sharedError(f.id, f.brand, f.mixed)
	}
	changes, err := w.workOutFields(f, at)
	if err != nil || len(changes) == 0 {
		return err
	}
	entry := idEntry{mixed: f.mixed, pos: at.pos}
	if !at.self && slices.ContainsFunc(changes, func(c fieldChange) bool { return c.has }) {
		if entry.pos, err = w.draft.nextPosition(w.set, f.brand, f.mixed); err != nil {
			return err
		}
		if w.set.keepStrings() {
			entry.id = f.id
		}
		w.addID(f.brand, entry, at.others)
	}
	for _, c := range changes {
		w.draft.setField(makeFieldChunk(c.field, entry.pos>>w.set.chunkBits()), entry.pos, c.fieldState, c.base)
		if !c.has {
			rec.add(w.set, opFieldClear, fieldKey(c.field), f.brand, idEntry{mixed: f.mixed, pos: entry.pos})
			continue
		}
		g := rec.add(w.set, opField, fieldKey(c.field), f.brand, entry)
		g.values = append(g.values, c.value)
		entry.id = "" // the record has it
	}
	return nil
}

// fieldChange is a new value of a field.
type fieldChange struct {
	field uint32
	fieldState
	base bool // the slices have a value
}

// workOutFields works out the new values of a fact, and returns those that differ from
// what is there.
func (w *writer) workOutFields(f *fact, at standing) ([]fieldChange, error) {
	updates, fields := f.fields.updates, f.fields.fields
	f.fields.values = make([]FieldValue, len(updates))
	was := make([]fieldState, len(updates))
	for i, u := range updates {
		now := f.fields.folded[i]
		if at.placed {
			if op, ok := w.view.fieldOp(makeFieldChunk(fields[i].number, at.pos>>w.set.chunkBits()), at.pos); ok {
				now = op.fieldState
			}
		}
		was[i] = now
		for j := range i { // the same field, updated before
			if fields[j].number == fields[i].number {
				now = fieldState{f.fields.values[j].Value, f.fields.values[j].Has}
			}
		}
		next, err := u.apply(fields[i], f.id, now)
		if err != nil {
			return nil, err
		}
		f.fields.values[i] = FieldValue{next.value, next.has}
	}
	var changes []fieldChange
	for i, v := range f.fields.values {
		c := fieldChange{fields[i].number, fieldState{v.Value, v.Has}, f.fields.folded[i].has}
		later := slices.ContainsFunc(fields[i+1:], func(other Field) bool { return other.number == c.field })
		if !later && c.fieldState != was[i] {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// apply returns what an update makes of a value.
func (u FieldUpdate) apply(f Field, id string, now fieldState) (fieldState, error) {
	low, high := f.Limits()
	switch u.kind {
	case updateClear:
		return fieldState{}, nil
	case updateSet:
		if u.value < low || u.value > high {
			return now, &RangeError{Field: f.Name, ID: id, Value: u.value, Low: low, High: high}
		}
		return fieldState{u.value, true}, nil
	}
	sum := now.value + u.value // modulo 2⁶⁴, of which the field's range is a divisor
	over, under := sum > high, sum < low
	if u.value > 0 && sum < now.value {
		over, under = true, false
	} else if u.value < 0 && sum > now.value {
		over, under = false, true
	}
	switch {
	case !over && !under:
	case u.overflow == Fail:
		return now, &RangeError{Field: f.Name, ID: id, Value: u.value, Added: true, Old: now.value, Low: low, High: high}
	case u.overflow == Wrap && f.Signed:
		sum = sum << (64 - f.Bits) >> (64 - f.Bits)
	case u.overflow == Wrap:
		sum = int64(uint64(sum) << (64 - f.Bits) >> (64 - f.Bits))
	case over:
		sum = high
	default:
		sum = low
	}
	return fieldState{sum, true}, nil
}
