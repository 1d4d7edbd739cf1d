package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	dryRun     bool
	sketch     bool
	creation   creation
	redis      redisFlags
	sets       roaringFlags
	field      fieldFlags
}

const importHelp = `Import marks from files whose rows have an id, an event and a time: CSV, TSV, JSON
lines, or text of fixed width, as they are or compressed with gzip or zstd. It
reads standard input where no file, or -, is given. A store that does not exist is
created.

Rows that cannot be used are refused, counted by reason, and reported with their
line; the others are kept. Importing a file again adds nothing: after any failure
or interruption, run it again from the start.

The format is that of the name: .csv .tsv .jsonl .ndjson, and .gz .zst or .zstd
after it. --format says it for all files; with - among several, for standard input
and for names that do not tell. What is compressed is seen by its first bytes.

A column is chosen by its name in the header, by its number from 1, in text of
fixed width by its bytes, as 2-6, or in JSON lines by its key. A time is an ISO date
with or without a time of day, 8 digits YYYYMMDD, 10 digits of seconds or 13 of
milliseconds since 1970; any other needs --time-format. A time without an offset is
in the store's zone.

--rejects writes the refused rows as CSV, to be mended there and imported again:
line, reason, and with several files file, which import passes over, then the
columns of the original, for the same flags. Where the original has no header, or
columns were chosen by number, or headers differ, it has id, event and time (with
--field: id and value) in their place, for no flags but --format and --time-format,
and the whole row. Of --from-redis and --format roaring it has the key or the
placement, and id, event and time.

--dry-run imports into a copy of the store in the folder for temporary files, which
it removes: figures and status are those of the import, and nothing is changed.

--sketch records visits instead of marks: the event of a row is the page, see observe.
Rows are new where they changed a sketch, and already where they did not; ids of
several brands may visit one page.`

func (a *app) importCommand() *cobra.Command {
	f := importFlags{timeFormat: choice[ingest.TimeFormat]{text: "auto", parse: ingest.ParseTimeFormat}}
	cmd := &cobra.Command{
		Use:   "import [FILE...|-]",
		Short: "Mark from files of rows",
		Long:  strings.Join([]string{importHelp, fieldImportHelp, redisHelp, roaringHelp}, "\n\n"),
		Example: example("cohort import events.csv",
			"cohort import --id user --event action --time at --time-format '%d/%m/%Y' log.tsv.gz",
			"cohort import --rejects rejects.csv jan.jsonl.zst feb.jsonl.zst && cohort import rejects.csv",
			"cohort import --format fixed --id 2-6 --time 8-15 --event-name purchase --ids string orders.txt",
			"cohort import --from-redis localhost:6379 --match 'active:*'",
			"cohort import --sketch --event url visits.csv.gz",
			"cohort import --field score --value points --bits 16 scores.csv",
			"cohort import --field coins --add --batch 2026-01 january.csv",
			"cohort import --format roaring --event-name paid --on 2026-01-30 paid.roaring"),
		RunE: a.do(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := f.check(cmd, args); err != nil {
				return err
			}
			return a.importFrom(ctx, f, cmd, args)
		}),
	}
	fs := cmd.Flags()
	formats := strings.Join(importFormats(), ", ")
	fs.StringVar(&f.format, "format", "", "`format` of the files: "+formats+" (default by the name)")
	fs.StringVar(&f.columns.ID, "id", "id", "`column` of the id")
	fs.StringVar(&f.columns.Event, "event", "event", "`column` of the event")
	fs.StringVar(&f.columns.Time, "time", "time", "`column` of the time")
	fs.StringVar(&f.columns.EventName, "event-name", "", "the `event` of every row, where files have no column of it")
	fs.BoolVar(&f.columns.NoHeader, "no-header", false, "the first line is a row; columns are chosen by number")
	fs.Var(&f.timeFormat, "time-format", "`layout` of times: auto, unix, unix-ms, or such as %d/%m/%Y")
	fs.StringVar(&f.rejects, "rejects", "", "write refused rows, with line and reason, to a CSV `file`")
	fs.Int64Var(&f.maxRejects, "max-rejects", 0, "stop when more than `N` rows are refused (default never)")
	fs.BoolVar(&f.dryRun, "dry-run", false, "say what the import would do, and change nothing")
	fs.BoolVar(&f.sketch, "sketch", false, "the events are pages: record visits in sketches, see observe")
	f.redis.addFlags(cmd)
	f.sets.addFlags(cmd)
	f.field.addFlags(cmd)
	f.creation.addFlags(cmd)
	return cmd
}

// importFormats lists the formats of files.
func importFormats() []string { return append(ingest.Formats(), roaringFormat) }

// check returns an error if the flags do not go together.
func (f *importFlags) check(cmd *cobra.Command, files []string) (err error) {
	changed := cmd.Flags().Changed
	switch {
	case f.format != "" && !slices.Contains(importFormats(), f.format):
		return usagef("--format %q: must be one of %s", f.format, strings.Join(importFormats(), ", "))
	case changed("event") && changed("event-name"):
		return usagef("--event and --event-name exclude each other")
	case changed("max-rejects") && f.maxRejects < 0:
		return usagef("--max-rejects %d: must not be negative", f.maxRejects)
	case f.rejects == "-":
		return usagef("--rejects -: must be a file, for results go to standard output")
	}
	if changed("event-name") {
		if err := store.CheckEvent(f.columns.EventName); err != nil {
			return &usageError{fmt.Errorf("--event-name: %w", err)}
		}
	}
	if err := f.redis.check(cmd, f.creation, files); err != nil {
		return err
	}
	if err := f.sets.check(cmd, f.format, f.columns.EventName); err != nil {
		return err
	}
	if err := f.field.check(cmd, f.redis.given(cmd), f.format == roaringFormat); err != nil {
		return err
	}
	if !changed("max-rejects") {
		f.maxRejects = -1
	}
	if f.timeFormat.text == "auto" {
		f.timeFormat.value, err = ingest.ParseTimeFormat("auto")
	}
	return err
}

// importFrom imports from what the flags name.
func (a *app) importFrom(ctx context.Context, f importFlags, cmd *cobra.Command, files []string) error {
	if f.redis.given(cmd) {
		return a.importRedis(ctx, f)
	}
	if len(files) == 0 {
		files = []string{"-"}
	}
	if f.format == roaringFormat {
		return a.importSets(ctx, f, files)
	}
	return a.importFiles(ctx, f, files)
}

// importFiles reads files into the store and reports what became of their rows.
func (a *app) importFiles(ctx context.Context, f importFlags, names []string) (err error) {
	began := time.Now()
	f.field.columns(&f.columns)
	in, err := await(ctx, func() (*inputs, error) { return openInputs(a.in, names, f) })
	if err != nil {
		return err
	}
	defer closeInto(&err, in)
	refused, err := newRefusedRows(a, f, in)
	if err != nil {
		return err
	}
	defer closeInto(&err, refused)
	db, end, err := a.openToImport(ctx, f)
	if err != nil {
		return err
	}
	defer closeInto(&err, end)
	if err := refused.begin(in); err != nil {
		return err
	}
	l := &load{
		app: a, in: in, refused: refused, figures: importFigures(f),
		reading: ingest.Reading{Position: in.read.Load, KeepText: f.rejects != ""},
	}
	bring := l.marks
	if f.field.name != "" {
		bring = l.values
	}
	stop, err := bring(ctx, db, f)
	if err != nil {
		return err
	}
	if l.nulls > 0 {
		a.warnf("%d rows have the id null or undefined, and were taken as they stand", l.nulls)
	}
	return a.finishImport(l.result(names, time.Since(began), refused.refusals), stop)
}

// openToImport opens the store, or creates it; for a dry run it opens a copy. End
// has what was imported remembered, and closes it.
func (a *app) openToImport(ctx context.Context, f importFlags) (db *store.DB, end io.Closer, err error) {
	if f.dryRun {
		return a.openCopy(ctx, f.creation)
	}
	if db, err = a.openToWrite(ctx, f.creation, store.CreateMissing); err != nil {
		return nil, nil, err
	}
	return db, importEnd{ctx, db}, nil
}

// importEnd closes a store after an import. What comes later asks about it, so first
// days and unions of periods are brought up to date first, unless the user has had
// enough.
type importEnd struct {
	ctx context.Context
	db  *store.DB
}

func (e importEnd) Close() error {
	err := e.db.Remember(e.ctx)
	if e.ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, e.db.Close())
}
