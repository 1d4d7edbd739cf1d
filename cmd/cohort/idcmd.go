package main

import (
	"context"
	"fmt"
	"strings"

	"cohort/placement"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) idCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "id ID...",
		Short: "Show what an id is, and which ids share its placement",
		Long: `Id takes ids apart: the brand and the snowflake of a branded id, the placement
where its bit stands, and the residue that tells it from others there. It says
whether the store knows the id, and which other ids it knows at the placement.`,
		Example: example("cohort id PLR0KHTOWnGLuC"),
		Args:    cobra.MinimumNArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.ask(ctx, func(snap *store.Snapshot) error { return a.showIDs(snap, args) })
		}),
	}
}

// idResult is what an id is.
type idResult struct {
	ID        string   `json:"id"`
	Brand     *string  `json:"brand"`
	Snowflake *uint64  `json:"snowflake"`
	Placement uint32   `json:"placement"`
	Residue   uint32   `json:"residue"`
	Known     bool     `json:"known"`
	Sharing   []string `json:"sharing"`
}

func (a *app) showIDs(snap *store.Snapshot, args []string) error {
	kind := snap.Config().IDs
	ids, err := parseIDs(kind, args)
	if err != nil {
		return err
	}
	results := make([]idResult, len(ids))
	g := &grid{head: []string{"id", "brand", "snowflake", "placement", "residue", "known", "sharing"}}
	for i, id := range ids {
		r := idResult{ID: id.text, Brand: brandName(id.brand), Placement: id.mixed.Placement(), Residue: id.mixed.Residue()}
		if kind == placement.Branded {
			n := id.mixed.Snowflake()
			r.Snowflake = &n
		}
		if r.Known, r.Sharing, err = snap.Known(id.text); err != nil {
			return fmt.Errorf("%q: %w", id.text, err)
		}
		if r.Sharing == nil {
			r.Sharing = []string{}
		}
		results[i] = r
		g.add(r.ID, orNil(r.Brand), orNil(r.Snowflake), r.Placement, r.Residue, r.Known, strings.Join(r.Sharing, " "))
	}
	return a.write(map[string]any{"results": results}, g)
}
