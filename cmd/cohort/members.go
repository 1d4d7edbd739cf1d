package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"iter"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) membersCommand() *cobra.Command {
	limit := 0
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
			options := a.options()
			if cmd.Flags().Changed("limit") {
				if limit < 1 {
					return usagef("--limit %d: must be at least 1", limit)
				}
				options = append(options, query.Limit(limit))
			}
			return a.ask(ctx, func(snap *store.Snapshot) error {
				if err := a.warnUnknown(snap, query.Events(sets[0])...); err != nil {
					return err
				}
				if err := a.writeIDs(ctx, query.Members(ctx, snap, sets[0], options...)); err != nil {
					return fmt.Errorf("%q: %w", args[0], err)
				}
				return nil
			})
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "list at most `N` ids")
	return cmd
}

// writeIDs writes ids as they come: there may be millions. An error comes before
// any id.
func (a *app) writeIDs(ctx context.Context, ids iter.Seq2[string, error]) error {
	form := idForm{write: writeLine}
	switch {
	case a.json:
		form = idForm{head: `{"ids":[`, between: ",", tail: "]}\n", write: writeJSON}
	case a.csv:
		form = idForm{head: "id\n", write: writeCSVLine}
	}
	n := 0
	for id, err := range ids {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		lead := form.between
		if n++; n == 1 {
			lead = form.head
		}
		if _, err := a.out.WriteString(lead); err != nil {
			return err
		}
		if err := form.write(a.out, id); err != nil {
			return err
		}
	}
	tail := form.tail
	if n == 0 {
		tail = form.head + form.tail
	}
	_, err := a.out.WriteString(tail)
	return err
}

// idForm is how a list of ids is written.
type idForm struct {
	head, between, tail string
	write               func(*bufio.Writer, string) error
}

func writeLine(w *bufio.Writer, id string) error {
	_, err := w.WriteString(id + "\n")
	return err
}

func writeJSON(w *bufio.Writer, id string) error {
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func writeCSVLine(w *bufio.Writer, id string) error {
	out := csv.NewWriter(w)
	if err := out.Write([]string{id}); err != nil {
		return err
	}
	out.Flush()
	return out.Error()
}
