package main

import (
	"context"

	"cohort/placement"
	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) collisionsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "collisions [BRAND]",
		Short: "Show how many ids share placements",
		Long: `Collisions shows, for each brand or for one, how many ids the store knows, at
how many placements they stand, how many a count of them all loses for that, how
many it is expected to lose, and what part of the ids that is. A dense store loses
none: there, colliding says how many ids a hashed store would have merged.`,
		Example: example("cohort collisions", "cohort collisions PLR"),
		Args:    cobra.MaximumNArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			var only placement.Brand
			if len(args) > 0 {
				var err error
				if only, err = placement.ParseBrand(args[0]); err != nil {
					return &usageError{err}
				}
			}
			return a.ask(ctx, func(snap *store.Snapshot) error { return a.collisions(snap, only, len(args) > 0) })
		}),
	}
}

// collisionResult is the collisions of a brand.
type collisionResult struct {
	Brand             *string    `json:"brand"`
	IDs               uint64     `json:"ids"`
	Placements        uint64     `json:"placements"`
	Colliding         uint64     `json:"colliding"`
	ExpectedColliding float64    `json:"expected_colliding"`
	Bias              query.Rate `json:"bias"`
}

func (a *app) collisions(snap *store.Snapshot, only placement.Brand, one bool) error {
	brands, err := snap.Brands()
	if err != nil {
		return err
	}
	results := []collisionResult{}
	g := &grid{head: []string{"brand", "ids", "placements", "colliding", "expected_colliding", "bias"}}
	for _, b := range brands {
		if b.IDs == 0 || one && b.Brand != only {
			continue
		}
		r := collisionResult{
			Brand: brandName(b.Brand), IDs: b.IDs, Placements: b.Placements, Colliding: b.IDs - b.Placements,
			Bias: query.Ratio(b.IDs-b.Placements, b.IDs),
		}
		if snap.Config().Positions == store.Dense {
			r.Bias = query.Ratio(0, b.IDs)
		}
		if snap.Config().IDs != placement.Number {
			r.ExpectedColliding = placement.ExpectedColliding(float64(b.IDs))
		}
		results = append(results, r)
		g.add(orNil(r.Brand), r.IDs, r.Placements, r.Colliding, r.ExpectedColliding, r.Bias)
	}
	return a.write(map[string]any{"brands": results}, g)
}
