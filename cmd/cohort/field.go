package main

import (
	"context"
	"errors"
	"strconv"

	"cohort/query"
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

// fieldWidth is the flags of a field's width and sign.
type fieldWidth struct {
	bits    int
	signed  bool
	changed func(name string) bool
}

func (w *fieldWidth) addFlags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&w.bits, "bits", 63, "width of a new field, 1 to 63 `bits`")
	cmd.Flags().BoolVar(&w.signed, "signed", false, "a new field holds negative numbers; so does one whose width is not given")
	w.changed = func(name string) bool { return cmd.Flags().Changed(name) }
}

// check returns an error for a width that is none.
func (w *fieldWidth) check() error {
	if w.bits < 1 || w.bits > 63 {
		return usagef("--bits %d: must be from 1 to 63", w.bits)
	}
	return nil
}

// define makes a field as the flags say, or checks one that there is.
func (w *fieldWidth) define(ctx context.Context, db *store.DB, name string) (isNew bool, err error) {
	snap, err := db.Snapshot()
	if err != nil {
		return false, err
	}
	f, ok, err := snap.Field(name)
	if err := errors.Join(err, snap.Close()); err != nil {
		return false, err
	}
	o := store.FieldOptions{Bits: w.bits, Signed: w.signed || !w.changed("bits") && !w.changed("signed")}
	if ok {
		if !w.changed("bits") {
			o.Bits = f.Bits
		}
		if !w.changed("signed") {
			o.Signed = f.Signed
		}
	}
	_, err = db.DefineField(ctx, name, o)
	return !ok && err == nil, err
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

func (a *app) fieldSetCommand() *cobra.Command {
	var w fieldWidth
	cmd := &cobra.Command{
		Use:     "set NAME... ID VALUE",
		Short:   "Set a field of an id",
		Long:    "Set makes VALUE that of each field for the id: of all of them, or, with an error, of none.\nSetting again changes nothing.\n\n" + fieldHelp,
		Example: example("cohort field set level PLR0KHTOWnGLuC 7 --bits 8", "cohort field set temperature PLR0KHTOWnGLuC -12"),
		Args:    cobra.MinimumNArgs(3),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.updateFields(ctx, &w, args, store.SetTo)
		}),
	}
	w.addFlags(cmd)
	return cmd
}

func (a *app) fieldAddCommand() *cobra.Command {
	var w fieldWidth
	overflow := "fail"
	cmd := &cobra.Command{
		Use:   "add NAME... ID VALUE",
		Short: "Add to a field of an id",
		Long: `Add adds VALUE, which may be negative, to each field of the id, where no value counts as
0, and gives the new values. A sum outside the field's range fails, and nothing is
changed; with --overflow wrap it goes on at the other end, with saturate it stays at the
end. Adding again adds again.

` + fieldHelp,
		Example: example("cohort field add score PLR0KHTOWnGLuC 10", "cohort field add lives PLR0KHTOWnGLuC -1 --bits 8 --overflow saturate"),
		Args:    cobra.MinimumNArgs(3),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			o, err := store.ParseOverflow(overflow)
			if err != nil {
				return usagef("--%w", err)
			}
			return a.updateFields(ctx, &w, args, func(name string, v int64) store.FieldUpdate { return store.AddTo(name, v, o) })
		}),
	}
	w.addFlags(cmd)
	cmd.Flags().StringVar(&overflow, "overflow", overflow, "what a sum outside the range does: `fail, wrap or saturate`")
	return cmd
}

// updateFields updates the fields that the arguments NAME... ID VALUE name.
func (a *app) updateFields(ctx context.Context, w *fieldWidth, args []string, update func(name string, v int64) store.FieldUpdate) (err error) {
	names, id, text := args[:len(args)-2], args[len(args)-2], args[len(args)-1]
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return usagef("value %s: not a whole number within 64 bits", clip(text))
	}
	if err := w.check(); err != nil {
		return err
	}
	updates := make([]store.FieldUpdate, len(names))
	for i, name := range names {
		if err := store.CheckField(name); err != nil {
			return err
		}
		updates[i] = update(name, value)
	}
	values, err := func() (values []store.FieldValue, err error) {
		db, err := a.openToWrite(ctx, creation{}, store.CreateNever)
		if err != nil {
			return nil, err
		}
		defer closeInto(&err, db)
		if _, err := parseIDs(db.Config().IDs, []string{id}); err != nil {
			return nil, err
		}
		var made []string // fields that there are for these values only
		defer func() {
			if err == nil {
				return
			}
			for _, name := range made {
				err = errors.Join(err, db.DeleteField(context.WithoutCancel(ctx), name))
			}
		}()
		for _, name := range names {
			isNew, err := w.define(ctx, db, name)
			if err != nil {
				return nil, err
			}
			if isNew {
				made = append(made, name)
			}
		}
		return db.UpdateFields(ctx, id, updates...)
	}()
	if err != nil {
		return err
	}
	return a.writeFieldValues(id, names, values)
}

func (a *app) fieldClearCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "clear NAME... ID",
		Short:   "Take a field of an id away",
		Long:    "Clear takes the value of each field of the id away; one that is not there changes nothing.",
		Example: example("cohort field clear level PLR0KHTOWnGLuC"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			names, id := args[:len(args)-1], args[len(args)-1]
			updates := make([]store.FieldUpdate, len(names))
			for i, name := range names {
				updates[i] = store.ClearOf(name)
			}
			values, err := func() (values []store.FieldValue, err error) {
				db, err := a.openToWrite(ctx, creation{}, store.CreateNever)
				if err != nil {
					return nil, err
				}
				defer closeInto(&err, db)
				if _, err := parseIDs(db.Config().IDs, []string{id}); err != nil {
					return nil, err
				}
				return db.UpdateFields(ctx, id, updates...)
			}()
			if err != nil {
				return err
			}
			return a.writeFieldValues(id, names, values)
		}),
	}
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
