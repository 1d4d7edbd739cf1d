package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"cohort/store"

	"github.com/spf13/cobra"
)

// streams are where the command reads and writes.
type streams struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// app is one run of the command: its streams and the flags that every subcommand
// takes.
type app struct {
	in      io.Reader
	out     *bufio.Writer // results; flushed when the subcommand is done
	err     io.Writer     // progress, warnings, errors
	now     func() time.Time
	started bool // a subcommand runs: its usage was in order

	terminal bool // results go to a terminal

	db    string
	json  bool
	csv   bool
	quiet bool
	asOf  dayFlag
	wait  waitFlag

	warned map[string]bool // the warnings that were given
}

// run runs the command and returns its exit status.
func run(args []string, s streams, now func() time.Time) int {
	// A reader that leaves early, such as head, is an error of Write to deal
	// with, not a signal to die by.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	a := &app{in: s.in, out: bufio.NewWriterSize(s.out, 64<<10), err: s.err, now: now, terminal: isTerminal(s.out)}
	root := a.root()
	root.SetArgs(behindDashes(args))
	cmd, err := root.ExecuteContextC(ctx)
	if flushErr := a.out.Flush(); err == nil && flushErr != nil {
		err, a.started = flushErr, true // where it was help that could not be written, the usage was in order too
	}
	return a.report(cmd, err)
}

// behindDashes moves the value of field set and field add behind --, where it is
// negative: as it stands it looks like a flag. It is the last argument whatever flags
// stand behind it.
func behindDashes(args []string) []string {
	i := slices.Index(args, "field")
	if i < 0 || i+1 >= len(args) || args[i+1] != "set" && args[i+1] != "add" || slices.Contains(args, "--") {
		return args
	}
	for j := i + 2; j < len(args); j++ {
		if n := args[j]; len(n) > 1 && n[0] == '-' && n[1] >= '0' && n[1] <= '9' {
			return append(slices.Delete(slices.Clone(args), j, j+1), "--", n)
		}
	}
	return args
}

const rootLong = `cohort keeps marks, "this id did this event on this day", in one file: a
roaring bitmap per event and day. It counts the ids that were active, combines
events as sets, and reports actives, retention and funnels.

Exit status: 0 done; 1 the work failed; 2 usage; 3 done, but rows were refused
(import); 130 interrupted.`

const rootExample = `  cohort demo
  cohort import events.csv
  cohort count 'played[2026-01] & paid[2026-01]'
  cohort active played --from 2026-01-01 --to 2026-01-31`

// root returns the command with all its subcommands.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "cohort",
		Short:         "Count cohorts over one roaring bitmap per event and day",
		Long:          rootLong,
		Example:       rootExample,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(helpCommand())
	root.SetOut(a.out)
	root.SetErr(a.err)

	db := os.Getenv("COHORT_DB")
	if db == "" {
		db = "cohort.db"
	}
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVar(&a.db, "db", db, "the store's `file`; the default can be set in COHORT_DB")
	f.BoolVar(&a.json, "json", false, "write one JSON document")
	f.BoolVar(&a.csv, "csv", false, "write tables as CSV")
	f.BoolVar(&a.quiet, "quiet", false, "no progress and no warnings")
	f.Var(&a.asOf, "as-of", "the `day` that is today, such as 2026-01-30")
	a.wait.Duration = time.Second
	f.Var(&a.wait, "wait", "how long to wait for a store in use: `time` such as 30s, or seconds, or 0")

	for _, group := range []struct {
		title string
		add   []func() *cobra.Command
	}{
		{"Facts:", []func() *cobra.Command{
			a.initCommand, a.importCommand, a.markCommand, a.unmarkCommand, a.checkInCommand, a.observeCommand, a.fieldCommand,
			a.saveCommand, a.unsaveCommand, a.eraseCommand,
		}},
		{"Questions:", []func() *cobra.Command{
			a.countCommand, a.uniquesCommand, a.membersCommand, a.hasCommand, a.activeCommand, a.retentionCommand,
			a.lifecycleCommand, a.funnelCommand, a.streakCommand, a.calendarCommand, a.topCommand, a.exportCommand,
		}},
		{"The store:", []func() *cobra.Command{
			a.eventsCommand, a.setsCommand, a.idCommand, a.collisionsCommand, a.statsCommand, a.digestCommand,
			a.verifyCommand, a.convertCommand,
		}},
		{"More:", []func() *cobra.Command{a.demoCommand, a.generateCommand, a.versionCommand, a.completionCommand}},
	} {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, add := range group.add {
			cmd := add()
			cmd.GroupID = group.title
			cmd.Flags().SortFlags = false
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("More:")
	return root
}

// action is what a subcommand does.
type action func(ctx context.Context, cmd *cobra.Command, args []string) error

// do returns the function that cobra runs for an action.
func (a *app) do(act action) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case a.json && a.csv:
			return usagef("--json and --csv exclude each other")
		case a.db == "":
			return usagef("--db names no file")
		}
		a.started = true
		return act(cmd.Context(), cmd, args)
	}
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, _, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// open opens the store with the flags that every subcommand takes.
func (a *app) open(ctx context.Context, o store.Options) (*store.DB, error) {
	o.LockTimeout = max(a.wait.Duration, time.Nanosecond) // 0 would be the store's own default
	o.Now = a.now
	return await(ctx, func() (*store.DB, error) { return store.Open(a.db, &o) })
}

// ask opens the store, which must exist, for reading, takes one view of it, and
// closes it after fn.
func (a *app) ask(ctx context.Context, fn func(*store.Snapshot) error) (err error) {
	db, err := a.open(ctx, store.Options{ReadOnly: true, Create: store.CreateNever})
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	snap, err := db.Snapshot()
	if err != nil {
		return err
	}
	defer closeInto(&err, snap)
	return fn(snap)
}

// await calls f, and returns early when ctx ends: f may be waiting for another
// process, or for someone to type.
func await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// closeInto closes c, and makes its error the result unless there is one.
func closeInto(err *error, c io.Closer) {
	if closeErr := c.Close(); *err == nil {
		*err = closeErr
	}
}

// today returns the day that is today: as-of, or that of the store.
func (a *app) today(s interface{ Today() store.Day }) store.Day {
	if a.asOf.day != nil {
		return *a.asOf.day
	}
	return s.Today()
}

// example joins the lines of a subcommand's example.
func example(lines ...string) string { return "  " + strings.Join(lines, "\n  ") }
