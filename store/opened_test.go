package store

import (
	"math/rand/v2"
	"sync"
	"testing"
)

// Callers beside each other find what was kept first, up to foundMost keys, and of most
// keys without the lock.
func TestFound(t *testing.T) {
	const keys = foundMost + 100
	var f found[int, *int]
	var first [keys]*int
	var mu sync.Mutex
	var all sync.WaitGroup
	for c := range 4 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(c)))
			for range 4 * keys {
				key := random.IntN(keys)
				v, err := f.keep(key, func() (*int, error) { return &key, nil })
				if err != nil || *v != key {
					t.Errorf("key %d: %d, %v", key, *v, err)
				}
				kept, ok := f.shared()[key]
				if !ok {
					continue
				}
				mu.Lock()
				if first[key] == nil {
					first[key] = kept
				}
				if first[key] != kept {
					t.Errorf("key %d was kept twice", key)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if n, added := len(f.shared()), len(f.added); n+added != foundMost || added > foundMost/4 {
		t.Errorf("%d keys are shared and %d added, want %d in all", n, added, foundMost)
	}
}
