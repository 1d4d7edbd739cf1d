package main

import (
	"context"
	"fmt"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) membersCommand() *cobra.Command {
	limit := 0
	form := choice[idForm]{text: "ids", value: formIDs, parse: parseIDForm}
	cmd := &cobra.Command{
		Use:   "members EXPR",
		Short: "List the ids in a set",
		Long: `Members lists the ids in a set, one a line, by placement. Ids that share a
placement are all listed, so there may be more than count counts.

` + expressionHelp,
		Example: example(`cohort members 'played[2026-W05] - paid[all]' --limit 10`),
		Args:    cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			sets, err := parseExprs(args)
			if err != nil {
				return err
			}
			switch {
			case !cmd.Flags().Changed("format"):
				form.value = a.idForm()
			case a.json || a.csv:
				return usagef("--format excludes --json and --csv")
			}
			options := a.options()
			if cmd.Flags().Changed("limit") {
				if limit < 1 {
					return usagef("--limit %d: must be at least 1", limit)
				}
				options = append(options, query.Limit(limit))
			}
			return a.ask(ctx, func(snap *store.Snapshot) error {
				if err := a.warnUnknownIn(snap, sets[0]); err != nil {
					return err
				}
				if _, err := writeIDs(ctx, a.out, query.Members(ctx, snap, sets[0], options...), form.value); err != nil {
					return fmt.Errorf("%q: %w", args[0], err)
				}
				return nil
			})
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "list at most `N` ids")
	cmd.Flags().Var(&form, "format", "ids: one a line; csv: with the header id; jsonl: an object {\"id\":…} a line")
	return cmd
}
