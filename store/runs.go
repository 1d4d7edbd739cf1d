package store

import "slices"

// runs is an ordered list without equal elements that one commit after another
// adds to: a long run that commits share, and a short one that each commit
// copies. An element in the short run stands for its equal in the long one. At
// a thousand elements a commit copies 64 of them at the most instead of all.
type runs[T any] struct{ long, short []T }

// shortMax is the length of the short run at which it is merged into a long one
// of n elements: copying it costs as much as its share of the merge.
func shortMax(n int) int { return 16 + n/16 }

// own returns the list with a short run of its own, ready for put.
func (r runs[T]) own() runs[T] {
	r.short = append(make([]T, 0, len(r.short)+2), r.short...) // a commit adds one, mostly
	return r
}

// put adds an element, or replaces its equal. The short run must be the caller's.
func (r *runs[T]) put(x T, compare func(a, b T) int) {
	i, ok := slices.BinarySearchFunc(r.short, x, compare)
	if ok {
		r.short[i] = x
		return
	}
	r.short = slices.Insert(r.short, i, x)
	if len(r.short) >= shortMax(len(r.long)) {
		r.long, r.short = r.all(compare), nil
	}
}

// get returns the element equal to x.
func (r runs[T]) get(x T, compare func(a, b T) int) (found T, ok bool) {
	if i, ok := slices.BinarySearchFunc(r.short, x, compare); ok {
		return r.short[i], true
	}
	if i, ok := slices.BinarySearchFunc(r.long, x, compare); ok {
		return r.long[i], true
	}
	return found, false
}

// all returns the elements in order. They may be shared.
func (r runs[T]) all(compare func(a, b T) int) []T {
	if len(r.short) == 0 {
		return r.long
	}
	if len(r.long) == 0 {
		return r.short
	}
	a, b := r.long, r.short
	out := make([]T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch c := compare(a[0], b[0]); {
		case c < 0:
			out, a = append(out, a[0]), a[1:]
		case c > 0:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, b[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// size returns the number of elements held, those that were replaced included.
func (r runs[T]) size() int { return len(r.long) + len(r.short) }

// room returns the number of elements that the list takes memory for.
func (r runs[T]) room() int { return cap(r.long) + cap(r.short) }
