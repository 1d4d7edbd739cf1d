package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"cohort/placement"
	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) saveCommand() *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use:   "save NAME [EXPR]",
		Short: "Keep a set of ids under a name",
		Long: `Save keeps a set as it is now, or the ids of a file, under a name: bots, staff, a
test group. In expressions @NAME is that set, whatever is marked later. It takes the
place of the set that had the name. The file has one id a line; blank lines are
skipped, and with any bad id nothing is saved. Its ids are known from then on.

A name has no blanks and none of "'[]()&|^<>=! and does not begin with - or @.

` + expressionHelp,
		Example: example(`cohort save payers 'paid[2026-01]'`, `cohort save bots --ids bots.txt`, `cohort count 'played[2026-01] - @bots'`),
		Args:    cobra.RangeArgs(1, 2),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := store.CheckSetName(args[0]); err != nil {
				return usagef("%w", err)
			}
			if fromFile := cmd.Flags().Changed("ids"); fromFile == (len(args) == 2) {
				return usagef("give an expression or --ids FILE")
			} else if fromFile {
				return a.saveIDs(ctx, args[0], file)
			}
			return a.saveExpr(ctx, args[0], args[1])
		}),
		ValidArgsFunction: a.completeSet,
	}
	cmd.Flags().StringVar(&file, "ids", "", "save the ids of a `file`, one a line; - is standard input")
	return cmd
}

// setResult is a saved set.
type setResult struct {
	Name  string  `json:"name"`
	Brand *string `json:"brand"`
	Count uint64  `json:"count"`
	Bytes uint64  `json:"bytes"`
}

func (r setResult) row() []any { return []any{r.Name, orNil(r.Brand), r.Count, r.Bytes} }

var setColumns = []string{"name", "brand", "count", "bytes"}

func toSetResult(s store.SavedSet) setResult {
	return setResult{s.Name, brandName(s.Brand), s.Count, s.Bytes}
}

func (a *app) saveExpr(ctx context.Context, name, text string) error {
	sets, err := parseExprs([]string{text})
	if err != nil {
		return err
	}
	return a.saveSet(ctx, func(db *store.DB) (store.SavedSet, error) {
		snap, err := db.Snapshot()
		if err != nil {
			return store.SavedSet{}, err
		}
		err = a.warnUnknownIn(snap, sets[0])
		if err := errors.Join(err, snap.Close()); err != nil {
			return store.SavedSet{}, err
		}
		set, err := query.Save(ctx, db, name, sets[0], a.options()...)
		if err != nil {
			err = fmt.Errorf("%q: %w", text, err)
		}
		return set, err
	})
}

func (a *app) saveIDs(ctx context.Context, name, path string) (err error) {
	in := a.in
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return pathError(err)
		}
		defer closeInto(&err, file)
		in = file
	}
	return a.saveSet(ctx, func(db *store.DB) (store.SavedSet, error) {
		return db.SaveIDs(ctx, name, idLines(ctx, in, path, db.Config().IDs))
	})
}

// saveSet opens the store, which must exist, saves a set, and writes what was saved.
func (a *app) saveSet(ctx context.Context, save func(*store.DB) (store.SavedSet, error)) error {
	set, err := func() (set store.SavedSet, err error) {
		db, err := a.openToWrite(ctx, creation{}, store.CreateNever)
		if err != nil {
			return set, err
		}
		defer closeInto(&err, db)
		return save(db)
	}()
	if err != nil {
		return err
	}
	g := &grid{head: setColumns}
	r := toSetResult(set)
	g.add(r.row()...)
	return a.write(r, g)
}

// idLines yields the ids of a file, one a line, each of them checked.
func idLines(ctx context.Context, in io.Reader, name string, kind placement.Kind) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		lines := newLines(in)
		for lines.Scan() {
			if err := ctx.Err(); err != nil {
				yield("", err)
				return
			}
			id, ok := lines.id()
			if !ok {
				continue
			}
			if _, _, err := kind.Parse(id); err != nil {
				yield("", fmt.Errorf("%s: line %d: %w", name, lines.n, err))
				return
			}
			if !yield(id, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield("", fmt.Errorf("%s: %w", name, err))
		}
	}
}

func (a *app) unsaveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unsave NAME",
		Short: "Delete a saved set",
		Long: `Unsave deletes a saved set, and says what it was. Its ids stay known, and their
marks stay.`,
		Example: example("cohort unsave bots"),
		Args:    cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if err := store.CheckSetName(args[0]); err != nil {
				return usagef("%w", err)
			}
			return a.saveSet(ctx, func(db *store.DB) (set store.SavedSet, err error) {
				snap, err := db.Snapshot()
				if err != nil {
					return set, err
				}
				set, _, err = snap.Set(args[0])
				if err := errors.Join(err, snap.Close()); err != nil {
					return set, err
				}
				return set, db.DeleteSet(ctx, args[0])
			})
		}),
		ValidArgsFunction: a.completeSet,
	}
}

func (a *app) setsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sets",
		Short: "List the saved sets",
		Long: `Sets lists the saved sets, in order of name: the brand of their ids, how many there
are, and the bytes they take.`,
		Example: example("cohort sets"),
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			return a.ask(ctx, func(snap *store.Snapshot) error {
				sets, err := snap.Sets()
				if err != nil {
					return err
				}
				results := make([]setResult, len(sets))
				g := &grid{head: setColumns}
				for i, s := range sets {
					results[i] = toSetResult(s)
					g.add(results[i].row()...)
				}
				return a.write(map[string]any{"sets": results}, g)
			})
		}),
	}
}

// completeSet completes the name of a saved set, the first argument.
func (a *app) completeSet(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	err := a.ask(context.Background(), func(snap *store.Snapshot) error {
		sets, err := snap.Sets()
		for _, s := range sets {
			names = append(names, s.Name)
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
