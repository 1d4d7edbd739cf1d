package main

import (
	"context"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) digestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "digest",
		Short: "Write a checksum of the facts in the store",
		Long: `Digest writes a SHA-256 over the facts: events, days and marks, known ids, saved sets,
visits in sketches, and fields with their values. Two stores that hold the same facts
have the same digest, however they came to hold them and whatever their files look like.`,
		Example: example("cohort digest"),
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.ask(ctx, func(snap *store.Snapshot) error {
				digest, err := snap.Digest()
				if err != nil {
					return err
				}
				if !a.json && !a.csv {
					return writeLine(a.out, digest)
				}
				g := &grid{head: []string{"digest"}}
				g.add(digest)
				return a.write(map[string]string{"digest": digest}, g)
			})
		}),
	}
}
