package query

import "math/bits"

// tally counts, for each bit of some columns, in how many of them it is set. Plane
// k holds bit k of all 64 counts of a word, so that a column is added by a few
// operations a word (Harley and Seal's counter, as in Warren, Hacker's Delight,
// 5-1), and no count is kept by itself.
type tally struct {
	planes [][]uint64
}

// reset begins with counts of 0, of so many words, which hold up to most.
func (t *tally) reset(words, most int) {
	for len(t.planes) < bits.Len(uint(most)) {
		t.planes = append(t.planes, nil)
	}
	for k, p := range t.planes {
		if cap(p) < words {
			p = make([]uint64, words)
		}
		t.planes[k] = p[:words]
		clear(t.planes[k])
	}
}

// add counts the bits of a column.
func (t *tally) add(column []uint64) {
	for i, carry := range column {
		for k := 0; carry != 0; k++ {
			p := &t.planes[k][i]
			*p, carry = *p^carry, *p&carry
		}
	}
}

// addTo adds to exactly[k] how many bits were in exactly k columns, for k from 1.
func (t *tally) addTo(exactly []uint64) {
	if len(t.planes) == 0 {
		return
	}
	for i := range t.planes[0] {
		t.split(i, ^uint64(0), len(t.planes), 0, exactly)
	}
}

// split halves the bits of a mask by the planes below one, until those of each
// count stand apart. Those of no count are not followed further than their word.
func (t *tally) split(i int, mask uint64, plane, above int, exactly []uint64) {
	switch {
	case mask == 0:
	case plane > 0:
		p := t.planes[plane-1][i]
		t.split(i, mask&p, plane-1, above|1<<(plane-1), exactly)
		t.split(i, mask&^p, plane-1, above, exactly)
	case above > 0:
		exactly[above] += uint64(bits.OnesCount64(mask))
	}
}
