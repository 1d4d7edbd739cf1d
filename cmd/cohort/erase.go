package main

import (
	"context"
	"fmt"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) eraseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "erase ID...",
		Short: "Remove ids from every day, saved set and the registry",
		Long: `Erase removes each id from every day of every event, every saved set and the
registry, in one transaction, and says from how many. Afterwards the id is not known.
A bit that another known id shares stays, since it may be that one's, and the result is
shared; absent is an id that was not known. With any bad id nothing is done.

It cannot be undone. The file keeps the bytes of freed pages until they are used again,
and copies made before keep what they have.`,
		Example: example("cohort erase PLR0KHTOWnGLuC"),
		Args:    cobra.MinimumNArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			results, err := a.erase(ctx, args)
			if err != nil {
				return err
			}
			g := &grid{head: []string{"id", "result", "events", "days", "sets"}}
			for _, r := range results {
				g.add(r.ID, r.Result, r.Events, r.Days, r.Sets)
			}
			return a.write(map[string]any{"results": results}, g)
		}),
	}
}

// eraseResult is what became of an id.
type eraseResult struct {
	ID     string `json:"id"`
	Result string `json:"result"`
	Events int    `json:"events"`
	Days   int    `json:"days"`
	Sets   int    `json:"sets"`
}

// erase checks all ids, then erases one after another.
func (a *app) erase(ctx context.Context, ids []string) (results []eraseResult, err error) {
	db, err := a.openToWrite(ctx, creation{}, store.CreateNever)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, db)
	if _, err := parseIDs(db.Config().IDs, ids); err != nil {
		return nil, err
	}
	for i, id := range ids {
		done, err := db.Erase(ctx, id)
		switch {
		case err == nil:
		case i > 0:
			return nil, fmt.Errorf("%w (%d of %d ids are done, up to %q)", err, i, len(ids), ids[i-1])
		default:
			return nil, err
		}
		results = append(results, eraseResult{id, done.Result.String(), done.Events, done.Days, done.Sets})
	}
	return results, nil
}
