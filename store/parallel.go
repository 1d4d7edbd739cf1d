package store

import (
	"math/bits"
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

// sortSpread sorts items by keys whose top bits are as good as random, into a slice of
// their own: by these bits it puts them where a few of them belong, and has sort order
// those. It takes half the time of a sort of them all, and no more than that where they
// are not random.
func sortSpread[T any](items []T, key func(T) uint64, sort func([]T)) []T {
	width := max(bits.Len(uint(len(items)))-3, 0)
	items, ends := partition(items, 1<<width, func(x T) uint32 { return uint32(key(x) >> (64 - width)) })
	start := 0
	for _, end := range ends {
		sort(items[start:end])
		start = end
	}
	return items
}
