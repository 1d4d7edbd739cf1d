package store_test

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"cohort/placement"
)

// TestOutgrowsMap loads into a store whose file outgrows its map again and again, while
// callers mark. None of them waits for another for ever.
func TestOutgrowsMap(t *testing.T) {
	opts := options(placement.Branded)
	opts.SetMapped(1 << 20)
	opts.SetLogAfter(1)
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), opts)
	var errs [5]error
	var callers sync.WaitGroup
	stop := make(chan struct{})
	for i := range len(errs) - 1 {
		callers.Go(func() {
			for n := uint64(0); errs[i] == nil; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_, errs[i] = db.Mark(ctx, "marked", branded("USR", uint64(i)<<32+n), today)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range uint64(8) {
			rows := someMarks("loaded", 20_000, 1<<40+i*20_000)
			if _, err := db.MarkMany(ctx, rows); err != nil {
				errs[len(errs)-1] = err
				break
			}
		}
		close(stop)
		callers.Wait()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("somebody waits for ever")
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
}
