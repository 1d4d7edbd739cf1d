package main

import (
	"fmt"
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
	rejects *rejects // nil unless rows are written
}

func newRefusals(a *app, f importFlags, in *inputs) (*refusals, error) {
	r := &refusals{app: a, max: f.maxRejects, reasons: map[ingest.Reason]uint64{}}
	if f.rejects == "" {
		return r, nil
	}
	var err error
	r.rejects, err = newRejects(f.rejects, a.db, in)
	return r, err
}

// add counts row i of a batch, which is refused. It is an error if there are too
// many.
func (r *refusals) add(b *ingest.Batch, i int) error {
	if r.rejects != nil {
		if err := r.rejects.add(b, i); err != nil {
			return err
		}
	}
	return r.count(b.File.Name, &b.Marks[i])
}

// count counts a row of a file, which is refused. It is an error if there are too
// many.
func (r *refusals) count(file string, m *ingest.Mark) error {
	r.total++
	r.reasons[m.Refused.Reason]++
	if r.total <= shownRefusals && !r.app.quiet {
		r.show(file, m)
	}
	if r.max >= 0 && r.total > uint64(r.max) {
		return fmt.Errorf("%s: line %d: more than %d rows refused", file, m.Line, r.max)
	}
	return nil
}

// show reports one row.
func (r *refusals) show(file string, m *ingest.Mark) {
	r.app.errorf("%s: line %d: refused: %s", file, m.Line, inWords(m.Refused))
	switch {
	case r.total < shownRefusals:
	case r.rejects == nil:
		r.app.errorf("further refused rows are only counted; --rejects FILE writes them all")
	default:
		r.app.errorf("further refused rows are only counted, and written to %s", r.rejects.name)
	}
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
	switch {
	case r.Why != "":
		return string(r.Reason) + ": " + r.Why
	case r.Found != "":
		return string(r.Reason) + ": " + clip(r.Found)
	}
	return string(r.Reason)
}

// clip returns text quoted, and cut where it is long.
func clip(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return strconv.Quote(string(runes[:most])) + "…"
	}
	return strconv.Quote(s)
}
