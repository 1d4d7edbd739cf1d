package main

import (
	"context"
	"errors"
	"fmt"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

const expressionHelp = `An expression combines sets name[period], where a period is a day, week, month,
quarter or year, a range A..B, 7d, 7d@DAY, DAY+7d, today, yesterday or all:
  a[2026-01] & b[2026-01]     in both        a[2026-01] - b[all]         in a, not in b
  a[2026-W05] | b[2026-W05]   in either      every(a[2026-W05])          on each day
  a[7d] ^ b[7d]               in one only    seen                        every known id
  @bots                       a saved set    (a[7d] | b[7d]) - @bots     grouped
  level>=10                   by a field     level=3..7                  in a range`

func (a *app) countCommand() *cobra.Command {
	var scope scopeFlags
	cmd := &cobra.Command{
		Use:   "count EXPR...",
		Short: "Count the ids in sets",
		Long: `Count gives the number of ids in each set, and how many more there are expected
to be that share a placement with another of it.

` + expressionHelp,
		Example: example(`cohort count 'played[2026-01-30]'`, `cohort count 'played[2026-01] & paid[2026-01]' 'seen - paid[all]'`,
			`cohort count 'played[2026-01]' --breakdown 'paid[2026-01]' --except '@bots'`),
		Args: cobra.MinimumNArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			sets, err := parseExprs(args)
			if err != nil {
				return err
			}
			return a.ask(ctx, func(snap *store.Snapshot) error { return a.count(ctx, snap, args, sets, &scope) })
		}),
	}
	scope.addFlags(cmd)
	return cmd
}

func (a *app) count(ctx context.Context, snap *store.Snapshot, texts []string, sets []query.Expr, scope *scopeFlags) error {
	results := make([]query.SetSize, len(sets))
	for i, x := range sets {
		size, err := query.Size(ctx, snap, x, append(a.options(), query.In(scope.Scope))...)
		if err != nil {
			return fmt.Errorf("%q: %w", texts[i], err)
		}
		size.Expr = texts[i]
		named(scope, size.Breakdown)
		for k := range size.Breakdown {
			size.Breakdown[k].Report.Expr = texts[i]
		}
		results[i] = size
	}
	if err := errors.Join(a.warnUnknownIn(snap, sets...), a.warnReport(snap, scope)); err != nil {
		return err
	}
	return a.write(map[string]any{"results": results}, sizesGrid(results, len(scope.Breakdown) > 0))
}

// sizesGrid is the grid of the sizes of sets, and of their parts where they have
// any.
func sizesGrid(sizes []query.SetSize, parts bool) *grid {
	if !parts {
		g := &grid{head: []string{"expr", "count", "expected_collisions"}}
		for _, s := range sizes {
			g.add(s.Expr, s.Count, s.ExpectedCollisions)
		}
		return g
	}
	g := &grid{head: []string{"expr", "set", "count", "expected_collisions"}}
	for _, s := range sizes {
		g.add(s.Expr, allIDs, s.Count, s.ExpectedCollisions)
		for _, p := range s.Breakdown {
			g.add(s.Expr, p.Set, p.Report.Count, p.Report.ExpectedCollisions)
		}
	}
	return g
}

// parseExprs reads set expressions.
func parseExprs(texts []string) ([]query.Expr, error) {
	sets := make([]query.Expr, len(texts))
	for i, text := range texts {
		x, err := query.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		sets[i] = x
	}
	return sets, nil
}

// options returns the options of a question about a set.
func (a *app) options() []query.Option {
	if a.asOf.day == nil {
		return nil
	}
	return []query.Option{query.AsOf(*a.asOf.day)}
}
