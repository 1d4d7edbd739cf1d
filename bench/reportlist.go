package main

import (
	"context"

	"cohort/query"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// reports lists the reports of so many days. The first two are the triangles that
// have a goal.
func reports(days int) []*report {
	last := questionFirst + store.Day(days-1)
	return []*report{
		{
			name: "triangle, all ids of a day",
			ask:  askTriangle(last, query.RetentionOptions{Cohort: query.CohortEach}),
			work: workEach,
			want: func(days []bitset) []uint64 { return triangleOf(days, false, false) },
		},
		{
			name: "triangle, first days",
			ask:  askTriangle(last, query.RetentionOptions{}),
			work: func(days []*roaring.Bitmap) []uint64 { return workFirst(days, days) },
			want: func(days []bitset) []uint64 { return triangleOf(days, true, false) },
		},
		{
			name: "triangle, on or after",
			ask:  askTriangle(last, query.RetentionOptions{Mode: query.ModeOnOrAfter}),
			work: workOnOrAfter,
			want: func(days []bitset) []uint64 { return triangleOf(days, true, true) },
		},
		{name: "windows of 7 days", ask: askWindows(last), work: workWindows, want: windowsOf},
	}
}

func askTriangle(last store.Day, o query.RetentionOptions) func(context.Context, query.Source) ([]uint64, error) {
	return func(ctx context.Context, src query.Source) ([]uint64, error) {
		o.AsOf = &last
		r, err := query.Retention(ctx, src, markedEvent, o)
		if err != nil {
			return nil, err
		}
		var figures []uint64
		for _, row := range r.Cohorts {
			for _, c := range row.Cells {
				if !c.Incomplete {
					figures = append(figures, c.Count)
				}
			}
		}
		return figures, nil
	}
}

func workEach(days []*roaring.Bitmap) []uint64 {
	var figures []uint64
	for i, cohort := range days {
		for _, back := range days[i:] {
			figures = append(figures, cohort.AndCardinality(back))
		}
	}
	return figures
}

// workFirst meets the cohorts of first days with sets of coming back, by day.
func workFirst(days, back []*roaring.Bitmap) []uint64 {
	var figures []uint64
	before := roaring.New()
	for i, day := range days {
		cohort := roaring.AndNot(day, before)
		before.Or(day)
		for _, b := range back[i:] {
			figures = append(figures, cohort.AndCardinality(b))
		}
	}
	return figures
}

func workOnOrAfter(days []*roaring.Bitmap) []uint64 {
	later := make([]*roaring.Bitmap, len(days))
	for i := len(days) - 1; i >= 0; i-- {
		if later[i] = days[i]; i+1 < len(days) {
			later[i] = roaring.Or(days[i], later[i+1])
		}
	}
	return workFirst(days, later)
}

// triangleOf is the triangle by plain sets.
func triangleOf(days []bitset, first, orAfter bool) []uint64 {
	var figures []uint64
	before := make(bitset, len(days[0]))
	for i, day := range days {
		cohort := make(bitset, len(day))
		for w := range day {
			if cohort[w] = day[w]; first {
				cohort[w] &^= before[w]
			}
			before[w] |= day[w]
		}
		for n := i; n < len(days); n++ {
			back := days[n]
			if orAfter {
				back = union(days[n:]...)
			}
			figures = append(figures, uint64(intersection(cohort, back).count()))
		}
	}
	return figures
}

// windowDays is the length of the trailing windows.
const windowDays = 7

func askWindows(last store.Day) func(context.Context, query.Source) ([]uint64, error) {
	return func(ctx context.Context, src query.Source) ([]uint64, error) {
		r, err := query.Active(ctx, src, markedEvent, query.ActiveOptions{Trailing: []int{windowDays}, AsOf: &last})
		if err != nil {
			return nil, err
		}
		var figures []uint64
		for _, row := range r.Rows {
			figures = append(figures, row.Active, row.Trailing[0].Active)
		}
		return figures, nil
	}
}

func workWindows(days []*roaring.Bitmap) []uint64 {
	var figures []uint64
	for i, day := range days {
		window := days[max(0, i-windowDays+1) : i+1]
		figures = append(figures, day.GetCardinality(), roaring.FastOr(window...).GetCardinality())
	}
	return figures
}

func windowsOf(days []bitset) []uint64 {
	var figures []uint64
	for i, day := range days {
		figures = append(figures, uint64(day.count()), uint64(union(days[max(0, i-windowDays+1):i+1]...).count()))
	}
	return figures
}
