package main

import "context"

// side is one of those compared.
type side interface {
	// load stores all marks, in order of event, day and person.
	load(ctx context.Context, w *workload) error
	// ask answers a question about them.
	ask(ctx context.Context, q question) ([]uint64, error)
	// mark stores one mark, durably; many callers call it. The marks are on a day
	// of their own, of the first event.
	mark(ctx context.Context, person int) error
	// marksDurably reports whether mark is of use.
	marksDurably() bool
	// bytes returns what the marks take, where it is kept.
	bytes() (int64, error)
	close() error
}
