package query

import (
	"cohort/store"
)

// frame adds a frame to the counts.
func (t *triangle) frame(f *store.Frames) {
	switch t.mode {
	case ModeBracket:
		for n, c := range t.cells {
			t.union(f, (c.to-c.from+1)*t.block)
			t.meet(f, n, n+1)
		}
		return
	case ModeOnOrAfter:
		t.union(f, 1)
		t.lanes.accumulate()
	default:
		t.union(f, t.block)
	}
	t.meet(f, 0, len(t.cells))
}

// union makes each lane the ids that came back in a step or the few after it.
func (t *triangle) union(f *store.Frames, width int) {
	t.lanes.fill(f, 0, t.steps+1)
	t.lanes.widen(width)
}

// meet counts some cells of each cohort. Sizes are counted along with the first.
func (t *triangle) meet(f *store.Frames, first, end int) {
	if !t.view.exact {
		for i := range t.steps {
			t.returned[first][i] += count(t.lanes.sets[i])
		}
	}
	t.before = append(t.before[:0], f.Column(t.beforeColumn())...)
	for i := range min(t.cohorts, t.steps) {
		cohort := t.cohortOf(f, i)
		if cohort == nil {
			continue
		}
		if first == 0 && t.set == nil {
			t.size[i] += count(cohort)
		}
		for n := first; n < end; n++ {
			step := i + t.cells[n].from*t.block
			if step >= t.steps {
				break
			}
			if t.mode == ModeEvery {
				and(cohort, t.lanes.sets[step])
				t.count[i][n] += count(cohort)
			} else {
				t.count[i][n] += countBoth(cohort, t.lanes.sets[step])
			}
		}
	}
}

// cohortOf returns the cohort of a step, in words to be changed; nil for none.
func (t *triangle) cohortOf(f *store.Frames, step int) []uint64 {
	column := t.startColumn(step)
	if t.set != nil {
		column = t.setColumn()
	}
	ids := f.Column(column)
	if ids == nil {
		return nil
	}
	t.cohort = append(t.cohort[:0], ids...)
	if t.set == nil && t.kind == CohortFirst {
		if len(t.before) == 0 {
			t.before = append(t.before, make([]uint64, len(ids))...)
		}
		andNot(t.cohort, t.before)
		or(t.before, ids)
	}
	return t.cohort
}

// overlap returns the largest false overlap of two sets that a cell of some
// cohorts is made of.
func (t *triangle) overlap(first, end, n int) (most float64) {
	meeting := 0
	if t.mode == ModeBracket {
		meeting = n
	}
	for i := first; i < end; i++ {
		step := i + t.cells[n].from*t.block
		if step >= t.steps {
			break
		}
		ids := t.size[i]
		if t.mode == ModeEvery && n > 0 {
			ids = t.count[i][n-1]
		}
		most = max(most, t.view.overlap(ids, t.returned[meeting][step]))
	}
	return most
}
