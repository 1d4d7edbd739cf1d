package main

import (
	"context"
	"errors"
	"fmt"

	"cohort/placement"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) markCommand() *cobra.Command {
	var c creation
	var on dayFlag
	cmd := &cobra.Command{
		Use:   "mark EVENT ID...",
		Short: "Mark that ids did an event on a day",
		Long: `Mark records that each id did the event on the day, and says what that did:
new, already, or shared where the bit was set and another known id stands at the
placement. With any bad id, or ids of two brands, nothing is done.`,
		Example: example("cohort mark played PLR0KHTOWnGLuC", "cohort mark paid PLR0KHTOWnGLuC --on 2026-01-30"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			event, ids := args[0], args[1:]
			if err := store.CheckEvent(event); err != nil {
				return err
			}
			db, err := a.openToWrite(ctx, c, store.CreateNever)
			if errors.Is(err, store.ErrNotExist) {
				// With a bad id nothing is done: no store is made either.
				if err := c.checkIDs(ids); err != nil {
					return err
				}
				db, err = a.openToWrite(ctx, c, store.CreateMissing)
			}
			if err != nil {
				return err
			}
			return a.facts(db, event, ids, on, func(id string, day store.Day) (store.Result, error) {
				return db.Mark(ctx, event, id, day)
			})
		}),
		ValidArgsFunction: a.completeEvent,
	}
	cmd.Flags().Var(&on, "on", "the `day` (default as-of's)")
	c.addFlags(cmd)
	return cmd
}

// checkIDs returns an error unless an event of a new store may take every id.
func (c creation) checkIDs(args []string) error {
	kind := c.ids
	if kind == 0 {
		kind = placement.Branded
	}
	ids, err := parseIDs(kind, args)
	if err != nil {
		return err
	}
	return oneBrand(ids)
}

func (a *app) unmarkCommand() *cobra.Command {
	var on dayFlag
	cmd := &cobra.Command{
		Use:   "unmark EVENT ID...",
		Short: "Take marks of one day back",
		Long: `Unmark clears the mark of each id on the day, and says what that did: cleared,
absent, or shared where another known id stands at the placement, whose mark it
may be: such a bit stays. The ids stay known. With any bad id nothing is done.`,
		Example: example("cohort unmark paid PLR0KHTOWnGLuC --on 2026-01-30"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			db, err := a.openToWrite(ctx, creation{}, store.CreateNever)
			if err != nil {
				return err
			}
			return a.facts(db, args[0], args[1:], on, func(id string, day store.Day) (store.Result, error) {
				return db.Unmark(ctx, args[0], id, day)
			})
		}),
		ValidArgsFunction: a.completeEvent,
	}
	cmd.Flags().Var(&on, "on", "the `day` (default as-of's)")
	return cmd
}

// factResult is what a mark or an unmark did.
type factResult struct {
	ID     string `json:"id"`
	Result string `json:"result"`
}

// facts checks all ids, then does one thing with each on a day, and closes the
// store.
func (a *app) facts(db *store.DB, event string, args []string, on dayFlag, do func(string, store.Day) (store.Result, error)) (err error) {
	defer closeInto(&err, db)
	day := a.today(db)
	if on.day != nil {
		day = *on.day
	}
	if err := checkIDs(db, event, args); err != nil {
		return err
	}
	results := make([]factResult, len(args))
	g := &grid{head: []string{"id", "result"}}
	for i, id := range args {
		r, err := do(id, day)
		if err != nil {
			if i > 0 {
				return fmt.Errorf("%w (%d of %d ids are done, up to %q)", err, i, len(args), args[i-1])
			}
			return err
		}
		results[i] = factResult{id, r.String()}
		g.add(id, r.String())
	}
	return a.write(struct {
		Event   string       `json:"event"`
		Day     string       `json:"day"`
		Results []factResult `json:"results"`
	}{event, day.String(), results}, g)
}

// checkIDs returns an error unless the event may take every id.
func checkIDs(db *store.DB, event string, args []string) (err error) {
	ids, err := parseIDs(db.Config().IDs, args)
	if err != nil {
		return err
	}
	snap, err := db.Snapshot()
	if err != nil {
		return err
	}
	defer closeInto(&err, snap)
	if err := checkBrands(snap, event, ids); err != nil {
		return err
	}
	return oneBrand(ids)
}
