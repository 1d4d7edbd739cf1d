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
whether the store knows the id, and which other ids it knows at the placement. In a
dense store the bit stands at the position, which an id has once it is known.`,
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
	Position  *uint32  `json:"position"` // null for an id that has none yet
	Known     bool     `json:"known"`
	Sharing   []string `json:"sharing"`
}

func (a *app) showIDs(snap *store.Snapshot, args []string) error {
	kind, dense := snap.Config().IDs, snap.Config().Positions == store.Dense
	ids, err := parseIDs(kind, args)
	if err != nil {
		return err
	}
	results := make([]idResult, len(ids))
	g := &grid{head: []string{"id", "brand", "snowflake", "placement", "residue"}}
	if dense {
		g.head = append(g.head, "position")
	}
	g.head = append(g.head, "known", "sharing")
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
		if pos, ok, err := snap.Position(id.text); err != nil {
			return fmt.Errorf("%q: %w", id.text, err)
		} else if ok {
			r.Position = &pos
		}
		results[i] = r
		row := []any{r.ID, orNil(r.Brand), orNil(r.Snowflake), r.Placement, r.Residue}
		if dense {
			row = append(row, orNil(r.Position))
		}
		g.add(append(row, r.Known, strings.Join(r.Sharing, " "))...)
	}
	return a.write(map[string]any{"results": results}, g)
}
