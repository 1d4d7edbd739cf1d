package store

import (
	"fmt"
	"slices"
)

// digestFields adds nothing where no field is defined.
func (s *Snapshot) digestFields(d *digester) error {
	fields, err := s.allFields()
	if err != nil || len(fields) == 0 {
		return err
	}
	d.text("fields")
	d.number(uint64(len(fields)))
	for _, f := range fields {
		d.text(f.Name)
		d.text(f.Brand.String())
		d.text(FieldOptions{f.Bits, f.Signed}.String())
		d.number(s.countOf(f))
		if err := s.digestValues(d, f); err != nil {
			return fmt.Errorf("field %q: %w", f.Name, err)
		}
	}
	return nil
}

// digestValues adds the ids that have a value, in order, with their values.
func (s *Snapshot) digestValues(d *digester, f Field) error {
	positions, values, err := s.fieldTable(f)
	if err != nil || len(positions) == 0 {
		return err
	}
	return s.eachKnown(f.Brand, func(e idEntry) error {
		if i, ok := slices.BinarySearch(positions, e.pos); ok {
			d.number(uint64(e.mixed))
			d.number(uint64(values[i]))
		}
		return nil
	})
}
