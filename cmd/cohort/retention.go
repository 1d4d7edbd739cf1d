package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) retentionCommand() *cobra.Command {
	var s span
	var scope scopeFlags
	var o query.RetentionOptions
	mode := choice[query.Mode]{text: "on", parse: query.ParseMode}
	cohort := cohortFlag{text: "first"}
	cmd := &cobra.Command{
		Use:   "retention EVENT",
		Short: "Report which part of each cohort came back",
		Long: `Retention gives a row for the cohort of each period, the ids that did the event
in it first, and a cell for each period after: the part of the cohort that came
back in it. The last row is the mean, weighted by size, of the cells that have
ended. From and to choose cohorts; cells are read past them, up to as-of.

By --mode, cell n counts who came back
  on            in period n
  on-or-after   in period n or later, up to as-of
  every         in each of the periods 0 to n
  bracket       in any period of a --bracket, one cell each, after that of offset 0

A cohort can be a set instead, the same one for each period: give --cohort an
expression, or name the set in the place of the event and the event with --return.`,
		Example: example("cohort retention played --from 2026-01 --to 2026-03 --by month",
			"cohort retention registered --return paid --by week --periods 8 --from-own-start",
			"cohort retention played --by week --mode bracket --bracket 1-2,3-8",
			`cohort retention played --cohort '@testgroup' --by week --breakdown 'paid[all]'`),
		Args: cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("periods") && o.Periods < 1 {
				return usagef("--periods %d: must be at least 1", o.Periods)
			}
			o.From, o.To, o.By, o.AsOf, o.Scope = s.from.period, s.to.period, s.by.value, a.asOf.day, scope.Scope
			o.Mode, o.Cohort, o.CohortSet = mode.value, cohort.of, cohort.set
			return a.ask(ctx, func(snap *store.Snapshot) error { return a.retention(ctx, snap, args[0], o, &scope) })
		}),
		ValidArgsFunction: a.completeEvent,
	}
	f := cmd.Flags()
	f.StringVar(&o.Return, "return", "", "the `event` of coming back (default the event itself)")
	s.addFlags(cmd, "cohort")
	f.IntVar(&o.Periods, "periods", 0, "`N` cells of each cohort: offsets 0 to N-1, in modes other than bracket (default up to as-of, at most 31)")
	f.Var(&mode, "mode", "what a cell counts: on, on-or-after, every or bracket")
	f.Func("bracket", "with --mode bracket, offsets `a-b` of a cell; may be repeated, or a list", func(list string) error {
		for text := range strings.SplitSeq(list, ",") {
			b, err := query.ParseBracket(text)
			if err != nil {
				return err
			}
			o.Brackets = append(o.Brackets, b)
		}
		return nil
	})
	f.BoolVar(&o.FromOwnStart, "from-own-start", false, "count blocks of 7 (by week) or 30 days (by month) from each id's first day")
	f.Var(&cohort, "cohort", "first: ids whose first day is in the period; each: all of it; or a set")
	f.BoolVar(&o.SimpleMean, "simple-mean", false, "let each cohort weigh the same in the mean")
	scope.addFlags(cmd)
	return cmd
}

// cohortFlag is a flag that says what a cohort is: a kind of cohort, or a set.
type cohortFlag struct {
	text string // as given; at first the default
	of   query.CohortOf
	set  query.Expr
}

func (f *cohortFlag) Set(s string) (err error) {
	f.text, f.set = s, nil
	f.of, err = query.ParseCohortOf(s)
	if err == nil || store.BareLen(s) == len(s) && s != "seen" {
		return err
	}
	f.of = query.CohortFirst
	f.set, err = query.Parse(s)
	return err
}

func (f *cohortFlag) String() string { return f.text }
func (f *cohortFlag) Type() string   { return "name" }

// retention reports on an event, or on the set that stands in its place.
func (a *app) retention(ctx context.Context, snap *store.Snapshot, event string, o query.RetentionOptions, scope *scopeFlags) error {
	what := event
	set, err := query.EventOrSet(snap, event)
	switch {
	case err != nil:
		return fmt.Errorf("%q: %w", event, err)
	case set == nil:
	case o.Return == "":
		return usagef("%q is a set, whose ids come back by an event: name that with --return", event)
	case o.CohortSet != nil:
		return usagef("%q is a set, so --cohort cannot be another", event)
	default:
		o.CohortSet, event = set, o.Return
	}
	report, err := query.Retention(ctx, snap, event, o)
	if err != nil {
		return fmt.Errorf("%q: %w", what, err)
	}
	named(scope, report.Breakdown)
	if err := errors.Join(a.warnReport(snap, scope, event, cmp.Or(o.Return, event)), a.warnUnknownIn(snap, o.CohortSet)); err != nil {
		return err
	}
	if o.Mode == query.ModeBracket && o.Periods > 0 {
		a.warnf("--periods %d has no meaning to --mode bracket, which has a cell for each bracket", o.Periods)
	}
	grid := retentionGrid
	if a.csv {
		grid = retentionList
	}
	return a.write(report, partsGrid(*report, report.Breakdown, grid), asOfNote(report.AsOf, report.ExpectedFalseOverlap))
}

// retentionGrid is the triangle, with the mean below it.
func retentionGrid(r query.RetentionReport) *grid {
	g := &grid{head: []string{"period", "size"}, keys: 2}
	mean := []any{"mean", ""}
	for n, m := range r.Mean {
		g.head = append(g.head, offsetName(r, n))
		mean = append(mean, m.Rate)
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
	g.add(mean...)
	return g
}

// offsetName names cell n of a cohort: by its offset, or its bracket.
func offsetName(r query.RetentionReport, n int) string {
	if n > 0 && len(r.Brackets) > 0 {
		return r.Brackets[n-1].String()
	}
	return strconv.Itoa(n)
}

// retentionList lists the cells of the triangle, one a row.
func retentionList(r query.RetentionReport) *grid {
	g := &grid{head: []string{"period", "size", "offset", "count", "rate", "incomplete"}}
	for _, row := range r.Cohorts {
		for n, c := range row.Cells {
			var count any = c.Count
			if c.Incomplete {
				count = nil
			}
			g.add(row.Period.String(), row.Size, offsetName(r, n), count, c.Rate, flag(c.Incomplete))
		}
	}
	return g
}
