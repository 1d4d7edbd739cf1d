package main

import (
	"context"
	"fmt"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) streakCommand() *cobra.Command {
	var over periodFlag
	var atLeast daysFlag
	var scope scopeFlags
	cmd := &cobra.Command{
		Use:   "streak EVENT {ID | --at-least N | --over PERIOD}",
		Short: "Tell the streaks of an id, or how many ids have one",
		Long: `Streak tells of an id how many days in a row it did the event up to as-of, or up to
the day before while as-of is not marked, and the most days in a row it ever did, or
in a period. Without an id, --at-least counts the ids whose current streak has at
least so many days, and --over those whose longest streak in the period has how many.`,
		Example: example("cohort streak played PLR0KHTOWnGLuC", "cohort streak played PLR0KHTOWnGLuC --over 2026-01",
			"cohort streak played --at-least 7", "cohort streak played --over 2026-01"),
		Args: cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				if err := onlyFlags(cmd, "an id", "over"); err != nil {
					return err
				}
				return a.ask(ctx, func(snap *store.Snapshot) error { return a.streak(ctx, snap, args[0], args[1], over.period) })
			}
			switch {
			case atLeast.n > 0 && over.given:
				return usagef("--at-least does not go with --over")
			case atLeast.n == 0 && !over.given:
				return usagef("name an id, or give --at-least or --over")
			}
			return a.ask(ctx, func(snap *store.Snapshot) error {
				if atLeast.n > 0 {
					return a.streaking(ctx, snap, args[0], atLeast.n, scope)
				}
				return a.longest(ctx, snap, args[0], over.period, scope)
			})
		}),
		ValidArgsFunction: a.completeEvent,
	}
	f := cmd.Flags()
	f.Var(&over, "over", "the `period` in which the longest streak lies (default all)")
	f.Var(&atLeast, "at-least", "count the ids with a current streak of at least `N` days")
	f.Func("except", "leave out the ids of the set `EXPR`; may be repeated", scope.except)
	return cmd
}

func (a *app) streak(ctx context.Context, snap *store.Snapshot, event, id string, over query.Period) error {
	if _, err := parseIDs(snap.Config().IDs, []string{id}); err != nil {
		return err
	}
	r, err := query.Streak(ctx, snap, event, id, over, a.options()...)
	if err != nil {
		return err
	}
	if err := a.warnUnknown(snap, event); err != nil {
		return err
	}
	g := &grid{head: []string{"current", "longest", "last_day", "shared"}}
	g.add(r.Current, r.Longest, orNil(r.LastDay), r.Shared)
	return a.writeRecord(r, g, asOfNote(r.AsOf, 0))
}

func (a *app) streaking(ctx context.Context, snap *store.Snapshot, event string, n int, scope scopeFlags) error {
	count, err := query.Streaking(ctx, snap, event, n, append(a.options(), query.In(scope.Scope))...)
	if err != nil {
		return fmt.Errorf("%q: %w", event, err)
	}
	if err := a.warnReport(snap, &scope, event); err != nil {
		return err
	}
	g := &grid{head: []string{"at_least", "count"}}
	g.add(n, count)
	asOf := a.today(snap)
	return a.writeRecord(struct {
		AsOf    string `json:"as_of"`
		AtLeast int    `json:"at_least"`
		Count   uint64 `json:"count"`
	}{asOf.String(), n, count}, g, asOfNote(asOf, 0))
}

func (a *app) longest(ctx context.Context, snap *store.Snapshot, event string, over query.Period, scope scopeFlags) error {
	r, err := query.Longest(ctx, snap, event, over, append(a.options(), query.In(scope.Scope))...)
	if err != nil {
		return fmt.Errorf("%q: %w", event, err)
	}
	if err := a.warnReport(snap, &scope, event); err != nil {
		return err
	}
	g := &grid{head: []string{"days", "exactly", "at_least"}}
	for _, row := range r.Rows {
		g.add(row.Days, row.Exactly, row.AtLeast)
	}
	return a.write(r, g, asOfNote(r.AsOf, 0))
}
