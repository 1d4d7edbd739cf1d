package query_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"cohort/query"
	"cohort/store"
)

// askTop compares the events with the most marks with those of the model. The number
// of ids is told where there are marks on one day, and right wherever it is told.
func (w *world) askTop(t *testing.T, src query.Source) {
	p, asOf, n := w.period(), w.asOf(), 1+w.rng.IntN(6)
	a := w.ask(asOf, false)
	prefix := []string{"", "", "a", "play"}[w.rng.IntN(4)]
	var want []query.TopEvent
	for name := range w.marks {
		e := query.TopEvent{Event: name, Brand: w.brand[name]}
		first, last := p.read(a, name)
		for d := first; d <= last; d++ {
			count := uint64(len(w.marks[name][d]))
			if count == 0 {
				continue
			}
			e.Days++
			e.Marks += count
			if count > e.Best {
				e.Best, e.BestDay = count, d
			}
		}
		if ids := uint64(len(w.union(name, first, last))); strings.HasPrefix(name, prefix) && ids > 0 {
			e.IDs = &ids
			want = append(want, e)
		}
	}
	slices.SortFunc(want, func(a, b query.TopEvent) int {
		return cmp.Or(cmp.Compare(b.Marks, a.Marks), strings.Compare(a.Event, b.Event))
	})
	want = want[:min(n, len(want))]
	got, err := query.Top(t.Context(), src, prefix, p.Period, n, options(asOf)...)
	same := slices.EqualFunc(got, want, func(got, want query.TopEvent) bool {
		if got.IDs == nil && want.Days > 1 {
			got.IDs = want.IDs
		}
		if got.IDs == nil || *got.IDs != *want.IDs {
			return false
		}
		got.IDs = want.IDs
		return got == want
	})
	if err != nil || !same {
		t.Errorf("top %d of %q over %v as of %s: got %+v, %v, want %+v", n, prefix, p, asOfText(asOf), got, err, want)
	}
}

func TestTopRefused(t *testing.T) {
	db := openStore(t, "2026-01-10", store.Options{})
	if _, err := query.Top(t.Context(), db, "", query.All(), 0); !errors.Is(err, query.ErrUsage) {
		t.Errorf("top 0: %v", err)
	}
}
