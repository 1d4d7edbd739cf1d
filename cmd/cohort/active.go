package main

import (
	"context"
	"fmt"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

// span are the flags that choose the rows of a report.
type span struct {
	from, to periodFlag
	by       choice[query.By]
}

func (s *span) addFlags(cmd *cobra.Command, rows string) {
	s.by = choice[query.By]{text: "day", parse: query.ParseBy}
	f := cmd.Flags()
	f.Var(&s.from, "from", "first "+rows+": that of the `period`'s first day (default that of the event)")
	f.Var(&s.to, "to", "last "+rows+": that of the `period`'s last day (default that of the event)")
	f.Var(&s.by, "by", "`length` of a period: day, week, month, quarter or year")
}

func (a *app) activeCommand() *cobra.Command {
	var s span
	var scope scopeFlags
	var o query.ActiveOptions
	cmd := &cobra.Command{
		Use:   "active EVENT",
		Short: "Report active ids by day, week, month, quarter or year",
		Long: `Active gives the number of ids that did the event in each period. By day it also
gives trailing windows: w7 is the ids active on that day or the six before it. The
stickiness is active over w30; over w28 if that is asked for and w30 is not; the mean
is that of the days that have ended. --histogram adds how many ids were active in
exactly and in at least so many of the periods.`,
		Example: example("cohort active played --from 2026-01-01 --to 2026-01-31", "cohort active paid --by month",
			"cohort active played --from 2026-01 --to 2026-01 --histogram"),
		Args: cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			o.From, o.To, o.By, o.AsOf, o.Scope = s.from.period, s.to.period, s.by.value, a.asOf.day, scope.Scope
			return a.ask(ctx, func(snap *store.Snapshot) error {
				report, err := query.Active(ctx, snap, args[0], o)
				if err != nil {
					return fmt.Errorf("%q: %w", args[0], err)
				}
				named(&scope, report.Breakdown)
				if err := a.warnReport(snap, &scope, args[0]); err != nil {
					return err
				}
				return a.writeActive(report, o)
			})
		}),
		ValidArgsFunction: a.completeEvent,
	}
	s.addFlags(cmd, "row")
	cmd.Flags().IntSliceVar(&o.Trailing, "trailing", []int{7, 30}, "the windows, in `days`")
	cmd.Flags().BoolVar(&o.Histogram, "histogram", false, "also count the ids active in so many periods (as CSV, only that)")
	scope.addFlags(cmd)
	return cmd
}

func (a *app) writeActive(r *query.ActiveReport, o query.ActiveOptions) error {
	byDay := o.By == query.ByDay
	rows := partsGrid(*r, r.Breakdown, func(r query.ActiveReport) *grid { return activeGrid(r, byDay) })
	note := "as of " + r.AsOf.String()
	if byDay {
		note += ", mean stickiness " + r.MeanStickiness.String()
	}
	if !o.Histogram || a.json {
		return a.write(r, rows, note)
	}
	if !a.csv {
		if err := a.write(r, rows, ""); err != nil {
			return err
		}
	}
	return a.write(r, partsGrid(*r, r.Breakdown, histogramGrid), note)
}

func activeGrid(r query.ActiveReport, byDay bool) *grid {
	g := &grid{head: []string{"period", "active"}}
	if byDay && len(r.Rows) > 0 {
		for _, w := range r.Rows[0].Trailing {
			g.head = append(g.head, fmt.Sprintf("w%d", w.Days))
		}
	}
	if byDay {
		g.head = append(g.head, "stickiness")
	}
	g.head = append(g.head, "incomplete")
	for _, row := range r.Rows {
		cells := []any{row.Period.String(), row.Active}
		if byDay {
			for _, w := range row.Trailing {
				cells = append(cells, w.Active)
			}
			cells = append(cells, row.Stickiness)
		}
		g.add(append(cells, flag(row.Incomplete))...)
	}
	return g
}

func histogramGrid(r query.ActiveReport) *grid {
	g := &grid{head: []string{"periods", "exactly", "at_least"}}
	for _, h := range r.Histogram {
		g.add(h.Periods, h.Exactly, h.AtLeast)
	}
	return g
}
