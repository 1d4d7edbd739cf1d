package query

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestSpread: every chunk is done once, no part runs twice at a time, and the error
// is that of the first chunk that has one.
func TestSpread(t *testing.T) {
	chunks := make([]uint32, 300)
	for i := range chunks {
		chunks[i] = uint32(3 * i)
	}
	const parts = 4
	for _, fails := range [][]uint32{nil, {0}, {897}, {30, 33, 36, 39}} {
		var busy [parts]atomic.Bool
		done := make([]atomic.Int32, len(chunks))
		err := spread(t.Context(), chunks, parts, func(part int, c uint32) error {
			if busy[part].Swap(true) {
				t.Errorf("part %d runs twice", part)
			}
			defer busy[part].Store(false)
			time.Sleep(20 * time.Microsecond)
			done[c/3].Add(1)
			if slices.Contains(fails, c) {
				return fmt.Errorf("chunk %d", c)
			}
			return nil
		})
		want := "<nil>"
		if len(fails) > 0 {
			want = fmt.Sprintf("chunk %d", fails[0])
		}
		if fmt.Sprint(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
		for i := range done {
			if n := done[i].Load(); n > 1 || n == 0 && len(fails) == 0 {
				t.Errorf("chunk %d done %d times", chunks[i], n)
			}
		}
	}
}

func TestSpreadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var done atomic.Int32
	err := spread(ctx, make([]uint32, 10_000), 2, func(int, uint32) error {
		if done.Add(1) == 10 {
			cancel()
		}
		time.Sleep(20 * time.Microsecond)
		return nil
	})
	if !errors.Is(err, context.Canceled) || done.Load() > 20 {
		t.Errorf("error %v after %d chunks, want %v after 10 or so", err, done.Load(), context.Canceled)
	}
}
