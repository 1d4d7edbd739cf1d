package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"cohort/cmd/cohort/internal/ingest"
)

// shownRefusals is the number of refused rows that are reported one by one.
const shownRefusals = 10

// refusals counts refused rows, reports the first of them, and writes them all to
// a file where one is asked for.
type refusals struct {
	app     *app
	max     int64 // of rows, −1 without end
	total   uint64
	reasons map[ingest.Reason]uint64

	file *os.File // nil unless rows are written
	csv  *csv.Writer
	many bool // rows of several files are written
}

func newRefusals(a *app, f importFlags, in *inputs) (*refusals, error) {
	r := &refusals{app: a, max: f.maxRejects, reasons: map[ingest.Reason]uint64{}, many: len(in.files) > 1}
	if f.rejects == "" {
		return r, nil
	}
	if err := checkOverwrite(f.rejects, a.db, in); err != nil {
		return nil, err
	}
	file, err := os.Create(f.rejects)
	if err != nil {
		return nil, pathError(err)
	}
	r.file, r.csv = file, csv.NewWriter(file)
	return r, r.writeRow("line", "reason", "file", in.header())
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

// writeRow writes a row, with its file where there are several.
func (r *refusals) writeRow(line, reason, file string, fields []string) error {
	row := []string{line, reason}
	if r.many {
		row = append(row, file)
	}
	return r.csv.Write(append(row, fields...))
}

// add counts a refused row. It is an error if there are too many.
func (r *refusals) add(file string, line int, why ingest.Refusal, fields []string) error {
	r.total++
	r.reasons[why.Reason]++
	if r.total <= shownRefusals && !r.app.quiet {
		detail := ""
		if why.Detail != "" {
			detail = ": " + clip(why.Detail)
		}
		r.app.errorf("%s: line %d: refused: %s%s", file, line, why.Reason, detail)
		if r.total == shownRefusals {
			r.app.errorf("further refused rows are only counted; --rejects FILE writes them all")
		}
	}
	if r.file != nil {
		if err := r.writeRow(strconv.Itoa(line), string(why.Reason), file, fields); err != nil {
			return err
		}
	}
	if r.max >= 0 && r.total > uint64(r.max) {
		return fmt.Errorf("%s: line %d: more than %d rows refused; the rows before are kept", file, line, r.max)
	}
	return nil
}

// Close completes the file of refused rows.
func (r *refusals) Close() error {
	if r.file == nil {
		return nil
	}
	r.csv.Flush()
	return errors.Join(r.csv.Error(), r.file.Close())
}

// clip returns text quoted, and cut where it is long.
func clip(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return strconv.Quote(string(runes[:most])) + "…"
	}
	return strconv.Quote(s)
}

// sorted returns the reasons that occurred, the most frequent first.
func (r *refusals) sorted() []ingest.Reason {
	var list []ingest.Reason
	for reason := range r.reasons {
		list = append(list, reason)
	}
	slices.SortFunc(list, func(a, b ingest.Reason) int {
		return cmp.Or(cmp.Compare(r.reasons[b], r.reasons[a]), cmp.Compare(a, b))
	})
	return list
}
