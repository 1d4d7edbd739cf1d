package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"slices"
	"strings"

	"cohort/placement"
)

// FieldLoad says how rows are brought into a field.
type FieldLoad struct {
	// Add adds the values to those there are. Default: they replace them.
	Add      bool
	Overflow Overflow // of Add

	// Batch is a name under which the store remembers how many of the rows are in, in
	// the commit that brings them in. A load with the same name and the same rows in
	// the same order goes on where the last one ended, so that each row is added once
	// however often it is run. Other rows are refused with ErrBatch. Default: rows are
	// not counted.
	Batch string

	// Refused is called with the index and the reason of each row that is refused when
	// its part of the load is committed: *SharedError, or *RangeError of an addition.
	// It may use the store. Default: the first such row ends the load with its error;
	// the rows before it are in, none after.
	Refused func(row uint64, err error)
}

// FieldTally counts what became of the rows of a load.
type FieldTally struct {
	Rows    uint64 // that are in: set or added
	Changed uint64 // of Rows: those after which the id had another value, or its first
	Refused uint64 // at their commit
	Skipped uint64 // that an earlier run of the batch brought in, or was refused
}

// loadValues is how many rows a FieldLoader commits at once: 40 bytes of memory each.
const loadValues = 1 << 18

// FieldLoader brings many rows into a field, past the journal. It is for one
// goroutine.
type FieldLoader struct {
	db    *DB
	ctx   context.Context // of the load; ends it at a commit
	field Field
	opts  FieldLoad
	size  int // rows of a commit

	first uint64 // index of rows[0]
	rows  []fieldRow
	tally FieldTally
	sum   hash.Hash   // of all rows, of a batch
	done  batchRecord // of the earlier runs
	ended error       // why it takes no more rows
}

// fieldRow is one value to be set, or added.
type fieldRow struct {
	index uint64 // in the load
	id    string
	mixed placement.Mixed
	brand placement.Brand
	value int64
}

// LoadField begins a load into a field that was defined. Errors: ErrNoField,
// ErrReadOnly, ErrInvalidField for the name of the batch.
func (db *DB) LoadField(ctx context.Context, field string, opts FieldLoad) (*FieldLoader, error) {
	if int(opts.Overflow) >= len(overflowNames) {
		return nil, fmt.Errorf("field %q: %v", field, opts.Overflow)
	}
	if opts.Batch != "" {
		if err := CheckField(opts.Batch); err != nil {
			return nil, fmt.Errorf("batch: %w", err)
		}
	}
	if err := db.enter(); err != nil {
		return nil, err
	}
	defer db.leave()
	if db.cfg.ReadOnly {
		return nil, fmt.Errorf("%s: %w", db.cfg.Path, ErrReadOnly)
	}
	l := &FieldLoader{db: db, ctx: ctx, opts: opts, size: loadValues}
	err := db.read("load", func(r *reader) error {
		f, ok, err := r.field(field)
		if err == nil && !ok {
			err = fmt.Errorf("field %q: %w", field, ErrNoField)
		}
		if err == nil && opts.Batch != "" {
			l.sum = sha256.New()
			l.done, err = r.batch(f.number, opts.Batch)
		}
		l.field = f
		return err
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Add takes a row: a value to set, or to add. The id is copied where it is kept. A
// row that SetField would refuse whatever the store holds is refused: it counts for
// nothing, and the load goes on. Any other error is that of a commit, and ends it.
func (l *FieldLoader) Add(id string, value int64) error {
	if l.ended != nil {
		return l.ended
	}
	brand, mixed, err := l.db.set.ids.Parse(id)
	if err != nil {
		return err
	}
	if l.field.Brand.IsZero() {
		l.field.Brand = brand
	}
	if l.field.Brand != brand {
		return &FieldBrandError{Field: l.field.Name, FieldBrand: l.field.Brand, ID: id, OffendBrand: brand}
	}
	if !l.opts.Add {
		if _, err := SetTo(l.field.Name, value).apply(l.field, id, fieldState{}); err != nil {
			return err
		}
	}
	if l.sum != nil {
		if skip, err := l.count(id, value); skip || err != nil {
			l.ended = err
			return err
		}
	}
	l.rows = append(l.rows, fieldRow{l.first + uint64(len(l.rows)), strings.Clone(id), mixed, brand, value})
	if len(l.rows) >= l.size {
		l.ended = l.commit(false)
	}
	return l.ended
}

// count counts a row of a batch, and reports whether an earlier run has it.
func (l *FieldLoader) count(id string, value int64) (skip bool, err error) {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, 16+len(id)), uint64(value))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(id)))
	_, _ = l.sum.Write(append(b, id...)) // a hash never fails
	if l.first >= l.done.rows {
		if l.done.done {
			return false, l.batchError("it is done with %d rows, and this run has more", l.done.rows)
		}
		return false, nil
	}
	l.first++
	l.tally.Skipped++
	if l.first == l.done.rows && [32]byte(l.sum.Sum(nil)) != l.done.sum {
		return false, l.batchError("its first %d rows were others than those of this run", l.done.rows)
	}
	return true, nil
}

func (l *FieldLoader) batchError(format string, args ...any) error {
	return fmt.Errorf("batch %q of field %q: %w: %s", l.opts.Batch, l.field.Name, ErrBatch, fmt.Sprintf(format, args...))
}

// Committed counts the rows that are on disk.
func (l *FieldLoader) Committed() FieldTally { return l.tally }

// Close commits the rows that are left, and marks the batch, if it is one, as done.
// The tally counts what is on disk, also with an error.
func (l *FieldLoader) Close() (FieldTally, error) { return l.end(true) }

// Stop is Close of a load that ends before its rows do: the batch goes on with the
// next run.
func (l *FieldLoader) Stop() (FieldTally, error) { return l.end(false) }

func (l *FieldLoader) end(done bool) (FieldTally, error) {
	if l.ended == nil && done && l.first < l.done.rows {
		l.ended = l.batchError("%d rows of it are in, and this run had only %d", l.done.rows, l.first)
	}
	err := l.ended
	if err == nil && (len(l.rows) > 0 || done && l.sum != nil && !l.done.done) {
		err = l.commit(done)
	}
	l.ended = fmt.Errorf("field %q: the load has ended", l.field.Name)
	return l.tally, err
}

// commit brings the rows at hand in, and tells of those that are refused. By then it
// holds nothing: the function it tells may use the store.
func (l *FieldLoader) commit(last bool) error {
	refusals, err := l.commitRows(last)
	if err != nil {
		return err
	}
	for _, r := range refusals {
		if l.opts.Refused == nil {
			return fmt.Errorf("row %d: %w", r.index, r.err)
		}
		l.tally.Refused++
		l.opts.Refused(r.index, r.err)
	}
	return nil
}

// commitRows brings the rows at hand in, in one transaction, and returns those that are
// refused, in order. They are found in attempts that are given up; the last one is
// without them.
func (l *FieldLoader) commitRows(last bool) (refusals []refusedRow, err error) {
	if err := l.db.enter(); err != nil {
		return nil, err
	}
	defer l.db.leave()
	l.db.chunkMu.Lock()
	defer l.db.chunkMu.Unlock()
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	rows, upTo := l.rows, l.first+uint64(len(l.rows))
	var changed uint64
	for {
		var bad []refusedRow
		changed, bad, err = l.attempt(rows, batchRecord{rows: upTo, done: last})
		if err != nil {
			return nil, err
		}
		if len(bad) == 0 {
			break
		}
		if l.opts.Refused != nil {
			refusals, rows = append(refusals, bad...), without(rows, bad)
			continue
		}
		refusals, upTo = bad[:1], bad[0].index
		if l.sum != nil {
			return nil, fmt.Errorf("row %d: %w; none of the %d rows of this commit is in", upTo, bad[0].err, len(l.rows))
		}
		rows = rows[:upTo-l.first]
	}
	l.tally.Rows += uint64(len(rows))
	l.tally.Changed += changed
	l.first, l.rows = upTo, l.rows[:0]
	slices.SortFunc(refusals, func(a, b refusedRow) int { return cmp.Compare(a.index, b.index) })
	return refusals, nil
}

// attempt brings rows in, unless some are refused; these it returns, in order. Changed
// is how many changed a value.
func (l *FieldLoader) attempt(rows []fieldRow, b batchRecord) (changed uint64, bad []refusedRow, err error) {
	err = l.db.rewrite(fmt.Sprintf("field %q", l.field.Name), func(w *writer) (bool, error) {
		if changed, bad, err = w.loadField(l.field, rows, l.opts); err != nil || len(bad) > 0 {
			return false, err
		}
		if l.sum == nil {
			return true, nil
		}
		b.sum = [32]byte(l.sum.Sum(nil))
		return true, w.putBatch(l.field.number, l.opts.Batch, b)
	})
	return changed, bad, err
}

// SetFieldMany sets the values of a sequence of ids, in order, and returns when they
// are on disk, with how many. It commits as it goes, 262,144 rows at a time, and what
// is left at the end. The first row that SetField would refuse ends it with an error
// that tells the row's index: all rows before are in, none after. Setting is
// repeatable. The sequence runs outside of any transaction.
//
// Cost: each commit writes the slices of the chunks that have one of its ids, past the
// journal: for a few ids SetField is cheaper.
func (db *DB) SetFieldMany(ctx context.Context, field string, values iter.Seq2[string, int64]) (uint64, error) {
	return db.loadMany(ctx, field, values, FieldLoad{})
}

// AddFieldMany adds the values of a sequence of ids, and is else as SetFieldMany. After
// an error the number of rows says how many were added; to be sure of it even after a
// crash, use LoadField with a batch.
func (db *DB) AddFieldMany(ctx context.Context, field string, values iter.Seq2[string, int64], o Overflow) (uint64, error) {
	return db.loadMany(ctx, field, values, FieldLoad{Add: true, Overflow: o})
}

func (db *DB) loadMany(ctx context.Context, field string, values iter.Seq2[string, int64], opts FieldLoad) (uint64, error) {
	l, err := db.LoadField(ctx, field, opts)
	if err != nil {
		return 0, err
	}
	row := uint64(0)
	for id, value := range values {
		if err := l.Add(id, value); err != nil {
			if l.ended == nil { // of this row alone
				err = fmt.Errorf("row %d: %w", row, err)
			}
			t, endErr := l.Stop()
			if endErr != nil && l.tally.Rows < row {
				err = endErr
			}
			return t.Rows, err
		}
		row++
	}
	t, err := l.Close()
	return t.Rows, err
}
