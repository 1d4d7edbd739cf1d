package store

import (
	"context"
	"errors"
	"fmt"

	"cohort/placement"
)

// Field is an integer per id, as of a snapshot: a level, a score. Like an event it
// belongs to the brand of its first write.
type Field struct {
	Name   string
	Brand  placement.Brand // zero until the first write
	Bits   int             // width, 1 to 63
	Signed bool
	Count  uint64 // ids that have a value
	Bytes  uint64 // of its slices in the file

	number uint32
}

// FieldOptions are fixed when a field is defined. The range of a field is that of
// integers of so many bits: 0 to 2^Bits−1, or −2^(Bits−1) to 2^(Bits−1)−1 if Signed.
// A slice of which no value has the bit takes no room, so that a wide field of small
// values costs what a narrow one does.
type FieldOptions struct {
	Bits   int // 1 to 63
	Signed bool
}

// Limits returns the least and the greatest value of the field.
func (f Field) Limits() (low, high int64) {
	if f.Signed {
		return -1 << (f.Bits - 1), 1<<(f.Bits-1) - 1
	}
	return 0, 1<<f.Bits - 1
}

// String tells width and signedness: 8 bits, signed.
func (o FieldOptions) String() string {
	if o.Signed {
		return fmt.Sprintf("%d bits, signed", o.Bits)
	}
	return fmt.Sprintf("%d bits, unsigned", o.Bits)
}

// CheckField returns ErrInvalidField, with the reason, unless the name is one that
// an event may have. Fields and events are named apart.
func CheckField(name string) error { return checkName(ErrInvalidField, name) }

// DefineField makes a field, and returns when that is on disk. Defining a field again
// with the same options changes nothing; with others it is ErrMismatch. Further
// errors: ErrInvalidField, ErrReadOnly, a width that is none, or why the commit failed.
func (db *DB) DefineField(ctx context.Context, name string, o FieldOptions) (f Field, err error) {
	if err := CheckField(name); err != nil {
		return f, err
	}
	if o.Bits < 1 || o.Bits > maxFieldBits {
		return f, fmt.Errorf("field %q: %d bits are outside 1 to %d", name, o.Bits, maxFieldBits)
	}
	err = db.changeField(ctx, name, func(w *writer) (bool, error) {
		old, ok, err := w.field(name)
		if err != nil {
			return false, err
		}
		if ok {
			f = old
			if have := (FieldOptions{f.Bits, f.Signed}); have != o {
				err = fmt.Errorf("%w: it has %v, not %v", ErrMismatch, have, o)
			}
			return false, err
		}
		bucket, err := w.tx.CreateBucketIfNotExists(bucketFields)
		if err != nil {
			return false, err
		}
		number, err := nextNumber(bucket)
		if err != nil {
			return false, err
		}
		f = Field{Name: name, Bits: o.Bits, Signed: o.Signed, number: number}
		return true, w.putField(f)
	})
	return f, err
}

// DeleteField removes a field with its values, and what is noted of its batches, and
// returns when that is on disk. The ids stay known. ErrNoField where there is none of
// the name.
func (db *DB) DeleteField(ctx context.Context, name string) error {
	return db.changeField(ctx, name, func(w *writer) (bool, error) {
		f, ok, err := w.field(name)
		if err == nil && !ok {
			err = ErrNoField
		}
		if err == nil {
			err = w.dropField(f)
		}
		return true, err
	})
}

// changeField runs fn in a transaction that makes or removes a field.
func (db *DB) changeField(ctx context.Context, name string, fn func(w *writer) (bool, error)) error {
	if err := db.enter(); err != nil {
		return err
	}
	defer db.leave()
	db.chunkMu.Lock()
	defer db.chunkMu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return db.rewrite(fmt.Sprintf("field %q", name), fn)
}

// dropField removes a field with all that the file and the journal have of it.
func (w *writer) dropField(f Field) error {
	for _, k := range w.view.fieldChunks(f.number) {
		w.draft.dropFieldOps(k)
	}
	if all := w.fieldSlices(); all != nil && all.Bucket(fieldBucketKey(f.number)) != nil {
		if err := all.DeleteBucket(fieldBucketKey(f.number)); err != nil {
			return err
		}
	}
	if err := w.dropBatches(f.number); err != nil {
		return err
	}
	return w.fields().Delete([]byte(f.Name))
}

// Field returns the field of a name; ok is false where none was defined.
func (s *Snapshot) Field(name string) (f Field, ok bool, err error) {
	err = s.do(fmt.Sprintf("field %q", name), func() error {
		f, ok, err = s.field(name)
		f.Count = s.countOf(f)
		return err
	})
	return f, ok && err == nil, err
}

// Fields lists the fields, in order of the names' bytes.
func (s *Snapshot) Fields() (fields []Field, err error) {
	err = s.do("fields", func() error {
		fields, err = s.allFields()
		for i := range fields {
			fields[i].Count = s.countOf(fields[i])
		}
		return err
	})
	return fields, err
}

// countOf returns how many ids have a value, of a field as it stands in the file.
func (r *reader) countOf(f Field) uint64 {
	n := int64(f.Count)
	for _, k := range r.view.fieldChunks(f.number) {
		o, _ := r.view.fields.Get(k)
		n += o.delta
	}
	return uint64(n)
}

// field returns a field as it stands in the file.
func (r *reader) field(name string) (f Field, ok bool, err error) {
	v, err := lookup(r.fields(), []byte(name), fieldHolds)
	if v == nil || err != nil {
		return f, false, err
	}
	f, err = unsealField([]byte(name), v)
	return f, err == nil, err
}

func (r *reader) allFields() (fields []Field, err error) {
	bucket := r.fields()
	if bucket == nil {
		return nil, nil
	}
	c := bucket.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		f, err := unsealField(k, v)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// fieldNumbers returns the fields by number. No two may have the same, and the next
// one must be another.
func (r *reader) fieldNumbers() (map[uint32]Field, error) {
	fields, err := r.allFields()
	live := make(map[uint32]Field, len(fields))
	for _, f := range fields {
		if _, ok := live[f.number]; ok || uint64(f.number) > r.fields().Sequence() {
			return nil, corruptf("field %q: number %d is used twice, or will be", f.Name, f.number)
		}
		live[f.number] = f
	}
	return live, err
}

func (w *writer) putField(f Field) error {
	if err := w.fields().Put([]byte(f.Name), sealField(f)); err != nil {
		return fmt.Errorf("field %q: %w", f.Name, err)
	}
	return nil
}

// bindField returns a field that an id of a brand is to have a value of. The first
// write binds the field to the brand, in a transaction; it refuses another brand than
// the field's.
func (w *writer) bindField(name, id string, b placement.Brand) (Field, error) {
	f, ok, err := w.field(name)
	switch {
	case err != nil:
		return f, err
	case !ok:
		return f, fmt.Errorf("field %q: %w", name, ErrNoField)
	case f.Brand == b:
		return f, nil
	case !f.Brand.IsZero():
		return f, &FieldBrandError{Field: name, FieldBrand: f.Brand, ID: id, OffendBrand: b}
	case !w.tx.Writable():
		return f, errNewEvent
	}
	f.Brand = b
	w.draft.chunks = w.draft.txid // what callers have looked up is of no brand
	return f, w.putField(f)
}

// FieldBrandError says that an id of one brand was given for a field that belongs to
// another. It matches ErrOtherBrand.
type FieldBrandError struct {
	Field       string
	FieldBrand  placement.Brand
	ID          string
	OffendBrand placement.Brand
}

// Error names the field, its brand and the id.
func (e *FieldBrandError) Error() string {
	return fmt.Sprintf("field %q belongs to brand %s: id %q is of brand %s", e.Field, e.FieldBrand, e.ID, e.OffendBrand)
}

// Is makes the error match ErrOtherBrand.
func (e *FieldBrandError) Is(target error) bool { return target == ErrOtherBrand }

// RangeError says that a value lies outside a field's range. It matches ErrRange.
type RangeError struct {
	Field     string
	ID        string
	Value     int64 // that was to be set, or added to Old
	Added     bool
	Old       int64
	Low, High int64 // the range, both inclusive
}

// Error names the field, the id, the value and the range.
func (e *RangeError) Error() string {
	if e.Added {
		return fmt.Sprintf("field %q, id %q: adding %d to %d leaves the range %d to %d", e.Field, e.ID, e.Value, e.Old, e.Low, e.High)
	}
	return fmt.Sprintf("field %q, id %q: %d is outside the range %d to %d", e.Field, e.ID, e.Value, e.Low, e.High)
}

// Is makes the error match ErrRange.
func (e *RangeError) Is(target error) bool { return target == ErrRange }

// SharedError says that an id of a hashed store has no field of its own, for another
// known id stands at its placement. It matches ErrShared.
type SharedError struct {
	ID    string
	Other string // the other id, "" where the store keeps no ids to name
}

// Error names both ids, as far as they are known.
func (e *SharedError) Error() string {
	other := "another known id"
	if e.Other != "" {
		other = fmt.Sprintf("%q", e.Other)
	}
	return fmt.Sprintf("id %q shares its placement with %s, so they would share the values of fields: keep fields in a dense store", e.ID, other)
}

// Is makes the error match ErrShared.
func (e *SharedError) Is(target error) bool { return target == ErrShared }

// sharedError names the ids that share a placement.
func (r *reader) sharedError(id string, b placement.Brand, m placement.Mixed) error {
	e := &SharedError{ID: id}
	ids, err := r.idsIn(b, m.Placement()>>r.set.registryBits())
	if err != nil {
		return err
	}
	for _, other := range ids {
		if other.mixed.Placement() == m.Placement() && other.mixed != m {
			if e.Other, err = r.idOf(b, other); err != nil {
				e.Other = "" // a store that drops its strings
			}
			break
		}
	}
	return e
}

// refused reports whether an error is that of one fact, which fails its request
// alone.
func refused(err error) bool {
	for _, is := range []error{ErrOtherBrand, ErrRange, ErrShared, ErrNoField} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
