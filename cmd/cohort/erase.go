package main

import (
	"context"
	"fmt"
	"strings"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) eraseCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "erase ID...",
		Short: "Remove ids from every day, saved set, field and the registry",
		Long: `Erase removes each id from every day of every event, every saved set, every
field and the registry, in one transaction, and says from how many. Afterwards the id is not known.
A bit that another known id shares stays, since it may be that one's, and the result is
shared; absent is an id that was not known. With any bad id nothing is done.

It cannot be undone. The file keeps the bytes of freed pages until they are used again,
and copies made before keep what they have. Sketches cannot forget one id: those that
may hold it are named. Most do not; that they would look the same with it is chance.`,
		Example: example("cohort erase PLR0KHTOWnGLuC"),
		Args:    cobra.MinimumNArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			results, err := a.erase(ctx, args)
			if err != nil {
				return err
			}
			g := &grid{head: []string{"id", "result", "events", "days", "sets", "fields", "sketches"}}
			for _, r := range results {
				g.add(r.ID, r.Result, r.Events, r.Days, r.Sets, r.Fields, a.warnHeld(r))
			}
			return a.write(map[string]any{"results": results}, g)
		}),
	}
}

// eraseResult is what became of an id.
type eraseResult struct {
	ID     string `json:"id"`
	Result string `json:"result"`
	Events int    `json:"events"`
	Days   int    `json:"days"`
	Sets   int    `json:"sets"`
	Fields int    `json:"fields"`
	// Sketches are the pages and days that may hold it still.
	Sketches []heldPage `json:"sketches"`
}

// heldPage is a page some of whose sketches may hold an id.
type heldPage struct {
	Page string   `json:"page"`
	Days []string `json:"days"`
}

// erase checks all ids, then erases one after another.
func (a *app) erase(ctx context.Context, ids []string) (results []eraseResult, err error) {
	db, err := a.openToWrite(ctx, creation{}, store.CreateNever)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, db)
	if _, err := parseIDs(db.Config().IDs, ids); err != nil {
		return nil, err
	}
	for i, id := range ids {
		done, err := db.Erase(ctx, id)
		switch {
		case err == nil:
		case i > 0:
			return nil, fmt.Errorf("%w (%d of %d ids are done, up to %q)", err, i, len(ids), ids[i-1])
		default:
			return nil, err
		}
		held, err := heldPages(db, id)
		if err != nil {
			return nil, fmt.Errorf("%w (%q is erased; its sketches could not be read)", err, id)
		}
		results = append(results, eraseResult{id, done.Result.String(), done.Events, done.Days, done.Sets, done.Fields, held})
	}
	return results, nil
}

// heldPages lists the sketches that may hold an id.
func heldPages(db *store.DB, id string) (pages []heldPage, err error) {
	snap, err := db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, snap)
	held, err := snap.VisitsHolding(id)
	pages = []heldPage{}
	for _, h := range held {
		if n := len(pages); n == 0 || pages[n-1].Page != h.Page.Name {
			pages = append(pages, heldPage{Page: h.Page.Name})
		}
		last := &pages[len(pages)-1]
		last.Days = append(last.Days, h.Day.String())
	}
	return pages, err
}

// warnHeld warns of the sketches that may hold an erased id, and returns how many
// they are.
func (a *app) warnHeld(r eraseResult) int {
	n := 0
	var named []string
	for _, p := range r.Sketches {
		n += len(p.Days)
		if len(named) < 3 {
			named = append(named, fmt.Sprintf("%s on %s", printable(p.Page), p.Days[0]))
		}
	}
	switch {
	case n == 0:
	case n > len(named):
		a.warnf("%d sketches may hold %q and cannot forget one id: %s, …; --json names all", n, r.ID, strings.Join(named, ", "))
	default:
		a.warnf("%d sketches may hold %q and cannot forget one id: %s", n, r.ID, strings.Join(named, ", "))
	}
	return n
}
