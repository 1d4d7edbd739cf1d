package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

// exportFormat is how a set is exported: as roaring bytes, or as a list of ids.
type exportFormat struct {
	roaring bool
	ids     idForm
}

func parseExportFormat(name string) (exportFormat, error) {
	if name == "roaring" {
		return exportFormat{roaring: true}, nil
	}
	ids, err := parseIDForm(name)
	if err != nil {
		return exportFormat{}, errors.New("must be roaring, ids, csv or jsonl")
	}
	return exportFormat{ids: ids}, nil
}

func (a *app) exportCommand() *cobra.Command {
	format := choice[exportFormat]{text: "roaring", value: exportFormat{roaring: true}, parse: parseExportFormat}
	out := ""
	cmd := &cobra.Command{
		Use:   "export EXPR",
		Short: "Write a set to a file, for other programs",
		Long: `Export writes a set as a roaring bitmap in the portable format, which roaring
libraries of many languages read. Its numbers are the placements of the ids; in a
store of number ids they are the ids. Ids that share a placement are one number:
there are as many as count counts, in a dense store as many as a hashed one would
count. With other formats it writes the ids, by
placement: ids, one a line; csv, with the header id; jsonl, {"id":…} a line.

With --out the file takes its place when it is whole, and a summary is shown. Bytes
of a bitmap are not written to a terminal.

` + expressionHelp,
		Example: example(`cohort export 'played[2026-01]' --out played.roaring`,
			`cohort export 'seen - paid[all]' --format csv --out unpaid.csv`,
			`cohort export 'paid[2026-W05]' --format jsonl | jq -r .id`),
		Args: cobra.ExactArgs(1),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			sets, err := parseExprs(args)
			switch {
			case err != nil:
				return err
			case !toStdout(out):
			case a.json || a.csv:
				return usagef("--json and --csv show the summary of a file: give --out FILE, or --format jsonl or csv")
			case format.value.roaring && a.terminal:
				return usagef("the bytes of a bitmap are nothing for a terminal: give --out FILE, or --format ids")
			}
			return a.ask(ctx, func(snap *store.Snapshot) error {
				r := exportResult{Expr: args[0], Format: format.text, File: out}
				return a.export(ctx, snap, sets[0], format.value, r)
			})
		}),
	}
	cmd.Flags().Var(&format, "format", "roaring, ids, csv or jsonl")
	cmd.Flags().StringVar(&out, "out", "", "the `file` to write (default standard output)")
	return cmd
}

// exportResult is what was written to a file.
type exportResult struct {
	Expr   string `json:"expr"`
	Format string `json:"format"`
	File   string `json:"file"`
	Count  uint64 `json:"count"` // of numbers or ids
	Bytes  int64  `json:"bytes"`
}

// export writes a set, and shows what was written unless standard output has it.
func (a *app) export(ctx context.Context, snap *store.Snapshot, x query.Expr, format exportFormat, r exportResult) (err error) {
	if err := a.warnUnknownIn(snap, x); err != nil {
		return err
	}
	r.Bytes, err = a.writeOut(r.File, func(w *bufio.Writer) error {
		if r.Count, err = a.exportSet(ctx, w, snap, x, format); err != nil {
			return fmt.Errorf("%q: %w", r.Expr, err)
		}
		return nil
	})
	if err != nil || toStdout(r.File) {
		return err
	}
	g := &grid{head: []string{"expr", "format", "file", "count", "bytes"}}
	g.add(r.Expr, r.Format, r.File, r.Count, r.Bytes)
	return a.writeRecord(r, g)
}

// exportSet writes a set and returns how many numbers or ids it wrote.
func (a *app) exportSet(ctx context.Context, w *bufio.Writer, snap *store.Snapshot, x query.Expr, format exportFormat) (uint64, error) {
	if !format.roaring {
		n, err := writeIDs(ctx, w, query.Members(ctx, snap, x, a.options()...), format.ids)
		return uint64(n), err
	}
	set, err := query.Bitmap(ctx, snap, x, a.options()...)
	if err != nil {
		return 0, err
	}
	set.RunOptimize()
	_, err = set.WriteTo(w)
	return set.GetCardinality(), err
}
