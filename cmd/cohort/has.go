package main

import (
	"context"
	"fmt"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) hasCommand() *cobra.Command {
	over := periodFlag{period: query.Today()}
	cmd := &cobra.Command{
		Use:   "has EVENT ID...",
		Short: "Tell whether ids did an event in a period",
		Long: `Has tells of each id whether it did the event on any day of the period, and
whether another known id stands at its placement, whose mark it may be.`,
		Example: example("cohort has played PLR0KHTOWnGLuC --over 2026-W05"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.ask(ctx, func(snap *store.Snapshot) error { return a.has(snap, args[0], args[1:], over.period) })
		}),
		ValidArgsFunction: a.completeEvent,
	}
	cmd.Flags().Var(&over, "over", "the `period` (default as-of's day)")
	return cmd
}

// hasResult is whether an id did an event.
type hasResult struct {
	ID     string `json:"id"`
	Has    bool   `json:"has"`
	Shared bool   `json:"shared"`
}

func (a *app) has(snap *store.Snapshot, event string, args []string, over query.Period) error {
	ids, err := parseIDs(snap.Config().IDs, args)
	if err != nil {
		return err
	}
	if err := checkBrands(snap, event, ids); err != nil {
		return err
	}
	if err := a.warnUnknown(snap, event); err != nil {
		return err
	}
	days, err := a.resolve(snap, event, over)
	if err != nil {
		return err
	}
	results := make([]hasResult, len(ids))
	g := &grid{head: []string{"id", "has", "shared"}}
	for i, id := range ids {
		p, err := snap.Has(event, id.text, days)
		if err != nil {
			return fmt.Errorf("%q: %w", id.text, err)
		}
		results[i] = hasResult{id.text, p.Has, p.Shared}
		g.add(id.text, p.Has, p.Shared)
	}
	return a.write(struct {
		Event   string      `json:"event"`
		Over    string      `json:"over"`
		Results []hasResult `json:"results"`
	}{event, over.String(), results}, g)
}

// resolve returns the days of a period of an event.
func (a *app) resolve(snap *store.Snapshot, event string, p query.Period) (store.Period, error) {
	env, err := query.NewEnv(snap, event, a.asOf.day)
	if err != nil {
		return store.Period{}, err
	}
	return p.Resolve(env)
}
