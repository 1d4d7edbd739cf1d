package main

import (
	"context"
	"errors"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) observeCommand() *cobra.Command {
	var on dayFlag
	var c creation
	cmd := &cobra.Command{
		Use:   "observe PAGE ID...",
		Short: "Record visits of a page in a sketch",
		Long: `Observe records that each id visited the page on the day, in a HyperLogLog sketch of
the page and day: it says about how many were there (see uniques), takes a few bytes
where they are few and at most 16 KiB, and forgets who they were. Where it matters who,
mark. Brands are counted apart: ids of several brands may visit one page.

The result is new where the visit changed the sketch, and already where it did not: a
visit of this id, or of others that look like it. With any bad id nothing is done. A
store that does not exist is created.`,
		Example: example("cohort observe /pricing USR0KHTOWnGLuC USR0KHTOWnGLuD", "cohort observe /pricing USR0KHTOWnGLuC --on 2026-01-30"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			page, ids := args[0], args[1:]
			if err := store.CheckEvent(page); err != nil {
				return err
			}
			f, err := a.observe(ctx, c, page, ids, on)
			if err != nil {
				return err
			}
			g := &grid{head: []string{"id", "result"}}
			for _, r := range f.Results {
				g.add(r.ID, r.Result)
			}
			return a.write(observed{f.Event, f.Day, f.Results}, g)
		}),
	}
	cmd.Flags().Var(&on, "on", "the `day` (default as-of's)")
	c.addFlags(cmd)
	return cmd
}

// observed is what visits of a page on a day did.
type observed struct {
	Page    string       `json:"page"`
	Day     string       `json:"day"`
	Results []factResult `json:"results"`
}

// observe checks all ids, then observes them.
func (a *app) observe(ctx context.Context, c creation, page string, ids []string, on dayFlag) (facts[factResult], error) {
	return a.factsOrNew(ctx, c, ids, func(db *store.DB) (facts[factResult], error) {
		if _, err := parseIDs(db.Config().IDs, ids); err != nil {
			return facts[factResult]{}, errors.Join(err, db.Close())
		}
		return eachOf(a, db, page, ids, on, func(id string, day store.Day) (factResult, error) {
			r, err := db.Observe(ctx, page, id, day)
			return factResult{id, r.String()}, err
		})
	})
}
