package main

import (
	"context"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/store"
)

// load brings the rows of files in, in their order. They are read and parsed in other
// goroutines, ahead of it.
type load struct {
	app     *app
	in      *inputs
	reading ingest.Reading // of rows of numbers, until there are Days
	refused *refusedRows
	figures

	nulls uint64 // accepted ids that are the word null or undefined
}

// marks brings rows of marks, or of visits, into the store. It returns as run does.
func (l *load) marks(ctx context.Context, db *store.DB, f importFlags) (stop, err error) {
	var loader rowLoader
	if f.sketch {
		loader, err = db.LoadVisits(ctx)
	} else {
		loader, err = db.Load(ctx)
	}
	if err != nil {
		return nil, err
	}
	l.reading.Days = func() *ingest.DayParser { return ingest.NewDayParser(f.timeFormat.value, db.Config().TimeZone) }
	kind := db.Config().IDs
	take := func(b *ingest.Batch, i int) error { return b.Marks[i].Add(loader, kind) }
	return l.run(l.app, loader, l.in.size, func(bar *progress) error { return l.each(ctx, bar, take) })
}

// each gives the rows to take, which brings one in or refuses it: row i of a batch.
func (l *load) each(ctx context.Context, bar *progress, take func(b *ingest.Batch, i int) error) error {
	for b, err := range l.reading.Batches(ctx, l.in.all()) {
		if err != nil {
			return err
		}
		for i := range b.Marks {
			if err := l.one(b, i, take); err != nil {
				return err
			}
		}
		bar.at(b.Position, l.rows)
	}
	return nil
}

// one brings one row in, or refuses it.
func (l *load) one(b *ingest.Batch, i int, take func(b *ingest.Batch, i int) error) error {
	m := &b.Marks[i]
	if m.Refused == nil {
		if err := take(b, i); err != nil {
			return err
		}
	}
	l.rows++
	if m.Refused != nil {
		return l.refused.add(l.refused.source(b, i), m.Refused)
	}
	if m.ID == "null" || m.ID == "undefined" {
		l.nulls++
	}
	return nil
}
