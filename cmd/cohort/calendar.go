package main

import (
	"context"
	"fmt"
	"slices"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) calendarCommand() *cobra.Command {
	var over periodFlag
	cmd := &cobra.Command{
		Use:   "calendar EVENT ID",
		Short: "Show on which days an id did an event",
		Long: `Calendar shows the days of a period on which the id did the event: a line a month, a
square for each such day and a point for each other one.`,
		Example: example("cohort calendar played PLR0KHTOWnGLuC --over 2026-01", "cohort calendar played PLR0KHTOWnGLuC --over 2026"),
		Args:    cobra.ExactArgs(2),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.ask(ctx, func(snap *store.Snapshot) error { return a.calendar(ctx, snap, args[0], args[1], over.period) })
		}),
		ValidArgsFunction: a.completeEvent,
	}
	cmd.Flags().Var(&over, "over", "the `period`, such as a month or a year (default all)")
	return cmd
}

func (a *app) calendar(ctx context.Context, snap *store.Snapshot, event, id string, over query.Period) error {
	if _, err := parseIDs(snap.Config().IDs, []string{id}); err != nil {
		return err
	}
	r, err := query.Calendar(ctx, snap, event, id, over, a.options()...)
	if err != nil {
		return err
	}
	if err := a.warnUnknown(snap, event); err != nil {
		return err
	}
	if a.csv {
		g := &grid{head: []string{"day"}}
		for _, d := range r.Days {
			g.add(d.String())
		}
		return a.write(nil, g)
	}
	days, err := a.resolve(snap, event, over)
	if err != nil {
		return err
	}
	note := fmt.Sprintf("active on %d days", len(r.Days))
	if len(r.Days) == 1 {
		note = "active on 1 day"
	}
	if r.Shared {
		note += ", shared with another id"
	}
	return a.write(r, calendarGrid(r.Days, days), note)
}

// calendarGrid shows days, ascending, of a period, a row a month.
func calendarGrid(active []store.Day, over store.Period) *grid {
	g := &grid{head: []string{"month", "active", "days"}}
	if over.Empty() {
		return g
	}
	months := query.Stepping{By: query.ByMonth}
	first, last := months.Widen(over)
	for m := first; m <= last; m++ {
		n, squares := 0, []rune{}
		for d := range months.Days(m).Days() {
			_, on := slices.BinarySearch(active, d)
			switch {
			case on:
				n++
				squares = append(squares, '■')
			case over.Contains(d):
				squares = append(squares, '·')
			default:
				squares = append(squares, ' ')
			}
		}
		g.add(months.Period(m).String(), n, string(squares))
	}
	return g
}
