package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/store"

	"github.com/spf13/cobra"
)

const fieldImportHelp = `--field imports numbers into a field instead, see field: rows have an id and, in the
column of --value, a whole number; there are no events and no times. The value of an id
is set, so importing again changes nothing. --add adds to it, which is not repeatable:
it needs --batch NAME. The store notes under that name how far the rows have come, with
the rows: run again with the same files after any failure, the import goes on there, and
each row is added once; when all are in, running it again adds nothing. Other rows under
the name are refused.`

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
	for _, name := range []string{"event", "event-name", "time", "time-format", "sketch", "rejects"} {
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

// fieldResult is what became of the rows of an import into a field: rows = values +
// skipped + refused.
type fieldResult struct {
	Field    string                   `json:"field"`
	Rows     uint64                   `json:"rows"`
	Values   uint64                   `json:"values"`
	Skipped  uint64                   `json:"skipped"`
	Refused  uint64                   `json:"refused"`
	Seconds  float64                  `json:"seconds"`
	Files    []string                 `json:"files"`
	Refusals map[ingest.Reason]uint64 `json:"refusals"`
	DryRun   bool                     `json:"dry_run,omitempty"`
}

// importField reads files into a field and reports what became of their rows.
func (a *app) importField(ctx context.Context, f importFlags, names []string) (err error) {
	began := time.Now()
	f.columns.Time, f.columns.EventName = f.field.value, f.field.name
	in, err := await(ctx, func() (*inputs, error) { return openInputs(a.in, names, f) })
	if err != nil {
		return err
	}
	defer closeInto(&err, in)
	db, end, err := a.openToImport(ctx, f)
	if err != nil {
		return err
	}
	defer closeInto(&err, end)
	if _, err := f.field.width.define(ctx, db, f.field.name); err != nil {
		return err
	}
	refusals, err := newRefusals(a, f, in)
	if err != nil {
		return err
	}
	v := &valueLoad{refusals: refusals}
	overflow, err := store.ParseOverflow(f.field.overflow)
	if err != nil {
		return err
	}
	v.loader, err = db.LoadField(ctx, f.field.name, store.FieldLoad{Add: f.field.add, Overflow: overflow, Batch: f.field.batch, Refused: v.refused})
	if err != nil {
		return err
	}
	l := &load{
		app: a, kind: db.Config().IDs, in: in, refusals: refusals, values: v,
		reading: ingest.Reading{Position: in.read.Load}, // without days: rows have numbers
	}
	bar := a.newProgress(in.size)
	stop := l.mark(ctx, nil, bar)
	bar.done()
	finish := v.loader.Close
	if stop != nil {
		finish = v.loader.Stop
	}
	tally, err := finish()
	if err == nil {
		err = v.err
	}
	if stop == nil {
		stop = err
	}
	r := fieldResult{
		Field: f.field.name, Rows: l.rows, Values: tally.Rows, Skipped: tally.Skipped, Seconds: seconds(time.Since(began)),
		Files: names, Refusals: refusals.reasons, DryRun: f.dryRun,
	}
	if l.nulls > 0 {
		a.warnf("%d rows have the id null or undefined, and got a value", l.nulls)
	}
	return a.finishFieldImport(r, stop, f.field.add)
}

// finishFieldImport reports an import into a field, and returns how it ended.
func (a *app) finishFieldImport(r fieldResult, stop error, add bool) error {
	for _, n := range r.Refusals {
		r.Refused += n
	}
	if stop != nil {
		again := "run it again from the start: values that are set already change nothing"
		if add {
			again = "run it again with the same files and batch: it goes on behind them"
		}
		switch {
		case r.DryRun:
			return fmt.Errorf("%w; the store is as it was", stop)
		case errors.Is(stop, store.ErrBatch):
			return fmt.Errorf("%w; give rows that are not in yet another --batch", stop)
		}
		return fmt.Errorf("%w; %d values are in, %d rows were read; %s", stop, r.Values+r.Skipped, r.Rows, again)
	}
	if r.Refused > 0 {
		a.errorf("%d of %d rows refused: %s", r.Refused, r.Rows, byReason(r.Refusals))
	}
	g := &grid{head: []string{"field", "rows", "values", "skipped", "refused", "seconds"}}
	g.add(r.Field, r.Rows, r.Values, r.Skipped, r.Refused, r.Seconds)
	var notes []string
	if r.DryRun {
		notes = append(notes, "dry run: the store is as it was")
	}
	if err := a.writeRecord(r, g, notes...); err != nil {
		return err
	}
	if r.Refused > 0 {
		return errRefused
	}
	return nil
}

// valueLoad hands rows to the loader of a field, and tells which of them are refused
// only when they are committed.
type valueLoad struct {
	loader   *store.FieldLoader
	refusals *refusals
	err      error // too many are refused

	first uint64    // index in the load of rows[0]
	rows  []valueAt // that the loader took and may still refuse
}

// valueAt is where a row stands.
type valueAt struct {
	file string
	line int
}

// add hands a row to the loader.
func (v *valueLoad) add(file string, m *ingest.Mark, l *load) error {
	v.rows = append(v.rows, valueAt{file, m.Line})
	if err := m.AddValue(v.loader, l.kind); err != nil {
		return err
	}
	if m.Refused != nil {
		v.rows = v.rows[:len(v.rows)-1]
	}
	if done := v.loader.Committed(); len(v.rows) >= 1<<20 {
		if n := done.Rows + done.Refused + done.Skipped - v.first; n > 0 {
			v.rows = append(v.rows[:0], v.rows[n:]...)
			v.first += n
		}
	}
	return v.err
}

// refused reports a row that the loader refuses at its commit.
func (v *valueLoad) refused(row uint64, err error) {
	at := v.rows[row-v.first]
	m := &ingest.Mark{Line: at.line}
	m.RefuseValue(err)
	if err := v.refusals.count(at.file, m); err != nil && v.err == nil {
		v.err = err
	}
}
