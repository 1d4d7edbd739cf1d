package main

import (
	"context"

	"cohort/store"

	"github.com/spf13/cobra"
)

const fieldHelp = `A field is a whole number per id: a level, a score. It is made by the first set or
add, with the width and sign of --bits and --signed: 63 bits, signed, where they are not
given; a field of N bits holds 0 to 2^N-1, signed -2^(N-1) to 2^(N-1)-1, and small
numbers take no more room in a wide one. Later, flags that are given are checked. It
belongs to the brand of its first id. Fields and events are named apart.

In expressions, NAME>=10 is the ids whose value compares so (= != < <= > >=), NAME=3..7
those in a range: cohort count 'level>=10 & active[7d]'. Ids without a value are in no
comparison.

In a hashed store an id that shares its placement with another known id is refused:
they would share the value. A dense store has no such ids.`

func (a *app) fieldCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "field",
		Short: "Keep and ask for a number per id",
		Long:  fieldHelp,
		Example: example("cohort field set level PLR0KHTOWnGLuC 7 --bits 8", "cohort field add score PLR0KHTOWnGLuC -5",
			"cohort field sum score 'active[7d]'"),
		RunE: a.do(func(_ context.Context, _ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("field %s: no such subcommand; see cohort field --help", args[0])
			}
			return usagef("a subcommand is wanted; see cohort field --help")
		}),
	}
	for _, add := range []func() *cobra.Command{
		a.fieldSetCommand, a.fieldAddCommand, a.fieldGetCommand, a.fieldClearCommand, a.fieldListCommand, a.fieldDeleteCommand,
		a.fieldQuantileCommand, a.fieldHistogramCommand, a.fieldTopCommand,
	} {
		cmd.AddCommand(add())
	}
	for _, q := range fieldFigures {
		cmd.AddCommand(a.fieldFigureCommand(q))
	}
	for _, sub := range cmd.Commands() {
		sub.Flags().SortFlags = false
	}
	return cmd
}

// fieldValues is the values of fields of one id.
type fieldValues struct {
	ID     string       `json:"id"`
	Value  *int64       `json:"value"` // of the first
	Fields []fieldValue `json:"fields"`
}

type fieldValue struct {
	Field string `json:"field"`
	Value *int64 `json:"value"`
}

func (a *app) writeFieldValues(id string, names []string, values []store.FieldValue) error {
	out := fieldValues{ID: id}
	g := &grid{head: []string{"field", "value"}}
	for i, v := range values {
		f := fieldValue{Field: names[i]}
		if v.Has {
			f.Value = &v.Value
		}
		out.Fields = append(out.Fields, f)
		g.add(f.Field, orNil(f.Value))
	}
	out.Value = out.Fields[0].Value
	return a.write(out, g)
}

func (a *app) fieldGetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "get NAME... ID",
		Short:   "Show fields of an id",
		Long:    "Get gives the value of each field of the id, and - (null) where it has none.",
		Example: example("cohort field get level score PLR0KHTOWnGLuC"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			names, id := args[:len(args)-1], args[len(args)-1]
			return a.ask(ctx, func(snap *store.Snapshot) error {
				if _, err := parseIDs(snap.Config().IDs, []string{id}); err != nil {
					return err
				}
				values, err := snap.FieldValues(id, names...)
				if err != nil {
					return err
				}
				if err := a.warnUndefined(snap, names...); err != nil {
					return err
				}
				return a.writeFieldValues(id, names, values)
			})
		}),
	}
}

func (a *app) fieldListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the fields",
		Long:    "List gives the fields in order of name: brand, width, how many ids have a value, and the bytes of the slices.",
		Example: example("cohort field list"),
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.ask(ctx, func(snap *store.Snapshot) error {
				fields, err := snap.Fields()
				if err != nil {
					return err
				}
				rows := toFieldSizes(fields)
				return a.write(map[string]any{"fields": rows}, fieldGrid(rows))
			})
		}),
	}
}

// fieldSize is a field and what it takes.
type fieldSize struct {
	Field  string  `json:"field"`
	Brand  *string `json:"brand"`
	Bits   int     `json:"bits"`
	Signed bool    `json:"signed"`
	Count  uint64  `json:"count"`
	Bytes  uint64  `json:"bytes"`
}

func toFieldSizes(fields []store.Field) []fieldSize {
	sizes := make([]fieldSize, len(fields))
	for i, f := range fields {
		sizes[i] = fieldSize{f.Name, brandName(f.Brand), f.Bits, f.Signed, f.Count, f.Bytes}
	}
	return sizes
}

func fieldGrid(sizes []fieldSize) *grid {
	g := &grid{head: []string{"field", "brand", "bits", "signed", "count", "bytes"}}
	for _, f := range sizes {
		g.add(f.Field, orNil(f.Brand), f.Bits, f.Signed, f.Count, f.Bytes)
	}
	return g
}

func (a *app) fieldDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "delete NAME",
		Short:   "Delete a field with all its values",
		Long:    "Delete removes a field, its values, and what is noted of its batches. Its ids stay known.",
		Example: example("cohort field delete level"),
		Args:    cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) (err error) {
			db, err := a.openToWrite(ctx, creation{}, store.CreateNever)
			if err != nil {
				return err
			}
			defer closeInto(&err, db)
			return db.DeleteField(ctx, args[0])
		}),
	}
}
