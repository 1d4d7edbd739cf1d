package main

import (
	"context"
	"fmt"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) funnelCommand() *cobra.Command {
	var over periodFlag
	var scope scopeFlags
	cmd := &cobra.Command{
		Use:   "funnel STEP...",
		Short: "Report how many ids reach each of some steps",
		Long: `Funnel gives, for each step, the ids that are in it and in all steps before, in
any order of time. A step is an event, over the period, or a set expression with
periods of its own.

` + expressionHelp,
		Example: example("cohort funnel registered played paid --over 2026-01",
			`cohort funnel registered 'played[2026-01] - bots[all]' --over 2026-01`),
		Args: cobra.MinimumNArgs(1),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			steps := make([]query.Step, len(args))
			for i, text := range args {
				steps[i] = query.TextStep(text)
			}
			return a.ask(ctx, func(snap *store.Snapshot) error {
				report, err := query.Funnel(ctx, snap, steps, query.FunnelOptions{Over: over.period, AsOf: a.asOf.day, Scope: scope.Scope})
				if err != nil {
					return err
				}
				named(&scope, report.Breakdown)
				for i, s := range steps {
					events, err := s.Events(snap)
					if err != nil {
						return fmt.Errorf("%q: %w", args[i], err)
					}
					if err := a.warnUnknown(snap, events...); err != nil {
						return err
					}
				}
				if err := a.warnUnknown(snap, scope.events()...); err != nil {
					return err
				}
				return a.writeFunnel(report)
			})
		}),
	}
	cmd.Flags().Var(&over, "over", "the `period` of the events (default all)")
	scope.addFlags(cmd)
	return cmd
}

func (a *app) writeFunnel(r *query.FunnelReport) error {
	g := partsGrid(*r, r.Breakdown, funnelGrid)
	return a.write(r, g, asOfNote(r.AsOf, r.ExpectedFalseOverlap))
}

func funnelGrid(r query.FunnelReport) *grid {
	g := &grid{head: []string{"event", "reached", "of_previous", "of_first", "dropped"}}
	for _, s := range r.Steps {
		g.add(s.Event, s.Reached, s.OfPrevious, s.OfFirst, orNil(s.Dropped))
	}
	return g
}
