package main

import (
	"io/fs"
	"strconv"

	"cohort/cmd/cohort/internal/ingest"
)

// shownRefusals is the number of refused rows that are reported one by one.
const shownRefusals = 10

// refusals counts refused rows, and writes them to a file where one is asked for.
type refusals struct {
	app     *app
	max     int64 // of rows, −1 without end
	total   uint64
	reasons map[ingest.Reason]uint64
	rejects *rejects // nil unless rows are written
}

// newRefusals opens the file of refused rows, if one is asked for. It must not be one
// that holds tells: what the import reads.
func newRefusals(a *app, f importFlags, holds func(fs.FileInfo) bool) (*refusals, error) {
	r := &refusals{app: a, max: f.maxRejects, reasons: map[ingest.Reason]uint64{}}
	if f.rejects == "" {
		return r, nil
	}
	var err error
	r.rejects, err = openRejects(f.rejects, a.db, holds)
	return r, err
}

// nothing is the files that are held where none are read.
func nothing(fs.FileInfo) bool { return false }

// begin begins the file of refused rows, if there is one.
func (r *refusals) begin(header ...string) error {
	if r.rejects == nil {
		return nil
	}
	return r.rejects.begin(header)
}

// write writes a refused row to the file, which there must be.
func (r *refusals) write(row ...string) error { return r.rejects.write(row) }

// count counts n refused rows, and reports whether there are too many.
func (r *refusals) count(reason ingest.Reason, n uint64) (tooMany bool) {
	r.total += n
	r.reasons[reason] += n
	return r.max >= 0 && r.total > uint64(r.max)
}

// Close completes the file of refused rows.
func (r *refusals) Close() error {
	if r.rejects == nil {
		return nil
	}
	return r.rejects.Close()
}

// inWords returns why a row is refused.
func inWords(r *ingest.Refusal) string {
	words := string(r.Reason)
	if r.Found != "" {
		words += ": " + clip(r.Found)
	}
	if r.Why != "" {
		words += ": " + r.Why
	}
	return words
}

// clip returns text quoted, and cut where it is long.
func clip(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return strconv.Quote(string(runes[:most])) + "…"
	}
	return strconv.Quote(s)
}
