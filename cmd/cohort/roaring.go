package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"cohort/cmd/cohort/internal/portable"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/spf13/cobra"
)

// roaringFormat is the name of the format whose files are sets, not rows.
const roaringFormat = "roaring"

// roaringHelp is what the help of import says of it.
const roaringHelp = `With --format roaring a file is one set: a roaring bitmap in the portable format,
such as export writes. --event-name and --on say what its ids did, and on which
day. In a store of numbers the numbers of the set are the ids. In others they are
placements, and a placement alone is no id: every id that is known at one is
marked, and a placement without a known id is refused as bad_id.`

// roaringFlags are the flags of an import of sets.
type roaringFlags struct{ on dayFlag }

func (f *roaringFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().Var(&f.on, "on", "the `day` of sets, files of format roaring")
}

// check returns an error if the flags do not go together. Event is the name that
// is given for all rows.
func (f *roaringFlags) check(cmd *cobra.Command, format, event string) error {
	if format != roaringFormat {
		if f.on.day != nil {
			return usagef("--on goes with --format %s", roaringFormat)
		}
		return nil
	}
	err := onlyFlags(cmd, "--format "+roaringFormat,
		append([]string{"format", "on", "event-name", "rejects", "max-rejects", "dry-run"}, creationFlags...)...)
	switch {
	case err != nil:
		return err
	case event == "":
		return usagef("--event-name is missing: a set has no event")
	case f.on.day == nil:
		return usagef("--on is missing: a set has no day")
	}
	return nil
}

// importSets marks the ids of sets and reports what became of them. All files are
// read, and found to be sets, before any id is marked.
func (a *app) importSets(ctx context.Context, f importFlags, names []string) (err error) {
	start := time.Now()
	if err := checkStdin(names); err != nil {
		return err
	}
	l := &setLoad{app: a, event: f.columns.EventName, day: *f.sets.on.day, figures: importFigures(f)}
	for _, name := range names {
		set, err := await(ctx, func() (*roaring.Bitmap, error) { return readSet(a.in, name) })
		if err != nil {
			return err
		}
		l.sets = append(l.sets, namedSet{inputName(name), set})
	}
	if l.refused, err = newRefusals(a, f, holding(names)); err != nil {
		return err
	}
	defer closeInto(&err, l.refused)
	db, end, err := a.openToImport(ctx, f)
	if err != nil {
		return err
	}
	defer closeInto(&err, end)
	if err := l.refused.begin("reason", "placement", "id", "event", "time"); err != nil {
		return err
	}
	l.db = db
	if l.brand, err = l.findBrand(); err != nil {
		return err
	}
	loader, err := db.Load(ctx)
	if err != nil {
		return err
	}
	stop, err := l.run(a, loader, int64(l.size()), func(bar *progress) error { return l.mark(ctx, loader, bar) })
	if err != nil {
		return err
	}
	if n := l.refused.total; n > 0 && !a.quiet {
		a.errorf("no id is known at %d placements, the first of them %d", n, l.first)
	}
	return a.finishImport(l.result(names, time.Since(start), l.refused), stop)
}

// holding returns what tells whether a file is one of some names.
func holding(names []string) func(fs.FileInfo) bool {
	return func(info fs.FileInfo) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			named, err := os.Stat(name)
			return err == nil && name != "-" && os.SameFile(named, info)
		})
	}
}

// readSet reads a file that is a set.
func readSet(stdin io.Reader, name string) (set *roaring.Bitmap, err error) {
	from := stdin
	if name != "-" {
		var file *os.File
		if file, err = os.Open(name); err != nil {
			return nil, pathError(err)
		}
		defer closeInto(&err, file)
		from = file
	}
	set, err = portable.Read(from)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return nil, pathError(err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", inputName(name), err)
	}
	return set, nil
}
