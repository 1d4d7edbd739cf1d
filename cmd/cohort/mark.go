package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) markCommand() *cobra.Command {
	var c creation
	var on dayFlag
	cmd := &cobra.Command{
		Use:   "mark EVENT ID...",
		Short: "Mark that ids did an event on a day",
		Long: `Mark records that each id did the event on the day, and says what that did:
new, already, or shared where the bit was set and another known id stands at the
placement. With any bad id, or ids of two brands, nothing is done.`,
		Example: example("cohort mark played PLR0KHTOWnGLuC", "cohort mark paid PLR0KHTOWnGLuC --on 2026-01-30"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := store.CheckEvent(args[0]); err != nil {
				return err
			}
			f, err := a.mark(ctx, c, args[0], args[1:], on)
			if err != nil {
				return err
			}
			return a.writeFacts(f)
		}),
		ValidArgsFunction: a.completeEvent,
	}
	cmd.Flags().Var(&on, "on", "the `day` (default as-of's)")
	c.addFlags(cmd)
	return cmd
}

// mark marks ids in the store.
func (a *app) mark(ctx context.Context, c creation, event string, ids []string, on dayFlag) (facts[factResult], error) {
	return a.factsOrNew(ctx, c, ids, func(db *store.DB) (facts[factResult], error) {
		return factsOf(a, db, event, ids, on, func(id string, day store.Day) (factResult, error) {
			r, err := db.Mark(ctx, event, id, day)
			return factResult{id, r.String()}, err
		})
	})
}

// factsOrNew does something with ids in the store, which is made where there is
// none.
func (a *app) factsOrNew(ctx context.Context, c creation, ids []string, do func(*store.DB) (facts[factResult], error)) (facts[factResult], error) {
	for {
		db, err := a.openToWrite(ctx, c, store.CreateNever)
		if errors.Is(err, store.ErrNotExist) {
			f, err := a.factsInNew(ctx, c, do)
			if errors.Is(err, fs.ErrExist) {
				continue // another made the store meanwhile
			}
			return f, err
		}
		if err != nil {
			return facts[factResult]{}, err
		}
		f, err := do(db)
		return f, f.partly(err, ids)
	}
}

// factsInNew does something in a store that does not exist. It is made beside its
// path and takes its place once all is done, so that what fails leaves none. The
// error is [fs.ErrExist] where there is a store by then.
func (a *app) factsInNew(ctx context.Context, c creation, do func(*store.DB) (facts[factResult], error)) (f facts[factResult], err error) {
	folder := filepath.Dir(a.db)
	dir, err := os.MkdirTemp(folder, ".cohort-new-*")
	if err != nil {
		return f, pathError(err)
	}
	defer os.RemoveAll(dir)
	aside := *a
	aside.db = filepath.Join(dir, "store")
	db, err := aside.openToWrite(ctx, c, store.CreateOnly)
	if err != nil {
		return f, err
	}
	if f, err = do(db); err != nil {
		return f, err
	}
	err = os.Link(aside.db, a.db)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(aside.db, a.db) // a file system without hard links
	}
	if err != nil {
		return f, err
	}
	return f, syncFolder(folder)
}

// syncFolder puts the names in a folder on disk.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return pathError(err)
	}
	return errors.Join(d.Sync(), d.Close())
}

func (a *app) unmarkCommand() *cobra.Command {
	var on dayFlag
	cmd := &cobra.Command{
		Use:   "unmark EVENT ID...",
		Short: "Take marks of one day back",
		Long: `Unmark clears the mark of each id on the day, and says what that did: cleared,
absent, or shared where another known id stands at the placement, whose mark it
may be: such a bit stays. The ids stay known. With any bad id nothing is done.`,
		Example: example("cohort unmark paid PLR0KHTOWnGLuC --on 2026-01-30"),
		Args:    cobra.MinimumNArgs(2),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			db, err := a.openToWrite(ctx, creation{}, store.CreateNever)
			if err != nil {
				return err
			}
			f, err := factsOf(a, db, args[0], args[1:], on, func(id string, day store.Day) (factResult, error) {
				r, err := db.Unmark(ctx, args[0], id, day)
				return factResult{id, r.String()}, err
			})
			if err != nil {
				return f.partly(err, args[1:])
			}
			return a.writeFacts(f)
		}),
		ValidArgsFunction: a.completeEvent,
	}
	cmd.Flags().Var(&on, "on", "the `day` (default as-of's)")
	return cmd
}

// facts is what was done with some ids on one day: a result each.
type facts[R any] struct {
	Event   string `json:"event"`
	Day     string `json:"day"`
	Results []R    `json:"results"`
}

// factResult is what a mark or an unmark did.
type factResult struct {
	ID     string `json:"id"`
	Result string `json:"result"`
}

// factsOf checks all ids, then does one thing with each on a day, and closes the
// store. With an error come the results before it.
func factsOf[R any](a *app, db *store.DB, event string, ids []string, on dayFlag, do func(string, store.Day) (R, error)) (f facts[R], err error) {
	if err := checkIDs(db, event, ids); err != nil {
		return f, errors.Join(err, db.Close())
	}
	return eachOf(a, db, event, ids, on, do)
}

// eachOf is factsOf of ids that were checked.
func eachOf[R any](a *app, db *store.DB, event string, ids []string, on dayFlag, do func(string, store.Day) (R, error)) (f facts[R], err error) {
	defer closeInto(&err, db)
	day := a.today(db)
	if on.day != nil {
		day = *on.day
	}
	f = facts[R]{Event: event, Day: day.String()}
	for _, id := range ids {
		r, err := do(id, day)
		if err != nil {
			return f, err
		}
		f.Results = append(f.Results, r)
	}
	return f, nil
}

// partly says in an error which of the ids were done before it.
func (f facts[R]) partly(err error, ids []string) error {
	n := len(f.Results)
	if err == nil || n == 0 {
		return err
	}
	return fmt.Errorf("%w (%d of %d ids are done, up to %q)", err, n, len(ids), ids[n-1])
}

func (a *app) writeFacts(f facts[factResult]) error {
	g := &grid{head: []string{"id", "result"}}
	for _, r := range f.Results {
		g.add(r.ID, r.Result)
	}
	return a.write(f, g)
}

// checkIDs returns an error unless the event may take every id.
func checkIDs(db *store.DB, event string, args []string) (err error) {
	ids, err := parseIDs(db.Config().IDs, args)
	if err != nil {
		return err
	}
	snap, err := db.Snapshot()
	if err != nil {
		return err
	}
	defer closeInto(&err, snap)
	if err := checkBrands(snap, event, ids); err != nil {
		return err
	}
	return oneBrand(ids)
}
