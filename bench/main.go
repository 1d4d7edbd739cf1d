package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if isChild() {
		os.Exit(runChild(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run is the program: it runs the sections that args name and writes their
// tables to out, and progress to progress. Where a section fails the others run all
// the same, and the file has what there is after each.
func run(ctx context.Context, args []string, out, progress io.Writer) (err error) {
	o, err := parseOptions(args, progress)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.dir, "cohort-bench-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	doc := document{machine: readMachine(dir, o), judged: o.size == "full", file: o.output}
	var failed error
	for _, s := range o.sections {
		if err := ctx.Err(); err != nil {
			return errors.Join(failed, err)
		}
		fmt.Fprintf(progress, "%s: %s\n", s.name, s.title)
		start := time.Now()
		b := &bench{scale: o.scale, seed: o.seed, dir: filepath.Join(dir, s.name), log: progress, profiles: o.profiles}
		if err := b.run(ctx, s, &doc); err != nil {
			err = fmt.Errorf("%s: %w", s.name, err)
			fmt.Fprintln(progress, err)
			failed = errors.Join(failed, err)
			doc.failed = append(doc.failed, s.name)
		}
		fmt.Fprintf(progress, "%s: %.1f s in all\n", s.name, time.Since(start).Seconds())
		doc.machine.after = load()
		if err := doc.save(); err != nil {
			return errors.Join(failed, err)
		}
	}
	_, err = doc.WriteTo(out)
	return errors.Join(failed, err)
}

// options are the parsed command line.
type options struct {
	scale
	size     string
	seed     uint64
	dir      string
	output   string
	profiles string
	sections []section
}

// parseOptions reads the command line. Flags and names of sections may mix.
func parseOptions(args []string, usage io.Writer) (options, error) {
	var o options
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(usage)
	fs.StringVar(&o.size, "size", "middle", "small: seconds, checks every answer; middle: minutes; full: what the goals are about, an hour")
	ids := fs.Int("ids", 0, "ids in a full day, instead of the size's")
	rows := fs.Int("rows", 0, "rows of the import, instead of the size's")
	days := fs.Int("days", 0, "days in the store that is opened, instead of the size's")
	fs.Uint64Var(&o.seed, "seed", 1, "seed of every workload")
	fs.StringVar(&o.dir, "dir", os.TempDir(), "where the stores lie while they are measured; a real disk")
	fs.StringVar(&o.output, "o", "", "also write the tables to this file")
	fs.StringVar(&o.profiles, "profiles", "", "write a CPU profile of each section into this directory")
	fs.Usage = func() {
		fmt.Fprintf(usage, "usage: bench [flags] [%s]\n", strings.Join(sectionNames(), "|"))
		fs.PrintDefaults()
	}
	var names []string
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			return o, err
		}
		if args = fs.Args(); len(args) > 0 {
			names, args = append(names, args[0]), args[1:]
		}
	}
	switch o.size {
	case "small":
		o.scale = smallScale
	case "middle":
		o.scale = middleScale
	case "full":
		o.scale = fullScale
	default:
		return o, fmt.Errorf("no size %q: there are small, middle and full", o.size)
	}
	for _, set := range []struct{ from, to *int }{{ids, &o.ids}, {rows, &o.rows}, {days, &o.days}} {
		if *set.from < 0 {
			return o, fmt.Errorf("sizes are positive, not %d", *set.from)
		}
		if *set.from > 0 {
			*set.to = *set.from
		}
	}
	return o, o.choose(names)
}

// choose sets the sections of some names, in their own order; all without any.
func (o *options) choose(names []string) error {
	for _, n := range names {
		if !slices.Contains(sectionNames(), n) {
			return fmt.Errorf("no section %q: there are %s", n, strings.Join(sectionNames(), ", "))
		}
	}
	for _, s := range sections() {
		if len(names) == 0 || slices.Contains(names, s.name) {
			o.sections = append(o.sections, s)
		}
	}
	return nil
}

// run runs one section in a directory of its own and adds its result to the
// document.
func (b *bench) run(ctx context.Context, s section, doc *document) (err error) {
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.profiles != "" {
		f, err := os.Create(filepath.Join(b.profiles, s.name+".prof"))
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return errors.Join(err, f.Close())
		}
		defer func() {
			pprof.StopCPUProfile()
			_ = f.Close() // a profile is a help, not a result
		}()
	}
	r := &result{section: s}
	if err := s.run(ctx, b, r); err != nil {
		return err
	}
	doc.results = append(doc.results, r)
	return nil
}
