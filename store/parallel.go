package store

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// inParallel runs fn for 0 to n−1, on as many goroutines as there are
// processors, and returns the error of the lowest that failed. After an error
// no more are begun.
func inParallel(n int, fn func(i int) error) error {
	var (
		next   atomic.Int64
		failed atomic.Bool
		errs   = make([]error, n)
		wg     sync.WaitGroup
	)
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !failed.Load(); i = next.Add(1) - 1 {
				if errs[i] = guard("merge", func() error { return fn(int(i)) }); errs[i] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// partition orders items by their part, a number below parts, and returns them
// in a slice of their own, with where each part ends. Items of one part keep
// their order.
func partition[T any](items []T, parts int, part func(T) uint32) (sorted []T, ends []int) {
	ends = make([]int, parts)
	for _, x := range items {
		ends[part(x)]++
	}
	sum := 0
	for i, n := range ends {
		ends[i] = sum
		sum += n
	}
	sorted = make([]T, len(items))
	for _, x := range items {
		p := part(x)
		sorted[ends[p]] = x
		ends[p]++
	}
	return sorted, ends
}
