package main

import (
	"errors"
	"fmt"
	"time"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/store"
)

// figures are how far an import has come.
type figures struct {
	dryRun bool
	field  string      // the values of which are imported, "" of marks
	again  string      // what to do after a failure
	rows   uint64      // brought in or refused
	tally  store.Tally // of those on disk, known at the end
}

// importFigures returns the figures of an import that has not begun.
func importFigures(f importFlags) figures {
	g := figures{dryRun: f.dryRun, field: f.field.name, again: "run it again from the start: rows already marked change nothing"}
	switch {
	case f.field.add:
		g.again = "run it again with the same files and batch: it goes on behind them"
	case g.field != "":
		g.again = "run it again from the start: values that are set already change nothing"
	}
	return g
}

// rowLoader takes the marks of an import: a [store.Loader], or a [store.VisitLoader].
type rowLoader interface {
	ingest.Adder
	tallier
}

// tallier commits what is left of an import, and counts what is on disk, also with an
// error.
type tallier interface {
	Close() (store.Tally, error)
}

// run has rows brought in, some bytes of them, with a bar that shows how far it came,
// and ends their loader. On return the tally is what was committed. A stop is why the
// rows ended early, with all before it committed; an error is why the committing did,
// and says how far it came.
func (f *figures) run(a *app, loader tallier, bytes int64, mark func(*progress) error) (stop, err error) {
	bar := a.newProgress(bytes)
	stop = mark(bar)
	bar.done()
	if f.tally, err = loader.Close(); err != nil {
		return nil, f.unfinished(err)
	}
	return f.stopped(stop), nil
}

// unfinished says why the committing ended, how far it came, and what to do.
func (f *figures) unfinished(err error) error {
	if f.dryRun {
		return fmt.Errorf("%w: %d rows were read; the store is as it was", err, f.rows)
	}
	what, again := "marks", f.again
	if f.field != "" {
		what = "values"
	}
	if errors.Is(err, store.ErrBatch) {
		again = "give rows that are not in yet another --batch"
	}
	return fmt.Errorf("%w: %d %s are on disk (%d new, %d already, %d shared), %d rows were read; %s",
		err, f.tally.Marks(), what, f.tally.New, f.tally.Already, f.tally.Shared, f.rows, again)
}

// stopped says why reading ended early, nil where it did not.
func (f *figures) stopped(stop error) error {
	switch {
	case stop == nil:
		return nil
	case f.dryRun:
		return fmt.Errorf("%w; the rows before would be kept", stop)
	}
	return fmt.Errorf("%w; the rows before are kept", stop)
}

// result returns what became of the rows.
func (f *figures) result(names []string, took time.Duration, refused *refusals) importResult {
	return importResult{
		Rows: f.rows, Marks: f.tally.Marks(), New: f.tally.New, Already: f.tally.Already, Shared: f.tally.Shared,
		Refused: refused.total, Seconds: seconds(took), Files: names, Refusals: refused.reasons, DryRun: f.dryRun, Field: f.field,
	}
}
