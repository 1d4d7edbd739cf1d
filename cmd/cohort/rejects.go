package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"cohort/cmd/cohort/internal/ingest"
)

// rejects is a file of refused rows, made to be mended and imported again: CSV, or
// TSV by its name, with a header. What its columns are depends on what was read.
type rejects struct {
	name  string
	file  *os.File
	csv   *csv.Writer
	isNew bool // there was no such file
	begun bool
}

// openRejects opens the file before anything is done, for what cannot be written must
// leave nothing behind. What it holds stays until begin. It must not be the store, nor
// one of the files to read, which holds tells.
func openRejects(name, db string, holds func(fs.FileInfo) bool) (*rejects, error) {
	if ingest.NamedCompressed(name) {
		return nil, usagef("--rejects %s: is written as plain text, not as its name says", name)
	}
	_, err := os.Lstat(name) // a link that leads nowhere is there
	r := &rejects{name: name, isNew: errors.Is(err, fs.ErrNotExist)}
	if r.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
		return nil, fmt.Errorf("--rejects: %w", pathError(err))
	}
	if err := r.checkOverwrite(db, holds); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.csv = csv.NewWriter(r.file)
	if ingest.FormatOf(name) == "tsv" {
		r.csv.Comma = '\t'
	}
	return r, nil
}

// checkOverwrite returns an error if the file is the store, or is to be read.
func (r *rejects) checkOverwrite(db string, holds func(fs.FileInfo) bool) error {
	info, err := r.file.Stat()
	if err != nil {
		return pathError(err)
	}
	if holds(info) || isStore(db, info) {
		return usagef("--rejects %s: would overwrite what the import needs", r.name)
	}
	return nil
}

// begin empties the file and writes its header.
func (r *rejects) begin(header []string) error {
	if info, err := r.file.Stat(); err != nil || info.Mode().IsRegular() {
		if err := errors.Join(err, r.file.Truncate(0)); err != nil {
			return fmt.Errorf("--rejects: %w", pathError(err))
		}
	}
	r.begun = true
	return r.write(header)
}

// write writes a row.
func (r *rejects) write(row []string) error {
	if err := r.csv.Write(row); err != nil {
		return fmt.Errorf("--rejects: %w", err)
	}
	return nil
}

// Close completes the file. One that was made and not begun goes away.
func (r *rejects) Close() error {
	if !r.begun {
		err := pathError(r.file.Close())
		if r.isNew {
			err = errors.Join(err, pathError(os.Remove(r.name)))
		}
		return err
	}
	r.csv.Flush()
	return errors.Join(pathError(r.csv.Error()), pathError(r.file.Close()))
}
