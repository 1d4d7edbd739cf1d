package main

import (
	"context"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) initCommand() *cobra.Command {
	var c creation
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Create a store",
		Long: `Init creates an empty store. What it is created with stays: the kind of ids,
the time zone whose civil dates are the days, the first day of a week, and where the
bits of branded and string ids stand. With hashed positions ids that share a placement
share a bit; with dense ones every id has its own, days take a quarter of the room, and
questions a small part of the time.`,
		Example: example("cohort init", "cohort --db shop.db init --ids string --tz Europe/Berlin", "cohort init --positions dense"),
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) (err error) {
			db, err := a.openToWrite(ctx, c, store.CreateOnly)
			if err != nil {
				return err
			}
			defer closeInto(&err, db)
			return a.writeConfig(db.Config())
		}),
	}
	c.addFlags(cmd)
	return cmd
}

// writeConfig writes what a store was created with.
func (a *app) writeConfig(c store.Config) error {
	positions := positionsName(c)
	g := &grid{head: []string{"path", "tz", "ids", "positions", "week_start", "format_version"}}
	g.add(c.Path, c.TimeZone.String(), c.IDs.String(), orNil(positions), c.WeekStart.String(), c.FormatVersion)
	return a.writeRecord(struct {
		Path          string  `json:"path"`
		TimeZone      string  `json:"tz"`
		IDs           string  `json:"ids"`
		Positions     *string `json:"positions"`
		WeekStart     string  `json:"week_start"`
		FormatVersion int     `json:"format_version"`
	}{c.Path, c.TimeZone.String(), c.IDs.String(), positions, c.WeekStart.String(), c.FormatVersion}, g)
}

// positionsName is the kind of a store's positions, nil where its ids are numbers and
// so their own.
func positionsName(c store.Config) *string {
	if c.Positions == 0 {
		return nil
	}
	name := c.Positions.String()
	return &name
}
