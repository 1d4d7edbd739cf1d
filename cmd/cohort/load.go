package main

import (
	"context"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/placement"
)

// load brings the rows of files in, in their order. They are read and parsed in other
// goroutines, ahead of it.
type load struct {
	in      *inputs
	reading ingest.Reading
	refused *refusedRows
	figures

	nulls uint64 // accepted ids that are the word null or undefined
}

// mark gives the rows to take, which brings one in or refuses it: row i of a batch.
func (l *load) mark(ctx context.Context, bar *progress, take func(b *ingest.Batch, i int) error) error {
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

// marks returns what takes the rows of marks.
func marks(to ingest.Adder, kind placement.Kind) func(b *ingest.Batch, i int) error {
	return func(b *ingest.Batch, i int) error { return b.Marks[i].Add(to, kind) }
}
