package main

import (
	"bytes"
	"context"
	"fmt"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/placement"
	"cohort/store"

	"github.com/spf13/cobra"
)

const fieldImportHelp = `--field imports numbers into a field instead, see field: rows have an id and, in the
column of --value, a whole number; there are no events and no times. The value of an id
is set, so importing again changes nothing; rows are new where they changed a value, and
already where they did not. --add adds to it, which is not repeatable: it needs --batch
NAME. The store notes under that name how far the rows have come, with the rows: run
again with the same files after any failure, the import goes on there, and each row is
added once; when all are in, running it again adds nothing. Other rows under the name
are refused.`

// fieldFlags are the flags of an import into a field.
type fieldFlags struct {
	name     string
	value    string
	add      bool
	batch    string
	overflow string
	width    fieldWidth
}

func (f *fieldFlags) addFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.name, "field", "", "import numbers into a `field`")
	fs.StringVar(&f.value, "value", "value", "`column` of the number")
	fs.BoolVar(&f.add, "add", false, "add the numbers to those there are; needs --batch")
	fs.StringVar(&f.batch, "batch", "", "`name` under which the store notes how far --add has come")
	fs.StringVar(&f.overflow, "overflow", "fail", "what a sum outside the range does: `fail` (the row is refused), wrap or saturate")
	f.width.addFlags(cmd)
}

// check returns an error if the flags do not go together.
func (f *fieldFlags) check(cmd *cobra.Command, redis, roaring bool) error {
	changed := cmd.Flags().Changed
	if !changed("field") {
		for _, name := range []string{"value", "add", "batch", "overflow", "bits", "signed"} {
			if changed(name) {
				return usagef("--%s goes with --field only", name)
			}
		}
		return nil
	}
	for _, name := range []string{"event", "event-name", "time", "time-format", "sketch"} {
		if changed(name) {
			return usagef("--field and --%s exclude each other", name)
		}
	}
	if redis || roaring {
		return usagef("--field is for files of rows")
	}
	if err := store.CheckField(f.name); err != nil {
		return &usageError{fmt.Errorf("--field: %w", err)}
	}
	if f.batch != "" { // looked at here, for afterwards the field is made
		if err := store.CheckField(f.batch); err != nil {
			return &usageError{fmt.Errorf("--batch: %w", err)}
		}
	}
	switch {
	case f.add && f.batch == "":
		return usagef("--add is not repeatable: name the rows with --batch, so that running it again adds each of them once")
	case !f.add && (changed("batch") || changed("overflow")):
		return usagef("--batch and --overflow go with --add only: setting a value again changes nothing")
	}
	if _, err := store.ParseOverflow(f.overflow); err != nil {
		return usagef("--%w", err)
	}
	return f.width.check()
}

// columns has rows read with a value in place of a time, and without an event.
func (f *fieldFlags) columns(c *ingest.Columns) {
	if f.name != "" {
		c.Time, c.EventName = f.value, f.name
	}
}

// values brings rows of numbers into a field. It returns as run does.
func (l *load) values(ctx context.Context, db *store.DB, f importFlags) (stop, err error) {
	v, err := loadValues(ctx, db, f.field, l.refused)
	if err != nil {
		return nil, err
	}
	stop, err = l.run(l.app, v, l.in.size, func(bar *progress) error {
		err := l.each(ctx, bar, v.take)
		v.stopped = err != nil
		return err
	})
	if stop == nil {
		stop = l.stopped(v.err)
	}
	return stop, err
}

// valueLoad hands rows to the loader of a field, which tells of some only when it
// commits them that they are refused.
type valueLoad struct {
	kind    placement.Kind
	loader  *store.FieldLoader
	refused *refusedRows
	stopped bool  // not all rows were read
	err     error // of a row that the loader refused: there are too many

	first uint64      // index in the load of rows[0]
	rows  []sourceRow // that the loader took and may still refuse
}

// loadValues begins a load of a field, which is made where there is none.
func loadValues(ctx context.Context, db *store.DB, f fieldFlags, refused *refusedRows) (*valueLoad, error) {
	overflow, err := store.ParseOverflow(f.overflow)
	if err != nil {
		return nil, err
	}
	if _, err := f.width.define(ctx, db, f.name); err != nil {
		return nil, err
	}
	v := &valueLoad{kind: db.Config().IDs, refused: refused}
	v.loader, err = db.LoadField(ctx, f.name, store.FieldLoad{Add: f.add, Overflow: overflow, Batch: f.batch, Refused: v.refuse})
	return v, err
}

// take hands row i of a batch to the loader.
func (v *valueLoad) take(b *ingest.Batch, i int) error {
	if v.err != nil {
		return v.err
	}
	row := v.refused.source(b, i)
	row.text = bytes.Clone(row.text) // the loader may refuse it long after
	v.rows = append(v.rows, row)
	m := &b.Marks[i]
	if err := m.AddValue(v.loader, v.kind); err != nil {
		return err
	}
	if m.Refused != nil {
		v.rows = v.rows[:len(v.rows)-1]
	}
	done := v.loader.Committed()
	if n := done.Rows + done.Refused + done.Skipped - v.first; n > uint64(len(v.rows))/2 {
		v.rows = append(v.rows[:0], v.rows[n:]...)
		v.first += n
	}
	return nil
}

// refuse refuses a row at its commit.
func (v *valueLoad) refuse(row uint64, err error) {
	var m ingest.Mark
	m.RefuseValue(err)
	if err := v.refused.add(v.rows[row-v.first], m.Refused); err != nil && v.err == nil {
		v.err = err
	}
}

// Close commits what is left. What a batch brought in before is already there, and
// what changed no value.
func (v *valueLoad) Close() (store.Tally, error) {
	end := v.loader.Close
	if v.stopped {
		end = v.loader.Stop
	}
	t, err := end()
	return store.Tally{New: t.Changed, Already: t.Rows - t.Changed + t.Skipped}, err
}
