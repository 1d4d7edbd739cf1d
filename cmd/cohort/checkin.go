package main

import (
	"context"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) checkInCommand() *cobra.Command {
	var on dayFlag
	cmd := &cobra.Command{
		Use:   "checkin EVENT ID...",
		Short: "Mark ids, and tell how long their streaks are now",
		Long: `Checkin marks each id with the event on the day, as mark does, and tells whether it
is the first time on that day and how many days in a row the id has been active up
to that day. Another known id at the placement may have made some of the marks: then
the answer is of both, and shared.`,
		Example: example("cohort checkin played PLR0KHTOWnGLuC"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			db, err := a.openToWrite(ctx, creation{}, store.CreateNever)
			if err != nil {
				return err
			}
			f, err := factsOf(a, db, args[0], args[1:], on, func(id string, day store.Day) (checkInResult, error) {
				r, err := query.CheckIn(ctx, db, args[0], id, day)
				return checkInResult{id, r}, err
			})
			if err != nil {
				return f.partly(err, args[1:])
			}
			g := &grid{head: []string{"id", "result", "first_today", "streak", "shared"}}
			for _, r := range f.Results {
				g.add(r.ID, r.Result, r.FirstToday, r.Streak, r.Shared)
			}
			return a.write(f, g)
		}),
		ValidArgsFunction: a.completeEvent,
	}
	cmd.Flags().Var(&on, "on", "the `day` (default as-of's)")
	return cmd
}

// checkInResult is what checking an id in did.
type checkInResult struct {
	ID string `json:"id"`
	query.CheckInResult
}
