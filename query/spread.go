package query

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// aloneFor is how long a question runs on its caller's goroutine before others help
// with the chunks that are left: a goroutine costs microseconds, and a question that
// is nearly done leaves the other processors to other questions.
const aloneFor = 100 * time.Microsecond

// maxParts is how many goroutines a question is spread over: one for each processor.
func maxParts() int { return runtime.GOMAXPROCS(0) }

// spread calls f with each of some chunks, from the caller's goroutine and, where it
// takes longer, from others, so many in all. Each has a part number below that, for
// figures that f adds up. Chunks are begun in order; after an error, or when the
// context ends, no more are. It returns, when all calls have, the error of the first
// chunk that has one.
func spread(ctx context.Context, chunks []uint32, parts int, f func(part int, chunk uint32) error) error {
	s := spreading{ctx: ctx, chunks: chunks, f: f, failed: len(chunks)}
	start := time.Now()
	for s.one(0) {
		if helpers := min(parts-1, s.left()); helpers > 0 && time.Since(start) > aloneFor {
			for part := range helpers {
				s.helpers.Go(func() {
					for s.one(part + 1) {
					}
				})
			}
			for s.one(0) {
			}
		}
	}
	s.helpers.Wait()
	if s.err != nil {
		return s.err
	}
	return ctx.Err()
}

// spreading is one call of spread.
type spreading struct {
	ctx     context.Context // of the call, which outlives this
	chunks  []uint32
	f       func(part int, chunk uint32) error
	next    atomic.Int64 // the chunk to begin
	stopped atomic.Bool  // after an error
	helpers sync.WaitGroup

	mu     sync.Mutex // guards failed and err
	failed int        // the first chunk that has an error
	err    error
}

// left returns how many chunks are not begun.
func (s *spreading) left() int { return max(0, len(s.chunks)-int(s.next.Load())) }

// one does the next chunk; false where there is none to be done.
func (s *spreading) one(part int) bool {
	if s.stopped.Load() || s.ctx.Err() != nil {
		return false
	}
	i := int(s.next.Add(1) - 1) // begun: an error later in the list does not stop it
	if i >= len(s.chunks) {
		return false
	}
	if err := s.f(part, s.chunks[i]); err != nil {
		s.stopped.Store(true)
		s.mu.Lock()
		defer s.mu.Unlock()
		if i < s.failed {
			s.failed, s.err = i, err
		}
		return false
	}
	return true
}
