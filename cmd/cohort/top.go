package main

import (
	"context"
	"strings"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) topCommand() *cobra.Command {
	var over periodFlag
	n := 10
	cmd := &cobra.Command{
		Use:   "top [PREFIX] --over PERIOD",
		Short: "List the events with the most marks in a period",
		Long: `Top lists the events with the most marks in a period, of those whose names begin with
PREFIX: on how many days they have any, the marks (the sum of the days' counts, an id
counted on each of its days), and the best day with its count. Ids is the number of
ids active in the period; it is shown where it is noted, for one day, or a remembered
week, month, quarter or year, and "cohort count" tells it always. No bitmap is read.`,
		Example: example("cohort top --over 2026-01-30", "cohort top page. --over 2026-01 --top 20"),
		Args:    cobra.MaximumNArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			switch {
			case !over.given:
				return usagef("--over PERIOD is missing")
			case n < 1:
				return usagef("--top %d: must be at least 1", n)
			}
			return a.ask(ctx, func(snap *store.Snapshot) error {
				top, err := query.Top(ctx, snap, strings.Join(args, ""), over.period, n, a.options()...)
				if err != nil {
					return err
				}
				if top == nil {
					top = []query.TopEvent{}
				}
				g := &grid{head: []string{"event", "brand", "days", "marks", "best_day", "best", "ids"}}
				for _, e := range top {
					g.add(e.Event, orNil(brandName(e.Brand)), e.Days, e.Marks, e.BestDay.String(), e.Best, orNil(e.IDs))
				}
				return a.write(map[string]any{"events": top}, g)
			})
		}),
	}
	cmd.Flags().Var(&over, "over", "the `period`")
	cmd.Flags().IntVar(&n, "top", n, "list at most `N` events")
	return cmd
}
