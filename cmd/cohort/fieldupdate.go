package main

import (
	"context"
	"errors"
	"strconv"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) fieldSetCommand() *cobra.Command {
	var w fieldWidth
	cmd := &cobra.Command{
		Use:     "set NAME... ID VALUE",
		Short:   "Set a field of an id",
		Long:    "Set makes VALUE that of each field for the id: of all of them, or, with an error, of none.\nSetting again changes nothing.\n\n" + fieldHelp,
		Example: example("cohort field set level PLR0KHTOWnGLuC 7 --bits 8", "cohort field set temperature PLR0KHTOWnGLuC -12"),
		Args:    cobra.MinimumNArgs(3),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.updateFieldsTo(ctx, &w, args, store.SetTo)
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
			return a.updateFieldsTo(ctx, &w, args, func(name string, v int64) store.FieldUpdate { return store.AddTo(name, v, o) })
		}),
	}
	w.addFlags(cmd)
	cmd.Flags().StringVar(&overflow, "overflow", overflow, "what a sum outside the range does: `fail, wrap or saturate`")
	return cmd
}

func (a *app) fieldClearCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "clear NAME... ID",
		Short:   "Take a field of an id away",
		Long:    "Clear takes the value of each field of the id away; one that is not there changes nothing.",
		Example: example("cohort field clear level PLR0KHTOWnGLuC"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.updateFields(ctx, nil, args, store.ClearOf)
		}),
	}
}

// updateFieldsTo updates the fields that the arguments NAME... ID VALUE name, which are
// made where there are none.
func (a *app) updateFieldsTo(ctx context.Context, w *fieldWidth, args []string, update func(name string, v int64) store.FieldUpdate) error {
	args, text := args[:len(args)-1], args[len(args)-1]
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return usagef("value %s: not a whole number within 64 bits", clip(text))
	}
	if err := w.check(); err != nil {
		return err
	}
	return a.updateFields(ctx, w, args, func(name string) store.FieldUpdate { return update(name, value) })
}

// updateFields updates the fields that the arguments NAME... ID name. Those that there
// are not are made with a width, unless it is nil.
func (a *app) updateFields(ctx context.Context, w *fieldWidth, args []string, update func(name string) store.FieldUpdate) error {
	names, id := args[:len(args)-1], args[len(args)-1]
	updates := make([]store.FieldUpdate, len(names))
	for i, name := range names {
		if err := store.CheckField(name); err != nil {
			return err
		}
		updates[i] = update(name)
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
		if w == nil {
			return db.UpdateFields(ctx, id, updates...)
		}
		err = w.defineFor(ctx, db, names, func() (err error) {
			values, err = db.UpdateFields(ctx, id, updates...)
			return err
		})
		return values, err
	}()
	if err != nil {
		return err
	}
	return a.writeFieldValues(id, names, values)
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

// defineFor makes or checks fields for an update. Those that it made for one that
// fails go away.
func (w *fieldWidth) defineFor(ctx context.Context, db *store.DB, names []string, update func() error) (err error) {
	var made []string
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
			return err
		}
		if isNew {
			made = append(made, name)
		}
	}
	return update()
}
