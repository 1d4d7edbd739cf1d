package ingest

import (
	"context"
	"io"
	"iter"
	"runtime"

	"golang.org/x/sync/semaphore"
)

// maxAhead bounds, in bytes as cost counts them, what is read ahead of the
// marks that are being stored. A store takes no marks while it commits a million,
// about as long as reading half a million takes one core: so many rows of 43
// bytes are 80 MB.
const maxAhead = 80 << 20

// Reading says how files are read.
type Reading struct {
	// Days makes the parser of times of a goroutine. Where it is nil, rows have a whole
	// number in place of a time, and no event.
	Days func() *DayParser
	// Parsers is the number of goroutines that take pieces apart. Default
	// GOMAXPROCS.
	Parsers int
	// KeepText keeps the text of each Batch for its method Row: a third more
	// memory.
	KeepText bool
	// Position tells how far the input has been read; each Batch has what it
	// told. It is called by the goroutine that reads. Default nil: always 0.
	Position func() int64
}

// job is a piece on its way through the parsers.
type job struct {
	piece    *piece
	err      error // in place of a piece: what ended reading
	position int64
	marks    []Mark
	done     chan struct{} // closed when marks are there
}

// run is one call of Batches.
type run struct {
	Reading
	ahead *semaphore.Weighted
	todo  chan *job
	order chan *job   // the same, in the order of the rows
	spare chan []Mark // buffers to use again
}

// Batches reads the files one after the other and yields their marks in order,
// parsed by several goroutines ahead of the caller, who may keep a Batch until
// the next. An error is the last to be yielded: ctx's, one that files yielded, or
// one that names the file and line at which reading stopped; every row before it
// has been yielded.
//
// The files are taken, and read, in a goroutine of their own. One that waits for
// input is left behind when the caller stops or ctx ends; files may then still be
// in use.
func (r Reading) Batches(ctx context.Context, files iter.Seq2[*File, error]) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		n := r.Parsers
		if n <= 0 {
			n = runtime.GOMAXPROCS(0)
		}
		// A whole piece costs 128 KiB or more, so that ahead admits 640 of them:
		// only with many small files could a channel be full.
		const room = 1024
		run := &run{
			Reading: r,
			ahead:   semaphore.NewWeighted(maxAhead),
			todo:    make(chan *job, room),
			order:   make(chan *job, room),
			spare:   make(chan []Mark, room),
		}
		go run.read(ctx, files)
		for range n {
			go run.parse(ctx)
		}
		run.collect(ctx, yield)
	}
}

// read cuts the files into jobs.
func (r *run) read(ctx context.Context, files iter.Seq2[*File, error]) {
	defer close(r.todo)
	defer close(r.order)
	for f, err := range files {
		for err == nil {
			var j job
			if j.piece, err = f.next(); err != nil {
				break
			}
			if r.Position != nil {
				j.position = r.Position()
			}
			if r.ahead.Acquire(ctx, j.piece.cost) != nil {
				return
			}
			j.done = make(chan struct{})
			if !send(ctx, r.order, &j) || !send(ctx, r.todo, &j) {
				return
			}
		}
		if err != io.EOF {
			send(ctx, r.order, &job{err: err})
			return
		}
	}
}

// send sends a job unless ctx ends.
func send(ctx context.Context, to chan<- *job, j *job) bool {
	select {
	case to <- j:
		return true
	case <-ctx.Done():
		return false
	}
}

// parse does jobs until there are no more.
func (r *run) parse(ctx context.Context) {
	var days *DayParser
	if r.Days != nil {
		days = r.Days()
	}
	var of *File // whose parser is at hand
	var with parser
	for j := range r.todo {
		if ctx.Err() != nil {
			return
		}
		if j.piece.file != of {
			of = j.piece.file
			with = of.layout.parser()
		}
		var marks []Mark
		select {
		case marks = <-r.spare:
		default:
		}
		if cap(marks) < j.piece.rows {
			marks = make([]Mark, 0, j.piece.rows)
		}
		j.marks = j.piece.parse(with, days, marks[:0])
		if !r.KeepText {
			j.piece.recycle()
		}
		close(j.done)
	}
}

// collect yields the jobs in order as they are done.
func (r *run) collect(ctx context.Context, yield func(*Batch, error) bool) {
	for {
		var j *job
		var more bool
		select {
		case j, more = <-r.order:
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		if !more {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
			}
			return
		}
		if j.err != nil {
			yield(nil, j.err)
			return
		}
		select {
		case <-j.done:
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
		p := j.piece
		if !yield(&Batch{File: p.file, Marks: j.marks, Position: j.position, text: p.text}, nil) {
			return
		}
		if r.KeepText {
			p.recycle()
		}
		r.ahead.Release(p.cost)
		clear(j.marks) // their strings are of no use any more
		select {
		case r.spare <- j.marks:
		default:
		}
	}
}
