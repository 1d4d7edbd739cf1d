package store

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// copyFields copies the fields, with the batches that are done. A value at a placement
// that two ids of a hashed store share becomes that of each of them, as a mark does.
func (c *converter) copyFields([]Event) error {
	fields, err := c.from.allFields()
	if err != nil {
		return err
	}
	for _, f := range fields {
		if err := c.copyField(f); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
		c.done.Fields++
	}
	return nil
}

func (c *converter) copyField(f Field) error {
	to, err := c.to.DefineField(c.ctx, f.Name, FieldOptions{f.Bits, f.Signed})
	if err != nil {
		return err
	}
	to.Brand = f.Brand
	if err := c.to.rewrite("convert", func(w *writer) (bool, error) { return true, w.putField(to) }); err != nil {
		return err
	}
	if err := c.copyBatches(f, to); err != nil {
		return err
	}
	positions, values, err := c.from.fieldTable(f)
	if err != nil || len(positions) == 0 {
		return err
	}
	var rows []fieldRow
	load := func() error {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		err := c.to.rewrite("convert", func(w *writer) (bool, error) {
			_, bad, err := w.loadField(to, rows, FieldLoad{})
			if err == nil && len(bad) > 0 {
				err = bad[0].err
			}
			return true, err
		})
		rows = rows[:0]
		return err
	}
	err = c.from.eachEntry(f.Brand, roaring.BitmapOf(positions...), func(ids []idEntry) error {
		for _, e := range ids {
			i, ok := slices.BinarySearch(positions, e.pos)
			if !ok {
				return corruptf("id %#x has no value at %d", uint64(e.mixed), e.pos)
			}
			id := e.id
			if id == "" {
				if id, err = c.from.idOf(f.Brand, e); err != nil {
					id = fmt.Sprintf("?%08x", e.mixed.Residue()) // a store that drops its strings
				}
			}
			rows = append(rows, fieldRow{id: id, mixed: e.mixed, brand: f.Brand, value: values[i]})
		}
		if len(rows) < loadValues {
			return nil
		}
		return load()
	})
	if err != nil {
		return err
	}
	return load()
}

// copyBatches copies what is noted of the batches of a field.
func (c *converter) copyBatches(from, to Field) error {
	bucket := c.from.fieldBatches()
	if bucket == nil {
		return nil
	}
	return c.to.update("convert", func(w *writer) (bool, error) {
		prefix := fieldBucketKey(from.number)
		cur := bucket.Cursor()
		for k, v := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = cur.Next() {
			b, err := unsealBatch(k, v)
			if err == nil {
				err = w.putBatch(to.number, string(k[len(prefix):]), b)
			}
			if err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// fields compares the values of each field, id by id.
func (m *comparison) fields() error {
	before, err := m.from.allFields()
	if err != nil {
		return err
	}
	after, err := m.made.allFields()
	if err != nil {
		return err
	}
	if len(before) != len(after) {
		return differ("%d fields, not %d", len(after), len(before))
	}
	for i, f := range before {
		if is := after[i]; is.Name != f.Name || is.Brand != f.Brand || is.Bits != f.Bits || is.Signed != f.Signed {
			return differ("field %q, not %q", is.Name, f.Name)
		}
		was, wasValues, err := m.from.fieldTable(f)
		if err != nil {
			return err
		}
		is, isValues, err := m.made.fieldTable(after[i])
		if err != nil {
			return err
		}
		err = m.from.eachKnown(f.Brand, func(e idEntry) error {
			at, err := m.made.known(f.Brand, e.mixed)
			if err != nil {
				return err
			}
			a, hadValue := slices.BinarySearch(was, e.pos)
			b, hasValue := slices.BinarySearch(is, at.pos)
			if hasValue = hasValue && at.self; hadValue != hasValue || hadValue && wasValues[a] != isValues[b] {
				return differ("field %q of the id at placement %d", f.Name, e.mixed.Placement())
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
