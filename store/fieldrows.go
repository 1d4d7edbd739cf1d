package store

import (
	"cmp"
	"slices"
)

// refusedRow is a row that cannot be brought in.
type refusedRow struct {
	index uint64
	err   error
}

// loadField writes rows into the slices of a field, with what the journal has of it.
// It returns how many changed a value, and the rows that are refused, in order; where
// there are any the transaction is of no use.
func (w *writer) loadField(of Field, rows []fieldRow, opts FieldLoad) (changed uint64, bad []refusedRow, err error) {
	f, ok, err := w.field(of.Name)
	switch {
	case err != nil:
		return 0, nil, err
	case !ok || f.number != of.number:
		return 0, nil, ErrNoField // deleted meanwhile
	case len(rows) == 0:
		return 0, nil, nil
	}
	if f, err = w.bindField(f.Name, rows[0].id, rows[0].brand); err != nil {
		return 0, nil, err
	}
	bad, later, err := w.sharedRows(rows)
	if err != nil || len(bad) > 0 {
		return 0, bad, err
	}
	rows = without(rows, later)
	if err := w.foldAllOf(&f); err != nil {
		return 0, nil, err
	}
	entries := make([]idEntry, len(rows))
	for i, r := range rows {
		entries[i] = idEntry{mixed: r.mixed}
		if w.set.keepStrings() {
			entries[i].id = r.id
		}
	}
	positions, err := w.positionsOf(f.Brand, entries)
	if err != nil {
		return 0, nil, err
	}
	if changed, bad, err = w.writeRows(&f, rows, positions, opts); err != nil || len(bad) > 0 {
		return 0, bad, err
	}
	if len(later) > 0 { // each behind a row of another id that nothing else refuses
		return 0, later, nil
	}
	if err := w.closeField(f); err != nil {
		return 0, nil, err
	}
	return changed, nil, w.markFolded(fieldKey(f.number))
}

// without returns the rows that are not refused.
func without(rows []fieldRow, refused []refusedRow) []fieldRow {
	if len(refused) == 0 {
		return rows
	}
	indexes := make(map[uint64]bool, len(refused))
	for _, r := range refused {
		indexes[r.index] = true
	}
	return slices.DeleteFunc(slices.Clone(rows), func(r fieldRow) bool { return indexes[r.index] })
}

// foldAllOf folds what the journal has of a field.
func (w *writer) foldAllOf(f *Field) error {
	for _, k := range w.view.fieldChunks(f.number) {
		if _, err := w.mergeField(f, k.number(), w.view.fieldOpsOf(k)); err != nil {
			return err
		}
		w.draft.dropFieldOps(k)
	}
	return nil
}

// sharedRows finds, in a hashed store, the rows whose ids share their placement with
// another known id, and those that share it with the id of a row before.
func (w *writer) sharedRows(rows []fieldRow) (bad, later []refusedRow, err error) {
	if w.set.positions != Hashed {
		return nil, nil, nil
	}
	met := make(map[uint32]int, len(rows))
	lookup := w.reader
	lookup.opened = new(opened) // the registry does not change before all are looked up
	for i, r := range rows {
		at, err := lookup.known(r.brand, r.mixed)
		if err != nil {
			return nil, nil, err
		}
		if at.others {
			bad = append(bad, refusedRow{r.index, w.sharedError(r.id, r.brand, r.mixed)})
			continue
		}
		first, there := met[r.mixed.Placement()]
		if !there {
			met[r.mixed.Placement()] = i
		} else if rows[first].mixed != r.mixed {
			later = append(later, refusedRow{r.index, &SharedError{ID: r.id, Other: rows[first].id}})
		}
	}
	return bad, later, nil
}

// writeRows sets or adds the values of rows at their positions, and returns how many
// changed a value, and those that leave the field's range.
func (w *writer) writeRows(f *Field, rows []fieldRow, positions []uint32, opts FieldLoad) (changed uint64, bad []refusedRow, err error) {
	order := make([]uint64, len(rows)) // position above index
	for i, pos := range positions {
		order[i] = uint64(pos)<<32 | uint64(i)
	}
	slices.Sort(order)
	bits := w.set.chunkBits()
	for len(order) > 0 {
		number := uint32(order[0]>>32) >> bits
		n := 0
		for n < len(order) && uint32(order[n]>>32)>>bits == number {
			n++
		}
		part := order[:n]
		order = order[n:]
		states, err := w.statesAt(*f, number, part)
		if err != nil {
			return 0, nil, err
		}
		ops, c, refused := applyRows(*f, rows, part, states, opts)
		changed, bad = changed+c, append(bad, refused...)
		if len(bad) == 0 && c > 0 {
			if _, err := w.mergeField(f, number, ops); err != nil {
				return 0, nil, err
			}
		}
	}
	slices.SortFunc(bad, func(a, b refusedRow) int { return cmp.Compare(a.index, b.index) })
	return changed, bad, nil
}

// applyRows works out what rows, whose positions stand above their indexes in order,
// make of the states there: one op a position. It returns how many changed a value, and
// those that are refused.
func applyRows(f Field, rows []fieldRow, order []uint64, states []fieldState, opts FieldLoad) (ops []fieldOp, changed uint64, bad []refusedRow) {
	u := FieldUpdate{Field: f.Name, kind: updateSet, overflow: opts.Overflow}
	if opts.Add {
		u.kind = updateAdd
	}
	for i, o := range order {
		pos, row := uint32(o>>32), rows[uint32(o)]
		if k := len(ops); k == 0 || ops[k-1].pos != pos {
			ops = append(ops, fieldOp{pos: pos, fieldState: states[i]})
		}
		now := &ops[len(ops)-1].fieldState
		u.value = row.value
		next, err := u.apply(f, row.id, *now)
		switch {
		case err != nil:
			bad = append(bad, refusedRow{row.index, err})
		case next != *now:
			changed++
			*now = next
		}
	}
	return ops, changed, bad
}

// statesAt returns what a chunk of a field has at positions, ascending, which stand
// above indexes.
func (r *reader) statesAt(f Field, number uint32, order []uint64) ([]fieldState, error) {
	states := make([]fieldState, len(order))
	s, err := r.slicesOf(f, number, nil)
	if err != nil {
		return nil, err
	}
	i := 0
	s.Values(func(pos uint32, value int64) {
		for i < len(order) && uint32(order[i]>>32) < pos {
			i++
		}
		for ; i < len(order) && uint32(order[i]>>32) == pos; i++ {
			states[i] = fieldState{value, true}
		}
	})
	return states, nil
}
