package main

import (
	"context"
	"fmt"
	"slices"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) funnelCommand() *cobra.Command {
	var over periodFlag
	var o query.FunnelOptions
	var within daysFlag
	var scope scopeFlags
	order := choice[query.Order]{text: "any", parse: query.ParseOrder}
	cmd := &cobra.Command{
		Use:   "funnel STEP...",
		Short: "Report how many ids reach each of some steps",
		Long: `Funnel gives, for each step, the ids that are in it and in all steps before. A step
is an event, over the period, or, in any order, a set expression with periods of
its own; what is the name of a stored event is that event.

By --order loose a step lies on the day of the step before or later, and by strict
on a later one; an event that follows itself always on a later one. With --within W
an attempt enters with the first step in the period, and goes on for up to W days,
past the period too; open are the ids whose attempt can go on yet.

` + expressionHelp,
		Example: example("cohort funnel registered played paid --over 2026-01",
			"cohort funnel registered played paid --over 2026-01 --order both --within 7",
			`cohort funnel registered 'played[2026-01] - bots[all]' --over 2026-01`),
		Args: cobra.MinimumNArgs(1),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			steps := make([]query.Step, len(args))
			for i, text := range args {
				steps[i] = query.TextStep(text)
			}
			o.Over, o.Order, o.Within, o.AsOf, o.Scope = over.period, order.value, within.n, a.asOf.day, scope.Scope
			return a.ask(ctx, func(snap *store.Snapshot) error {
				report, err := query.Funnel(ctx, snap, steps, o)
				if err != nil {
					return err
				}
				named(&scope, report.Breakdown)
				for i, s := range steps {
					x, err := s.Expr(snap, o.Over)
					if err != nil {
						return fmt.Errorf("%q: %w", args[i], err)
					}
					if err := a.warnUnknownIn(snap, x); err != nil {
						return err
					}
				}
				if err := a.warnReport(snap, &scope); err != nil {
					return err
				}
				return a.writeFunnel(report, o)
			})
		}),
	}
	f := cmd.Flags()
	f.Var(&over, "over", "the `period` of the events (default all)")
	f.Var(&order, "order", "how the days of the steps follow each other: any, loose, strict or both")
	f.Var(&within, "within", "how many `days` after the first step the others may lie")
	f.BoolVar(&o.FirstEntry, "first-entry", false, "within a window, count from the first entry of an id, not its best")
	scope.addFlags(cmd)
	return cmd
}

func (a *app) writeFunnel(r *query.FunnelReport, o query.FunnelOptions) error {
	note := asOfNote(r.AsOf, r.ExpectedFalseOverlap)
	if o.Within > 0 {
		note += fmt.Sprintf(", %d open", r.Open)
	}
	return a.write(r, partsGrid(*r, r.Breakdown, funnelGrid), note)
}

func funnelGrid(r query.FunnelReport) *grid {
	g := &grid{head: []string{"event", "reached", "of_previous", "of_first", "dropped"}}
	if r.Steps == nil {
		g.head, g.keys = append([]string{"order"}, g.head...), 2
	}
	add := func(steps []query.FunnelStep, keys ...any) {
		for _, s := range steps {
			g.add(append(slices.Clone(keys), s.Event, s.Reached, s.OfPrevious, s.OfFirst, orNil(s.Dropped))...)
		}
	}
	add(r.Steps)
	add(r.Loose, query.Loose)
	add(r.Strict, query.Strict)
	return g
}
