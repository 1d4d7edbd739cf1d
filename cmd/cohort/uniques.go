package main

import (
	"context"
	"fmt"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

// uniquesFlags are the flags of uniques.
type uniquesFlags struct {
	over  []string
	top   int
	site  bool
	audit bool
}

func (a *app) uniquesCommand() *cobra.Command {
	var f uniquesFlags
	cmd := &cobra.Command{
		Use:   "uniques [PAGE...]",
		Short: "Estimate how many ids visited pages",
		Long: `Uniques estimates how many distinct ids visited each page on any day of the periods
together, from the sketches that observe and import --sketch make. Each row is of one
brand: brands are counted apart. The standard error is a fraction of the estimate, one
sigma, of sketches of thousands of ids; smaller ones are far closer, and exact at 0 and 1.

--top gives the N pages with the most, --site the ids that visited any page. --audit
compares pages that are marked, too, as events of the same name: the estimate beside
the exact count, over the days that have both, and how the errors are distributed over
all pages and days.

Sketches can be united over days, never intersected: mark the visits as events, and
count 'a[2026-01] & b[2026-01]'.`,
		Example: example("cohort uniques /pricing /docs --over 2026-01", "cohort uniques /pricing --over 2026-W05,2026-02-14",
			"cohort uniques --top 20 --over 7d", "cohort uniques --site --over 2026-Q1", "cohort uniques --audit --over 2026-01"),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			periods, err := f.check(cmd, args)
			if err != nil {
				return err
			}
			return a.ask(ctx, func(snap *store.Snapshot) error {
				if f.audit {
					return a.auditUniques(ctx, snap, args, periods)
				}
				return a.uniques(ctx, snap, f, args, periods)
			})
		}),
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&f.over, "over", nil, "the `periods`, united (default all)")
	fs.IntVar(&f.top, "top", 0, "the `N` pages with the most")
	fs.BoolVar(&f.site, "site", false, "ids that visited any page")
	fs.BoolVar(&f.audit, "audit", false, "compare with exact counts")
	return cmd
}

// check returns the periods, or an error where the flags do not go together.
func (f *uniquesFlags) check(cmd *cobra.Command, pages []string) ([]query.Period, error) {
	changed := cmd.Flags().Changed
	asked := 0
	for _, is := range []bool{len(pages) > 0, changed("top"), f.site} {
		if is {
			asked++
		}
	}
	switch {
	case changed("top") && f.top < 1:
		return nil, usagef("--top %d: must be at least 1", f.top)
	case f.audit && (changed("top") || f.site):
		return nil, usagef("--audit goes with neither --top nor --site")
	case !f.audit && asked != 1:
		return nil, usagef("one of PAGE..., --top, --site or --audit is wanted")
	case changed("over") && len(f.over) == 0:
		return nil, usagef("--over names no period")
	case !changed("over"):
		return []query.Period{query.All()}, nil
	}
	periods := make([]query.Period, len(f.over))
	for i, text := range f.over {
		var err error
		if periods[i], err = query.ParsePeriod(text); err != nil {
			return nil, err
		}
	}
	return periods, nil
}

// uniquesResult is the estimate of a page, or of the site.
type uniquesResult struct {
	Page     *string `json:"page"` // null of the site
	Brand    *string `json:"brand"`
	Estimate uint64  `json:"estimate"`
	StdError float64 `json:"std_error"`
}

func newUniquesResult(u query.PageUniques, site bool) uniquesResult {
	r := uniquesResult{Page: &u.Page, Brand: brandName(u.Brand), Estimate: u.Count, StdError: u.StdError}
	if site {
		r.Page = nil
	}
	return r
}

func (a *app) uniques(ctx context.Context, snap *store.Snapshot, f uniquesFlags, pages []string, periods []query.Period) error {
	var rows []query.PageUniques
	var err error
	switch {
	case f.site:
		rows, err = query.SiteUniques(ctx, snap, periods, a.options()...)
	case f.top > 0:
		rows, err = query.TopPages(ctx, snap, f.top, periods, a.options()...)
	default:
		rows, err = query.Uniques(ctx, snap, pages, periods, a.options()...)
	}
	if err != nil {
		return err
	}
	if err := a.warnUnvisited(snap, pages...); err != nil {
		return err
	}
	results := make([]uniquesResult, len(rows))
	g := &grid{head: []string{"page", "brand", "estimate", "std_error"}}
	for i, u := range rows {
		r := newUniquesResult(u, f.site)
		results[i] = r
		g.add(orNil(r.Page), orNil(r.Brand), r.Estimate, percent(r.StdError))
	}
	return a.write(map[string]any{"results": results}, g)
}

// percent is a fraction that a table shows as a percentage.
type percent float64

func (p percent) String() string { return fmt.Sprintf("%.2f%%", 100*float64(p)) }

// auditResult is the estimate of a page beside the exact count.
type auditResult struct {
	uniquesResult
	Truth     uint64  `json:"truth"`
	Error     float64 `json:"error"`
	Days      int     `json:"days"`
	DaysApart int     `json:"days_apart"`
}

func (a *app) auditUniques(ctx context.Context, snap *store.Snapshot, pages []string, periods []query.Period) error {
	audit, err := query.AuditUniques(ctx, snap, pages, periods, a.options()...)
	if err != nil {
		return err
	}
	results := make([]auditResult, len(audit.Pages))
	g := &grid{head: []string{"page", "brand", "estimate", "truth", "error", "days", "days_apart"}}
	for i, p := range audit.Pages {
		r := auditResult{newUniquesResult(p.PageUniques, false), p.Truth, p.Error, p.Days, p.DaysApart}
		results[i] = r
		g.add(orNil(r.Page), orNil(r.Brand), r.Estimate, r.Truth, percent(r.Error), r.Days, r.DaysApart)
	}
	notes := []string{"no page with visits is marked as an event of its name on the same days"}
	if e := audit.Errors; e != nil {
		notes = []string{
			fmt.Sprintf("%d sets: root mean square %v, mean %v, median %v, 95th percentile %v, worst %v",
				e.Sets, percent(e.RMS), percent(e.Mean), percent(e.Median), percent(e.P95), percent(e.Worst)),
			fmt.Sprintf("standard error %v: within one %v, two %v, three %v of the sets (normal: 68%%, 95%%, 99.7%%)",
				percent(e.StdError), percent(e.Within1), percent(e.Within2), percent(e.Within3)),
		}
	}
	return a.write(map[string]any{"results": results, "errors": audit.Errors}, g, notes...)
}
