package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"cohort/cmd/cohort/internal/generate"
	"cohort/store"

	"github.com/spf13/cobra"
)

// usualSeed is the seed where none is given.
const usualSeed = 1

func (a *app) demoCommand() *cobra.Command {
	o := generate.Options{Seed: usualSeed}.Defaults()
	keep := ""
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show it all on a made-up month",
		Long: `Demo makes up a month of an online game as generate does, imports it as a file is
imported, into a temporary store, and asks the store: who was active, who came
back, how far they came, how many ids share placements, and what the marks take
beside flat bitmaps. Above each answer stands the command that gives it.

It needs no file and no network. The answers are those as of the last day of the
month, and the same for the same seed.`,
		Example: example("cohort demo", "cohort demo --keep demo.db && cohort --db demo.db events", "cohort demo --json"),
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			switch {
			case a.csv:
				return usagef("--csv is for one table, and demo has many: use --json")
			case cmd.Flags().Changed("db"):
				return usagef("--db: demo makes a store of its own; keep it with --keep FILE")
			case a.asOf.day != nil:
				return usagef("--as-of: demo is as of the last day of its month")
			}
			if _, err := generate.Rows(o); err != nil {
				return &usageError{err}
			}
			return (&demo{app: a, o: o, path: keep}).run(ctx)
		}),
	}
	f := cmd.Flags()
	f.Uint64Var(&o.Seed, "seed", o.Seed, "`number` that chooses the month")
	f.IntVar(&o.IDs, "ids", o.IDs, "`number` of ids")
	f.StringVar(&keep, "keep", "", "keep the store, as this `file`")
	return cmd
}

// demo makes a store of a made-up month and asks it.
type demo struct {
	*app
	o    generate.Options
	path string // of the store
	temp string // the folder it is in, "" where the store is to be kept
	made bool   // there is a store at path, and demo made it
}

// run makes the store, shows it, and removes it unless it is to be kept. What
// fails or is interrupted leaves nothing behind.
func (d *demo) run(ctx context.Context) (err error) {
	if d.path == "" {
		if d.temp, err = os.MkdirTemp("", "cohort-demo-"); err != nil {
			return err
		}
		d.path = filepath.Join(d.temp, "demo.db")
	}
	defer func() {
		if err == nil && d.temp == "" {
			return
		}
		removeErr := d.remove()
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: its store is removed", ctx.Err())
		}
		if removeErr != nil {
			err = errors.Join(err, removeErr)
		}
	}()
	switch _, err := d.command(ctx, nil, "init"); {
	case errors.Is(err, store.ErrExist):
		return fmt.Errorf("--keep %s: file already exists", d.path)
	case err != nil:
		return err
	}
	d.made = true
	return d.show(ctx)
}

// remove removes the store.
func (d *demo) remove() error {
	switch {
	case d.temp != "":
		return os.RemoveAll(d.temp)
	case d.made:
		return os.Remove(d.path)
	}
	return nil
}

// sub returns a run of the command on the store of the demo. Its clock says noon of
// the day after the month, so that the month has ended whatever the machine's says.
func (d *demo) sub() *app {
	after := d.o.Period().Last + 1
	return &app{db: d.path, err: d.err, now: func() time.Time { return after.Time().Add(12 * time.Hour) }}
}

// command runs a command as if it were typed, and returns its results.
func (d *demo) command(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	var results bytes.Buffer
	sub := d.sub()
	sub.in, sub.out = in, bufio.NewWriter(&results)
	root := sub.root()
	flags := []string{"--db", d.path}
	if d.quiet {
		flags = append(flags, "--quiet")
	}
	root.SetArgs(append(flags, args...))
	if err := root.ExecuteContext(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	if err := sub.out.Flush(); err != nil {
		return nil, err
	}
	return results.Bytes(), nil
}

// importMonth imports the rows as they are made up: as CSV, through a pipe.
func (d *demo) importMonth(ctx context.Context) (r importResult, err error) {
	rows, err := generate.Rows(d.o)
	if err != nil {
		return r, err
	}
	reader, writer := io.Pipe()
	made := make(chan error, 1)
	go func() {
		_, err := generate.WriteCSV(ctx, writer, rows)
		writer.CloseWithError(err) // nil is the end of the file
		made <- err
	}()
	text, err := d.command(ctx, reader, "import", "--format", "csv", "--json", "-")
	if err != nil {
		reader.CloseWithError(err) // ends the writer
		return r, err
	}
	if err := <-made; err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}
