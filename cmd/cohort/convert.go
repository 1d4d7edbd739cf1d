package main

import (
	"context"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) convertCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "convert SRC DST",
		Short: "Make a store of the other kind of positions",
		Long: `Convert makes a dense store of a hashed one, and a hashed store of a dense one. The
new file holds what the other does: events, days, ids, saved sets, fields, visits. Before it
takes its place the two are compared id by id. The file SRC stays as it is, and there
must be no file DST.

In a hashed store ids at one placement share a bit, and it is not known whose marks
they are: made dense, each of them has the marks; made hashed, one bit has the marks of
all. These ids are listed.`,
		Example: example("cohort convert cohort.db dense.db"),
		Args:    cobra.ExactArgs(2),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("db") {
				return usagef("--db does not go with convert, which names both stores")
			}
			done, err := a.convert(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			return a.writeConversion(args[0], args[1], done)
		}),
	}
}

func (a *app) convert(ctx context.Context, from, to string) (done store.Conversion, err error) {
	source := *a
	source.db = from
	db, err := source.open(ctx, store.Options{Create: store.CreateNever, RememberEvery: -1})
	if err != nil {
		return done, err
	}
	defer closeInto(&err, db)
	if !db.Config().ReadOnly { // visits must be folded
		if err := db.Fold(ctx); err != nil {
			return done, err
		}
	}
	snap, err := db.Snapshot()
	if err != nil {
		return done, err
	}
	defer closeInto(&err, snap)
	return snap.Convert(ctx, to)
}

func (a *app) writeConversion(from, to string, c store.Conversion) error {
	if c.Shared == nil {
		c.Shared = []string{}
	}
	g := &grid{head: []string{"from", "to", "positions", "ids", "events", "days", "marks", "sets", "fields", "shared"}}
	g.add(from, to, c.Positions.String(), c.IDs, c.Events, c.Days, c.Marks, c.Sets, c.Fields, len(c.Shared))
	if a.json || a.csv || len(c.Shared) == 0 {
		return a.writeRecord(struct {
			From      string   `json:"from"`
			To        string   `json:"to"`
			Positions string   `json:"positions"`
			IDs       uint64   `json:"ids"`
			Events    int      `json:"events"`
			Days      int      `json:"days"`
			Marks     uint64   `json:"marks"`
			Sets      int      `json:"sets"`
			Fields    int      `json:"fields"`
			Shared    []string `json:"shared"`
		}{from, to, c.Positions.String(), c.IDs, c.Events, c.Days, c.Marks, c.Sets, c.Fields, c.Shared}, g)
	}
	return a.writeRecord(nil, g, append([]string{"", "ids that share a bit in the hashed store:"}, c.Shared...)...)
}
