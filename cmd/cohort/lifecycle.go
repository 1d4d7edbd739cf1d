package main

import (
	"context"
	"fmt"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) lifecycleCommand() *cobra.Command {
	var s span
	var scope scopeFlags
	cmd := &cobra.Command{
		Use:   "lifecycle EVENT",
		Short: "Report who is new, returning, resurrecting or dormant",
		Long: `Lifecycle tells of each period how many ids did the event in it
  new            and never before
  returning      and in the period before
  resurrecting   and not in the period before, but earlier
  dormant        not, but in the period before`,
		Example: example("cohort lifecycle played --by week", "cohort lifecycle played --from 2026-01 --to 2026-03 --by month"),
		Args:    cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			o := query.LifecycleOptions{From: s.from.period, To: s.to.period, By: s.by.value, AsOf: a.asOf.day, Scope: scope.Scope}
			return a.ask(ctx, func(snap *store.Snapshot) error {
				report, err := query.Lifecycle(ctx, snap, args[0], o)
				if err != nil {
					return fmt.Errorf("%q: %w", args[0], err)
				}
				named(&scope, report.Breakdown)
				if err := a.warnReport(snap, &scope, args[0]); err != nil {
					return err
				}
				return a.write(report, partsGrid(*report, report.Breakdown, lifecycleGrid), "as of "+report.AsOf.String())
			})
		}),
		ValidArgsFunction: a.completeEvent,
	}
	s.addFlags(cmd, "row")
	scope.addFlags(cmd)
	return cmd
}

func lifecycleGrid(r query.LifecycleReport) *grid {
	g := &grid{head: []string{"period", "new", "returning", "resurrecting", "dormant", "incomplete"}}
	for _, row := range r.Rows {
		g.add(row.Period.String(), row.New, row.Returning, row.Resurrecting, row.Dormant, flag(row.Incomplete))
	}
	return g
}
