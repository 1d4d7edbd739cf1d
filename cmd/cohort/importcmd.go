package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/store"

	"github.com/spf13/cobra"
)

// importFlags are the flags of import.
type importFlags struct {
	format     string
	columns    ingest.Columns
	timeFormat choice[ingest.TimeFormat]
	rejects    string
	maxRejects int64
	creation   creation
}

func (a *app) importCommand() *cobra.Command {
	f := importFlags{timeFormat: choice[ingest.TimeFormat]{text: "auto", parse: ingest.ParseTimeFormat}}
	cmd := &cobra.Command{
		Use:   "import [FILE...|-]",
		Short: "Mark from files of rows",
		Long: `Import marks from files whose rows have an id, an event and a time: CSV, TSV, or
text of fixed width. It reads standard input where no file, or -, is given. A
store that does not exist is created.

Rows that cannot be used are refused, counted by reason, and reported with their
line; the others are kept. Importing a file again adds nothing.

A column is chosen by its name in the header, by its number from 1, or in text of
fixed width by its bytes, as 2-6. A time is an ISO date with or without a time of
day, 8 digits YYYYMMDD, 10 digits of seconds or 13 of milliseconds since 1970; any
other needs --time-format. A time without an offset is in the store's zone.`,
		Example: example("cohort import events.csv",
			"cohort import --id user --event action --time at --time-format '%d/%m/%Y' log.tsv",
			"cohort import --format fixed --id 2-6 --time 8-15 --event-name purchase --ids string orders.txt"),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if len(args) == 0 {
				args = []string{"-"}
			}
			return a.importFiles(ctx, f, args)
		}),
	}
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "", "`format` of the files: "+strings.Join(ingest.Formats(), ", ")+" (default by the name)")
	fs.StringVar(&f.columns.ID, "id", "id", "`column` of the id")
	fs.StringVar(&f.columns.Event, "event", "event", "`column` of the event")
	fs.StringVar(&f.columns.Time, "time", "time", "`column` of the time")
	fs.StringVar(&f.columns.EventName, "event-name", "", "the `event` of every row, where files have no column of it")
	fs.BoolVar(&f.columns.NoHeader, "no-header", false, "the first line is a row; columns are chosen by number")
	fs.Var(&f.timeFormat, "time-format", "`layout` of times: auto, unix, unix-ms, or such as %d/%m/%Y")
	fs.StringVar(&f.rejects, "rejects", "", "write refused rows, with line and reason, to a CSV `file`")
	fs.Int64Var(&f.maxRejects, "max-rejects", 0, "stop when more than `N` rows are refused (default never)")
	f.creation.addFlags(cmd)
	return cmd
}

// check returns an error if the flags do not go together.
func (f *importFlags) check(cmd *cobra.Command) (err error) {
	changed := cmd.Flags().Changed
	switch {
	case f.format != "" && !slices.Contains(ingest.Formats(), f.format):
		return usagef("--format %q: must be one of %s", f.format, strings.Join(ingest.Formats(), ", "))
	case changed("event") && changed("event-name"):
		return usagef("--event and --event-name exclude each other")
	case changed("max-rejects") && f.maxRejects < 0:
		return usagef("--max-rejects %d: must not be negative", f.maxRejects)
	}
	if changed("event-name") {
		if err := store.CheckEvent(f.columns.EventName); err != nil {
			return &usageError{fmt.Errorf("--event-name: %w", err)}
		}
	}
	if !changed("max-rejects") {
		f.maxRejects = -1
	}
	if f.timeFormat.text == "auto" {
		f.timeFormat.value, err = ingest.ParseTimeFormat("auto")
	}
	return err
}

// importFiles reads files into the store and reports what became of their rows.
func (a *app) importFiles(ctx context.Context, f importFlags, names []string) (err error) {
	start := time.Now()
	in, err := await(ctx, func() (*inputs, error) { return openInputs(a.in, names, f) })
	if err != nil {
		return err
	}
	defer closeInto(&err, in)
	db, err := a.openToWrite(ctx, f.creation, store.CreateMissing)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	refusals, err := newRefusals(a, f, in)
	if err != nil {
		return err
	}
	defer closeInto(&err, refusals)

	l := &load{
		app: a, kind: db.Config().IDs, in: in, refusals: refusals,
		days:       ingest.NewDayParser(f.timeFormat.value, db.Config().TimeZone),
		keepFields: refusals.file != nil,
	}
	stop, err := l.run(ctx, db)
	if err != nil {
		return err
	}
	if err := a.writeImport(l, names, time.Since(start)); err != nil {
		return err
	}
	switch {
	case stop != nil:
		return stop
	case refusals.total > 0:
		return errRefused
	}
	return nil
}
