package main

import (
	"context"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/placement"
)

// load marks the rows of files in their order. They are read and parsed in other
// goroutines, ahead of it.
type load struct {
	app      *app
	kind     placement.Kind
	in       *inputs
	reading  ingest.Reading
	refusals *refusals
	figures
	values *valueLoad // nil of marks

	nulls uint64 // accepted ids that are the word null or undefined
}

// mark hands the rows to the loader.
func (l *load) mark(ctx context.Context, loader rowLoader, bar *progress) error {
	for b, err := range l.reading.Batches(ctx, l.in.all()) {
		if err != nil {
			return err
		}
		for i := range b.Marks {
			if err := l.one(loader, b, i); err != nil {
				return err
			}
		}
		bar.at(b.Position, l.rows)
	}
	return nil
}

// one marks or refuses one row.
func (l *load) one(loader rowLoader, b *ingest.Batch, i int) error {
	m := &b.Marks[i]
	switch {
	case m.Refused != nil:
	case l.values != nil:
		if err := l.values.add(b.File.Name, m, l); err != nil {
			return err
		}
	default:
		if err := m.Add(loader, l.kind); err != nil {
			return err
		}
	}
	l.rows++
	if m.Refused != nil {
		return l.refusals.add(b, i)
	}
	if m.ID == "null" || m.ID == "undefined" {
		l.nulls++
	}
	return nil
}
