package main

import (
	"context"
	"fmt"
	"math/big"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

// fieldFigure is a figure of a field.
type fieldFigure struct {
	name, short string
	of          func(ctx context.Context, a *app, snap *store.Snapshot, field string, x query.Expr) (value any, count uint64, err error)
}

// fieldFigures are those that are one number. Where no id has a value, the sum and
// the count are 0, and there is no answer to the others.
var fieldFigures = []fieldFigure{
	{"sum", "Add up a field", func(ctx context.Context, a *app, snap *store.Snapshot, field string, x query.Expr) (any, uint64, error) {
		s, err := query.SumField(ctx, snap, field, x, a.options()...)
		return s.Sum, s.Count, err
	}},
	{"mean", "Give the mean of a field", func(ctx context.Context, a *app, snap *store.Snapshot, field string, x query.Expr) (any, uint64, error) {
		s, err := query.SumField(ctx, snap, field, x, a.options()...)
		if mean, ok := s.Mean(); ok {
			return mean, s.Count, err
		}
		return nil, s.Count, err
	}},
	{"count", "Count the ids that have a value of a field", func(ctx context.Context, a *app, snap *store.Snapshot, field string, x query.Expr) (any, uint64, error) {
		s, err := query.SumField(ctx, snap, field, x, a.options()...)
		return s.Count, s.Count, err
	}},
	{"min", "Give the least value of a field", func(ctx context.Context, a *app, snap *store.Snapshot, field string, x query.Expr) (any, uint64, error) {
		e, err := query.Extremes(ctx, snap, field, x, a.options()...)
		return ifAny(e.Count, e.Min), e.Count, err
	}},
	{"max", "Give the greatest value of a field", func(ctx context.Context, a *app, snap *store.Snapshot, field string, x query.Expr) (any, uint64, error) {
		e, err := query.Extremes(ctx, snap, field, x, a.options()...)
		return ifAny(e.Count, e.Max), e.Count, err
	}},
}

func ifAny(count uint64, v int64) any {
	if count == 0 {
		return nil
	}
	return v
}

// fieldAnswer is what questions about a field have in common.
type fieldAnswer struct {
	Field string  `json:"field"`
	Expr  *string `json:"expr"` // null of all ids
}

func newFieldAnswer(args []string) fieldAnswer {
	f := fieldAnswer{Field: args[0]}
	if len(args) > 1 {
		f.Expr = &args[1]
	}
	return f
}

func (a *app) fieldFigureCommand(q fieldFigure) *cobra.Command {
	return &cobra.Command{
		Use:     q.name + " NAME [EXPR]",
		Short:   q.short,
		Long:    q.short + `: of the ids of a set, or of all ids, that have a value.` + "\n\n" + expressionHelp,
		Example: example(fmt.Sprintf("cohort field %s level", q.name), fmt.Sprintf("cohort field %s level 'active[7d] - @bots'", q.name)),
		Args:    cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.askField(ctx, args, func(snap *store.Snapshot, x query.Expr) error {
				value, count, err := q.of(ctx, a, snap, args[0], x)
				if err != nil {
					return err
				}
				g := &grid{head: []string{"field", "value", "count"}}
				cell := value
				if n, ok := value.(*big.Int); ok {
					if cell = n.String(); n.IsInt64() {
						cell = n.Int64()
					}
				}
				g.add(args[0], cell, count)
				return a.write(struct {
					fieldAnswer
					Value any    `json:"value"`
					Count uint64 `json:"count"`
				}{newFieldAnswer(args), value, count}, g)
			})
		}),
	}
}

func (a *app) fieldQuantileCommand() *cobra.Command {
	at := []float64{0.5}
	cmd := &cobra.Command{
		Use:   "quantile NAME [EXPR]",
		Short: "Give quantiles of a field",
		Long: `Quantile gives, for each fraction Q, the least value of a field that no fewer than Q of
the ids are at or below: exact, and a value that an id has. Of the ids of a set, or of all
ids, that have a value.

` + expressionHelp,
		Example: example("cohort field quantile score", "cohort field quantile score 'active[7d]' --q 0.5,0.9,0.99"),
		Args:    cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			for _, q := range at {
				if !(q >= 0 && q <= 1) {
					return usagef("--q %v: must be from 0 to 1", q)
				}
			}
			return a.askField(ctx, args, func(snap *store.Snapshot, x query.Expr) error {
				values, err := query.Values(ctx, snap, args[0], x, a.options()...)
				if err != nil {
					return err
				}
				type row struct {
					Q     float64 `json:"q"`
					Value *int64  `json:"value"`
				}
				rows := make([]row, len(at))
				g := &grid{head: []string{"q", "value"}}
				for i, q := range at {
					rows[i].Q = q
					if v, ok := query.Quantile(values, q); ok {
						rows[i].Value = &v
					}
					g.add(fmt.Sprint(q), orNil(rows[i].Value))
				}
				return a.write(struct {
					fieldAnswer
					Value *int64 `json:"value"` // of the first
					Rows  []row  `json:"rows"`
				}{newFieldAnswer(args), rows[0].Value, rows}, g)
			})
		}),
	}
	cmd.Flags().Float64SliceVar(&at, "q", at, "the `fractions`, from 0 to 1")
	return cmd
}

func (a *app) fieldHistogramCommand() *cobra.Command {
	width := int64(0)
	cmd := &cobra.Command{
		Use:   "histogram NAME [EXPR]",
		Short: "Count the values of a field in bins",
		Long: `Histogram counts the ids of a set, or all ids, by the value of a field, in bins of equal
width, both ends included; empty bins between others are listed. Without --width it makes
no more than 20.

` + expressionHelp,
		Example: example("cohort field histogram level", "cohort field histogram score 'active[7d]' --width 100"),
		Args:    cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("width") && width < 1 {
				return usagef("--width %d: must be at least 1", width)
			}
			return a.askField(ctx, args, func(snap *store.Snapshot, x query.Expr) error {
				values, err := query.Values(ctx, snap, args[0], x, a.options()...)
				if err != nil {
					return err
				}
				bins, err := query.Histogram(values, width)
				if err != nil {
					return err
				}
				g := &grid{head: []string{"low", "high", "count"}, keys: 2}
				for _, b := range bins {
					g.add(b.Low, b.High, b.Count)
				}
				if bins == nil {
					bins = []query.Bin{}
				}
				return a.write(struct {
					fieldAnswer
					Rows []query.Bin `json:"rows"`
				}{newFieldAnswer(args), bins}, g)
			})
		}),
	}
	cmd.Flags().Int64Var(&width, "width", 0, "`width` of a bin (default by the values)")
	return cmd
}

func (a *app) fieldTopCommand() *cobra.Command {
	n := 10
	cmd := &cobra.Command{
		Use:   "top NAME [EXPR]",
		Short: "List the ids with the greatest values of a field",
		Long: `Top lists the ids of a set, or of all ids, with the greatest values of a field, greatest
first; those with one value by placement.

` + expressionHelp,
		Example: example("cohort field top score", "cohort field top score 'active[7d] - @bots' -n 3"),
		Args:    cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if n < 1 {
				return usagef("-n %d: must be at least 1", n)
			}
			return a.askField(ctx, args, func(snap *store.Snapshot, x query.Expr) error {
				rows, err := query.TopIDs(ctx, snap, args[0], x, n, a.options()...)
				if err != nil {
					return err
				}
				g := &grid{head: []string{"id", "value"}}
				for _, r := range rows {
					g.add(r.ID, r.Value)
				}
				if rows == nil {
					rows = []query.IDValue{}
				}
				return a.write(struct {
					fieldAnswer
					Rows []query.IDValue `json:"rows"`
				}{newFieldAnswer(args), rows}, g)
			})
		}),
	}
	cmd.Flags().IntVarP(&n, "number", "n", n, "how many `ids`")
	return cmd
}

// fieldExpr reads the expression of a question about a field; nil is all ids.
func fieldExpr(args []string) (query.Expr, error) {
	if len(args) < 2 {
		return nil, nil
	}
	sets, err := parseExprs(args[1:])
	if err != nil {
		return nil, err
	}
	return sets[0], nil
}

// askField asks a question about the field of the first argument, of the ids of the
// expression that is the second.
func (a *app) askField(ctx context.Context, args []string, question func(snap *store.Snapshot, x query.Expr) error) error {
	if err := store.CheckField(args[0]); err != nil {
		return err
	}
	x, err := fieldExpr(args)
	if err != nil {
		return err
	}
	return a.ask(ctx, func(snap *store.Snapshot) error {
		if err := a.warnUndefined(snap, args[0]); err != nil {
			return err
		}
		if x != nil {
			if err := a.warnUnknownIn(snap, x); err != nil {
				return err
			}
		}
		return question(snap, x)
	})
}
