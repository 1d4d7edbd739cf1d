package query

import (
	"math/bits"

	"cohort/store"
)

// The columns of frames are sets of the same positions, as words of bits. One that
// is nil is empty. All of a frame have the same length.

// count returns the number of bits.
func count(x []uint64) (n uint64) {
	for _, w := range x {
		n += uint64(bits.OnesCount64(w))
	}
	return n
}

// countBoth returns the number of bits that are in both.
func countBoth(x, y []uint64) (n uint64) {
	if x == nil || y == nil {
		return 0
	}
	y = y[:len(x)]
	for i, w := range x {
		n += uint64(bits.OnesCount64(w & y[i]))
	}
	return n
}

// countEither returns the number of bits that are in x or in y.
func countEither(x, y []uint64) (n uint64) {
	if y == nil {
		return count(x)
	}
	y = y[:len(x)]
	for i, w := range x {
		n += uint64(bits.OnesCount64(w | y[i]))
	}
	return n
}

// and keeps the bits of x that are in y.
func and(x, y []uint64) {
	if y == nil {
		clear(x)
		return
	}
	for i := range x {
		x[i] &= y[i]
	}
}

// andNot removes the bits of y from x.
func andNot(x, y []uint64) {
	if y == nil {
		return
	}
	for i := range x {
		x[i] &^= y[i]
	}
}

// or adds the bits of y to x.
func or(x, y []uint64) {
	if y == nil {
		return
	}
	for i := range x {
		x[i] |= y[i]
	}
}

// orBoth adds the bits that are in both of y and z to x.
func orBoth(x, y, z []uint64) {
	for i := range x {
		x[i] |= y[i] & z[i]
	}
}

// zeros returns n zeros, in x where there is room.
func zeros[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	x = x[:n]
	clear(x)
	return x
}

// lanes are unions of columns, each of some that follow one another. The words
// are its own.
type lanes struct {
	sets  [][]uint64 // nil where empty
	room  [][]uint64
	width int // columns that each is the union of
}

// fill makes the lanes copies of n columns of a frame, from a first one on.
func (l *lanes) fill(f *store.Frames, first, n int) {
	l.sets = l.sets[:min(len(l.sets), n)]
	for i := range n {
		l.set(i, f.Column(first+i))
	}
	l.width = 1
}

// set makes lane j a copy of a column.
func (l *lanes) set(j int, column []uint64) {
	for len(l.sets) <= j {
		l.sets = append(l.sets, nil)
	}
	for len(l.room) <= j {
		l.room = append(l.room, nil)
	}
	if l.sets[j] = nil; column != nil {
		l.room[j] = append(l.room[j][:0], column...)
		l.sets[j] = l.room[j]
	}
}

// or adds lane k, if there is one, to lane j.
func (l *lanes) or(j, k int) {
	switch {
	case k >= len(l.sets) || l.sets[k] == nil:
	case l.sets[j] == nil:
		l.set(j, l.sets[k])
	default:
		or(l.sets[j], l.sets[k])
	}
}

// widen makes each lane the union of a column and those after it, so many in all,
// no fewer than it is of. Twice as many are united at each step: 30 columns take
// five.
func (l *lanes) widen(width int) {
	for l.width < width {
		step := min(l.width, width-l.width)
		for j := range l.sets {
			l.or(j, j+step) // which is not yet widened by this step
		}
		l.width += step
	}
}

// accumulate makes each lane the union of it and all after it.
func (l *lanes) accumulate() {
	for j := len(l.sets) - 2; j >= 0; j-- {
		l.or(j, j+1)
	}
}
