package store

import "slices"

// runs is an ordered list without equal elements that one commit after another
// adds to: a long run and one of a sixteenth of it, which commits share, and a short
// one, of a sixteenth of that, which each commit copies. When one is full it is merged
// into the next longer. An element in a shorter run stands for its equal in a longer
// one. At fifty thousand elements a commit copies 200 of them at the most, and an
// element is merged 16 times with as many as it is itself, and once with 16.
type runs[T any] struct {
	levels [3][]T // from the long run to the short
}

// shortMax is the length of a run at which it is merged into one of n elements.
func shortMax(n int) int { return 16 + n/16 }

// newRuns returns the list of ordered elements, which it keeps.
func newRuns[T any](ordered []T) (r runs[T]) {
	r.levels[0] = ordered
	return r
}

// own returns the list with a short run of its own, ready for put.
func (r runs[T]) own() runs[T] {
	short := &r.levels[len(r.levels)-1]
	*short = append(make([]T, 0, len(*short)+2), *short...) // a commit adds one, mostly
	return r
}

// put adds an element, or replaces its equal. The short run must be the caller's.
func (r *runs[T]) put(x T, compare func(a, b T) int) {
	last := len(r.levels) - 1
	i, ok := slices.BinarySearchFunc(r.levels[last], x, compare)
	if ok {
		r.levels[last][i] = x
		return
	}
	r.levels[last] = slices.Insert(r.levels[last], i, x)
	for n := last; n > 0 && len(r.levels[n]) >= shortMax(len(r.levels[n-1])); n-- {
		r.levels[n-1], r.levels[n] = mergeRuns(r.levels[n-1], r.levels[n], compare), nil
	}
}

// get returns the element equal to x.
func (r *runs[T]) get(x T, compare func(a, b T) int) (found T, ok bool) {
	for n := len(r.levels) - 1; n >= 0; n-- {
		if i, ok := slices.BinarySearchFunc(r.levels[n], x, compare); ok {
			return r.levels[n][i], true
		}
	}
	return found, false
}

// all returns the elements in order. They may be shared.
func (r *runs[T]) all(compare func(a, b T) int) []T {
	return mergeRuns(r.levels[0], mergeRuns(r.levels[1], r.levels[2], compare), compare)
}

// mergeRuns returns the elements of both runs in order; of equal ones b's. It may
// return one of them.
func mergeRuns[T any](a, b []T, compare func(a, b T) int) []T {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := make([]T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		// Mostly there are many of a before the next of b: they are copied at once.
		n := 1
		for n <= len(a) && compare(a[n-1], b[0]) < 0 {
			n *= 2
		}
		low, high := n/2, min(n-1, len(a))
		for low < high {
			if mid := int(uint(low+high) >> 1); compare(a[mid], b[0]) < 0 {
				low = mid + 1
			} else {
				high = mid
			}
		}
		out = append(append(out, a[:low]...), b[0])
		if low < len(a) && compare(a[low], b[0]) == 0 {
			low++
		}
		a, b = a[low:], b[1:]
	}
	return append(append(out, a...), b...)
}

// size returns the number of elements held, those that were replaced included.
func (r *runs[T]) size() (n int) {
	for _, run := range r.levels {
		n += len(run)
	}
	return n
}

// room returns the number of elements that the list takes memory for.
func (r *runs[T]) room() (n int) {
	for _, run := range r.levels {
		n += cap(run)
	}
	return n
}

// same reports whether both runs are one, in the same place.
func same[T any](a, b []T) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }
