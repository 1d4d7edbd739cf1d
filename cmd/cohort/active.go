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
	var trailing []int
	cmd := &cobra.Command{
		Use:   "active EVENT",
		Short: "Report active ids by day, week, month, quarter or year",
		Long: `Active gives the number of ids that did the event in each period. By day it also
gives trailing windows: w7 is the ids active on that day or the six before it. The
stickiness is active over w30; over w28 if that is asked for and w30 is not.`,
		Example: example("cohort active played --from 2026-01-01 --to 2026-01-31", "cohort active paid --by month"),
		Args:    cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			o := query.ActiveOptions{From: s.from.period, To: s.to.period, By: s.by.value, Trailing: trailing, AsOf: a.asOf.day}
			return a.ask(ctx, func(snap *store.Snapshot) error {
				report, err := query.Active(ctx, snap, args[0], o)
				if err != nil {
					return fmt.Errorf("%q: %w", args[0], err)
				}
				if err := a.warnUnknown(snap, args[0]); err != nil {
					return err
				}
				return a.writeActive(report, s.by.value)
			})
		}),
		ValidArgsFunction: a.completeEvent,
	}
	s.addFlags(cmd, "row")
	cmd.Flags().IntSliceVar(&trailing, "trailing", []int{7, 30}, "the windows, in `days`")
	return cmd
}

func (a *app) writeActive(r *query.ActiveReport, by query.By) error {
	g := &grid{head: []string{"period", "active"}}
	byDay := by == query.ByDay
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
	notes := []string{"as of " + r.AsOf.String()}
	if byDay {
		notes[0] += ", mean stickiness " + r.MeanStickiness.String()
	}
	return a.write(r, g, notes...)
}
