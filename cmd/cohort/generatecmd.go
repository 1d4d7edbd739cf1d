package main

import (
	"bufio"
	"context"

	"cohort/cmd/cohort/internal/generate"
	"cohort/placement"

	"github.com/spf13/cobra"
)

func (a *app) generateCommand() *cobra.Command {
	o := generate.Options{Seed: usualSeed}.Defaults()
	from := dayFlag{day: &o.From}
	brand := choice[placement.Brand]{text: o.Brand.String(), value: o.Brand, parse: placement.ParseBrand}
	out := ""
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Make up a file of marks, to try things on",
		Long: `Generate writes a CSV file id,event,time of what the players of a made-up online
game do, in order of time. Two in five sign up in the period, the others before it.
Most come rarely and a few every day, more on weekends than on Wednesdays, and fewer
the longer ago they signed up. The events are registered, active, played and paid.

The same flags give the same rows in every version and on every machine.`,
		Example: example("cohort generate --out january.csv", "cohort generate --ids 1000 --seed 7 | cohort import --format csv -"),
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			o.From, o.Brand = *from.day, brand.value
			return a.generate(ctx, o, out)
		}),
	}
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", o.Seed, "`number` that chooses the rows")
	f.IntVar(&o.IDs, "ids", o.IDs, "`number` of ids")
	f.Var(&from, "from", "first `day`")
	f.IntVar(&o.Days, "days", o.Days, "`number` of days")
	f.Var(&brand, "brand", "brand of the ids")
	f.StringVar(&out, "out", "", "the `file` to write (default standard output)")
	return cmd
}

func (a *app) generate(ctx context.Context, o generate.Options, out string) error {
	if toStdout(out) && (a.json || a.csv) {
		return usagef("--json and --csv show the summary of a file: give --out FILE")
	}
	rows, err := generate.Rows(o)
	if err != nil {
		return &usageError{err}
	}
	n := 0
	bytes, err := a.writeOut(out, func(w *bufio.Writer) (err error) {
		n, err = generate.WriteCSV(ctx, w, rows)
		return err
	})
	if err != nil || toStdout(out) {
		return err
	}
	g := &grid{head: []string{"file", "rows", "bytes"}}
	g.add(out, n, bytes)
	return a.writeRecord(struct {
		File  string `json:"file"`
		Rows  int    `json:"rows"`
		Bytes int64  `json:"bytes"`
	}{out, n, bytes}, g)
}
