package main

import (
	"context"
	"fmt"
	"time"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/store"
)

// figures are how far an import has come.
type figures struct {
	dryRun bool
	rows   uint64      // marked or refused
	tally  store.Tally // of those on disk, known at the end
}

// rowLoader takes the rows of an import: a [store.Loader], or a [store.VisitLoader].
type rowLoader interface {
	ingest.Adder
	Close() (store.Tally, error)
}

// startLoad begins a load of marks.
func startLoad(db *store.DB) func(context.Context) (rowLoader, error) {
	return func(ctx context.Context) (rowLoader, error) { return db.Load(ctx) }
}

// startVisits begins a load of visits.
func startVisits(db *store.DB) func(context.Context) (rowLoader, error) {
	return func(ctx context.Context) (rowLoader, error) { return db.LoadVisits(ctx) }
}

// run has rows marked, some bytes of them, with a loader and a bar that shows how
// far it came. On return the tally is what was committed. A stop is why marking
// ended early, with all rows before it committed; an error is why the committing
// did, and says how far it came.
func (f *figures) run(ctx context.Context, a *app, start func(context.Context) (rowLoader, error), bytes int64, mark func(context.Context, rowLoader, *progress) error) (stop, err error) {
	loader, err := start(ctx)
	if err != nil {
		return nil, err
	}
	bar := a.newProgress(bytes)
	stop = mark(ctx, loader, bar)
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
	return fmt.Errorf("%w: %d marks are on disk (%d new, %d already, %d shared), %d rows were read; "+
		"run it again from the start: rows already marked change nothing",
		err, f.tally.Marks(), f.tally.New, f.tally.Already, f.tally.Shared, f.rows)
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
func (f *figures) result(names []string, took time.Duration, reasons map[ingest.Reason]uint64) importResult {
	r := importResult{
		Rows: f.rows, Marks: f.tally.Marks(), New: f.tally.New, Already: f.tally.Already, Shared: f.tally.Shared,
		Seconds: seconds(took), Files: names, Refusals: reasons, DryRun: f.dryRun,
	}
	for _, n := range reasons {
		r.Refused += n
	}
	return r
}
