package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"cohort/cmd/cohort/internal/ingest"
)

// rejects is a file of refused rows, made to be mended and imported again: CSV, or
// TSV by its name, with a header. Each row has the line it stood on, the reason,
// and where there are several files its file; import passes over these columns.
//
// Where all files have the same header, and the columns were chosen by its names,
// the columns follow as they were, and the same flags import them again. Else
// follow id, event and time, which need no flags, and the whole row as text, for
// one to see.
type rejects struct {
	name  string
	file  *os.File
	csv   *csv.Writer
	plain bool // with columns id, event, time and row
	many  bool // with the column of the file
	row   []string
}

func newRejects(name, db string, in *inputs) (*rejects, error) {
	if ingest.NamedCompressed(name) {
		return nil, usagef("--rejects %s: is written as plain text, not as its name says", name)
	}
	if err := checkOverwrite(name, db, in); err != nil {
		return nil, err
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, pathError(err)
	}
	r := &rejects{name: name, file: file, csv: csv.NewWriter(file), many: len(in.files) > 1}
	if ingest.FormatOf(name) == "tsv" {
		r.csv.Comma = '\t'
	}
	if err := r.csv.Write(r.header(in)); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

// checkOverwrite returns an error if the file for refused rows is the store or
// one of the files to read.
func checkOverwrite(rejects, db string, in *inputs) error {
	info, err := os.Stat(rejects)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return pathError(err)
	}
	store, err := os.Stat(db)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return pathError(err)
	}
	if in.holds(info) || store != nil && os.SameFile(store, info) {
		return usagef("--rejects %s: would overwrite what the import needs", rejects)
	}
	return nil
}

// header chooses the columns.
func (r *rejects) header(in *inputs) []string {
	columns := in.files[0].header
	for _, f := range in.files {
		if !f.byName || !slices.Equal(f.header, columns) {
			r.plain = true
		}
	}
	if r.plain {
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
	return append(own, columns...)
}

// add writes row i of a batch.
func (r *rejects) add(b *ingest.Batch, i int) error {
	m := &b.Marks[i]
	row, text := b.Row(i)
	r.row = append(r.row[:0], strconv.Itoa(m.Line), string(m.Refused.Reason))
	if r.many {
		r.row = append(r.row, b.File.Name)
	}
	switch {
	case r.plain:
		r.row = append(r.row, row.ID, row.Event, row.Time, text)
	case row.Fields == nil:
		r.row = append(r.row, text)
	default:
		r.row = append(r.row, row.Fields...)
	}
	if err := r.csv.Write(r.row); err != nil {
		return fmt.Errorf("--rejects: %w", err)
	}
	return nil
}

// Close completes the file.
func (r *rejects) Close() error {
	r.csv.Flush()
	return errors.Join(pathError(r.csv.Error()), pathError(r.file.Close()))
}
