package main

import (
	"context"
	"strings"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) eventsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "events [PREFIX]",
		Short: "List the events",
		Long: `Events lists the events, or those whose names begin with PREFIX, in order of
name: the brand of their ids, the first and last day with a mark, how many days
have one, how many marks there are (bits over all days), and the bytes they take.`,
		Example: example("cohort events", "cohort events page."),
		Args:    cobra.MaximumNArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.ask(ctx, func(snap *store.Snapshot) error {
				events, err := snap.Events(strings.Join(args, ""))
				if err != nil {
					return err
				}
				return a.writeEvents(events)
			})
		}),
		ValidArgsFunction: a.completeEvent,
	}
}

// eventResult is one event.
type eventResult struct {
	Event    string  `json:"event"`
	Brand    *string `json:"brand"`
	FirstDay *string `json:"first_day"`
	LastDay  *string `json:"last_day"`
	Days     int     `json:"days"`
	Marks    uint64  `json:"marks"`
	Bytes    uint64  `json:"bytes"`
}

func (a *app) writeEvents(events []store.Event) error {
	results := make([]eventResult, len(events))
	g := &grid{head: []string{"event", "brand", "first_day", "last_day", "days", "marks", "bytes"}}
	for i, e := range events {
		r := eventResult{Event: e.Name, Brand: brandName(e.Brand), Days: e.Days, Marks: e.Marks, Bytes: e.Bytes}
		if e.Days > 0 {
			first, last := e.First.String(), e.Last.String()
			r.FirstDay, r.LastDay = &first, &last
		}
		results[i] = r
		g.add(r.Event, orNil(r.Brand), orNil(r.FirstDay), orNil(r.LastDay), r.Days, r.Marks, r.Bytes)
	}
	return a.write(map[string]any{"events": results}, g)
}

// completeEvent completes the name of an event, the first argument.
func (a *app) completeEvent(_ *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	err := a.ask(context.Background(), func(snap *store.Snapshot) error {
		events, err := snap.Events(prefix)
		for _, e := range events {
			names = append(names, e.Name)
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
