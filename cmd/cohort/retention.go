package main

import (
	"context"
	"fmt"
	"strconv"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) retentionCommand() *cobra.Command {
	var s span
	var o query.RetentionOptions
	cohort := choice[query.CohortOf]{text: "first", parse: query.ParseCohortOf}
	cmd := &cobra.Command{
		Use:   "retention EVENT",
		Short: "Report which part of each cohort came back",
		Long: `Retention gives a row for the cohort of each period, the ids that did the event
in it first, and a cell for each period after: the part of the cohort that came
back in it. The last row is the mean, weighted by size, of the cells that have
ended. From and to choose cohorts; cells are read past them, up to as-of.`,
		Example: example("cohort retention played --from 2026-01 --to 2026-03 --by month",
			"cohort retention registered --return paid --by week --periods 8"),
		Args: cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("periods") && o.Periods < 1 {
				return usagef("--periods %d: must be at least 1", o.Periods)
			}
			o.From, o.To, o.By, o.Cohort, o.AsOf = s.from.period, s.to.period, s.by.value, cohort.value, a.asOf.day
			return a.ask(ctx, func(snap *store.Snapshot) error {
				report, err := query.Retention(ctx, snap, args[0], o)
				if err != nil {
					return fmt.Errorf("%q: %w", args[0], err)
				}
				events := args
				if o.Return != "" {
					events = append(events, o.Return)
				}
				if err := a.warnUnknown(snap, events...); err != nil {
					return err
				}
				return a.writeRetention(report)
			})
		}),
		ValidArgsFunction: a.completeEvent,
	}
	f := cmd.Flags()
	f.StringVar(&o.Return, "return", "", "the `event` of coming back (default the event itself)")
	s.addFlags(cmd, "cohort")
	f.IntVar(&o.Periods, "periods", 0, "`N` cells of each cohort: offsets 0 to N-1 (default up to as-of, at most 31)")
	f.Var(&cohort, "cohort", "first: ids whose first day is in the period; each: all of it")
	f.BoolVar(&o.SimpleMean, "simple-mean", false, "let each cohort weigh the same in the mean")
	return cmd
}

func (a *app) writeRetention(r *query.RetentionReport) error {
	if a.csv {
		return a.write(nil, retentionList(r))
	}
	g := &grid{head: []string{"period", "size"}, keys: 2}
	for n := range r.Mean {
		g.head = append(g.head, strconv.Itoa(n))
	}
	for _, row := range r.Cohorts {
		cells := []any{row.Period.String(), row.Size}
		for _, c := range row.Cells {
			if c.Incomplete {
				cells = append(cells, "")
			} else {
				cells = append(cells, c.Rate)
			}
		}
		g.add(cells...)
	}
	mean := []any{"mean", ""}
	for _, m := range r.Mean {
		mean = append(mean, m.Rate)
	}
	g.add(mean...)
	return a.write(r, g, asOfNote(r.AsOf, r.ExpectedFalseOverlap))
}

// retentionList lists the cells of the triangle, one a row.
func retentionList(r *query.RetentionReport) *grid {
	g := &grid{head: []string{"period", "size", "offset", "count", "rate", "incomplete"}}
	for _, row := range r.Cohorts {
		for n, c := range row.Cells {
			var count any = c.Count
			if c.Incomplete {
				count = nil
			}
			g.add(row.Period.String(), row.Size, n, count, c.Rate, flag(c.Incomplete))
		}
	}
	return g
}
