package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/placement"
	"cohort/store"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// load reads rows in one goroutine and marks them in another, in their order.
type load struct {
	app        *app
	kind       placement.Kind
	in         *inputs
	days       *ingest.DayParser
	refusals   *refusals
	keepFields bool // refused rows are written whole

	rows  uint64
	nulls uint64 // accepted ids that are the word null or undefined
	tally store.Tally
}

// batch is some rows of one file.
type batch struct {
	file   string
	marks  []ingest.Mark
	fields [][]string // of each row, if refused rows are written whole
	err    error      // what ended reading
}

// Rows of a batch, and batches read ahead. Handing over 1,024 rows costs nothing
// against reading them. The loader stops taking rows while it commits a million,
// about as long as reading them takes; half a million read meanwhile take 50 MB.
const (
	batchRows  = 1024
	batchAhead = 512
)

// run marks all rows. On return the tally is what was committed. A stop is why
// reading ended early, with all rows before it committed; an error is why the
// committing did, and says how far it came.
func (l *load) run(ctx context.Context, db *store.DB) (stop, err error) {
	loader, err := db.Load(ctx)
	if err != nil {
		return nil, err
	}
	reading, end := context.WithCancel(ctx)
	defer end()
	batches := make(chan batch, batchAhead)
	free := make(chan []ingest.Mark, batchAhead+2)
	go l.read(reading, batches, free)

	bar := l.progress()
	stop = l.mark(ctx, loader, batches, free, bar)
	if bar != nil {
		_ = bar.Clear() // as in mark: the bar is of no account
	}
	if l.tally, err = loader.Close(); err != nil {
		return nil, l.unfinished(err)
	}
	return stop, nil
}

// unfinished says how far a load came.
func (l *load) unfinished(err error) error {
	return fmt.Errorf("%w: %d marks are on disk (%d new, %d already, %d shared), %d rows were read; import again to go on",
		err, l.tally.Marks(), l.tally.New, l.tally.Already, l.tally.Shared, l.rows)
}

// mark hands the rows to the loader.
func (l *load) mark(ctx context.Context, loader *store.Loader, batches <-chan batch, free chan<- []ingest.Mark, bar *progressbar.ProgressBar) error {
	for {
		var b batch
		var ok bool
		select {
		case b, ok = <-batches:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !ok {
			return nil
		}
		for i := range b.marks {
			var fields []string
			if l.keepFields {
				fields = b.fields[i]
			}
			if err := l.one(loader, b.file, &b.marks[i], fields); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
		select {
		case free <- b.marks:
		default:
		}
		if bar != nil {
			_ = bar.Set64(l.in.read.Load()) // a terminal that cannot show it is no reason to stop
		}
	}
}

// one marks or refuses one row.
func (l *load) one(loader *store.Loader, file string, m *ingest.Mark, fields []string) error {
	if m.Refused == nil {
		if err := m.Add(loader, l.kind); err != nil {
			return err
		}
	}
	l.rows++
	if m.Refused != nil {
		return l.refusals.add(file, m.Line, *m.Refused, fields)
	}
	if m.ID == "null" || m.ID == "undefined" {
		l.nulls++
	}
	return nil
}

// read reads the files into batches, until ctx ends.
func (l *load) read(ctx context.Context, batches chan<- batch, free <-chan []ingest.Mark) {
	defer close(batches)
	for _, f := range l.in.files {
		for {
			b := l.readBatch(f, free)
			end := b.err == io.EOF
			if end {
				b.err = nil
			}
			select {
			case batches <- b:
			case <-ctx.Done():
				return
			}
			if b.err != nil {
				return
			}
			if end {
				break
			}
		}
	}
}

// readBatch reads the next rows of a file; the error is io.EOF after the last.
func (l *load) readBatch(f input, free <-chan []ingest.Mark) batch {
	b := batch{file: f.name}
	select {
	case marks := <-free:
		b.marks = marks[:0]
	default:
		b.marks = make([]ingest.Mark, 0, batchRows)
	}
	for len(b.marks) < batchRows {
		m, fields, err := ingest.Read(f.source, l.days)
		if err != nil {
			b.err = err
			if err != io.EOF {
				b.err = fmt.Errorf("%s: %w", f.name, err)
			}
			break
		}
		b.marks = append(b.marks, m)
		if l.keepFields {
			b.fields = append(b.fields, slices.Clone(fields))
		}
	}
	return b
}

// progress returns a bar over the bytes of the files, nil unless errors go to a
// terminal.
func (l *load) progress() *progressbar.ProgressBar {
	terminal, ok := l.app.err.(*os.File)
	if !ok || l.app.quiet || !term.IsTerminal(int(terminal.Fd())) {
		return nil
	}
	size := l.in.size
	if size == 0 {
		size = -1 // the bar takes a size of 0 for a mistake
	}
	return progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(terminal),
		progressbar.OptionSetDescription("import"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionFullWidth(),
	)
}
