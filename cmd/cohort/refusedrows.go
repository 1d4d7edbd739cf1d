package main

import (
	"fmt"
	"slices"
	"strconv"

	"cohort/cmd/cohort/internal/ingest"
)

// refusedRows are the refused rows of files: it reports the first of them, and writes
// all. Each has the line it stood on, the reason, and where there are several files its
// file; import passes over these columns.
//
// Where all files have the same header, and the columns were chosen by its names, the
// columns follow as they were, and the same flags import them again. Else follow id,
// event and time, or id and value, which need no flags, and the whole row as text, for
// one to see.
type refusedRows struct {
	*refusals
	values bool // rows have a value in place of event and time
	plain  bool // with columns of our own, and the row
	many   bool // with the column of the file
}

// newRefusedRows opens the file of refused rows, if one is asked for.
func newRefusedRows(a *app, f importFlags, in *inputs) (*refusedRows, error) {
	all, err := newRefusals(a, f, in.holds)
	if err != nil {
		return nil, err
	}
	r := &refusedRows{refusals: all, values: f.field.name != "", many: len(in.files) > 1}
	for _, file := range in.files {
		if !file.byName || !slices.Equal(file.header, in.files[0].header) {
			r.plain = true
		}
	}
	return r, nil
}

// begin begins the file of refused rows, if there is one.
func (r *refusedRows) begin(in *inputs) error {
	columns := in.files[0].header
	switch {
	case r.plain && r.values:
		columns = []string{"id", "value", "row"}
	case r.plain:
		columns = []string{"id", "event", "time", "row"}
	}
	own := []string{"line", "reason"}
	if r.many {
		own = append(own, "file")
	}
	for i := range own {
		for slices.Contains(columns, own[i]) {
			own[i] += "_" // a column that is named must not stand twice
		}
	}
	return r.refusals.begin(append(own, columns...)...)
}

// sourceRow is a row of a file: where it stands, and its text if it may have to be
// written.
type sourceRow struct {
	file *ingest.File
	line int
	text []byte
}

// source returns row i of a batch.
func (r *refusedRows) source(b *ingest.Batch, i int) sourceRow {
	row := sourceRow{file: b.File, line: b.Marks[i].Line}
	if r.rejects != nil {
		row.text = b.Source(i)
	}
	return row
}

// add counts, shows and writes a row. It is an error if there are too many.
func (r *refusedRows) add(row sourceRow, why *ingest.Refusal) error {
	if r.rejects != nil {
		if err := r.write(r.columns(row, why.Reason)...); err != nil {
			return err
		}
	}
	tooMany := r.count(why.Reason, 1)
	if r.total <= shownRefusals && !r.app.quiet {
		r.show(row, why)
	}
	if tooMany {
		return fmt.Errorf("%s: line %d: more than %d rows refused", row.file.Name, row.line, r.max)
	}
	return nil
}

// columns returns what is written of a row.
func (r *refusedRows) columns(of sourceRow, reason ingest.Reason) []string {
	row, text := of.file.Row(of.text, of.line)
	columns := []string{strconv.Itoa(of.line), string(reason)}
	if r.many {
		columns = append(columns, of.file.Name)
	}
	switch {
	case r.plain && r.values:
		return append(columns, row.ID, row.Time, text)
	case r.plain:
		return append(columns, row.ID, row.Event, row.Time, text)
	case row.Fields == nil:
		return append(columns, text)
	}
	return append(columns, row.Fields...)
}

// show reports one row.
func (r *refusedRows) show(row sourceRow, why *ingest.Refusal) {
	r.app.errorf("%s: line %d: refused: %s", row.file.Name, row.line, inWords(why))
	switch {
	case r.total < shownRefusals:
	case r.rejects == nil:
		r.app.errorf("further refused rows are only counted; --rejects FILE writes them all")
	default:
		r.app.errorf("further refused rows are only counted, and written to %s", r.rejects.name)
	}
}
