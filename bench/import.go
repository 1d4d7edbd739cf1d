package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"cohort/query"
	"cohort/store"
)

var importSection = section{
	name:  "import",
	title: "a log of events from CSV into an empty store",
	about: "30 days of three events in order of time, ids skewed (u²), as `time,id,event` with a header. " +
		"The command runs as a process of its own, from its start to its end; its memory (RssAnon) is looked at every 20 ms. " +
		"It is compared with encoding/csv (ReuseRecord) reading the same file, from the page cache, and doing nothing with it. " +
		"The loader row is the same file through encoding/csv, time.Parse and store.Loader in one goroutine: what the command adds or saves. " +
		"Every event and day is counted after each import; a second import of the file must find nothing new.",
	run: runImport,
}

// importRun is what one way of importing did in all rounds.
type importRun struct {
	seconds samples
	peak    int64
}

func runImport(ctx context.Context, b *bench, r *result) error {
	file := b.path("rows.csv")
	of := brandedIDs(b.seed)
	if err := writeRows(file, fileRows(b.seed, b.rows, b.ids), of); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	want, err := importOracle(fileRows(b.seed, b.rows, b.ids), of, store.Hashed)
	if err != nil {
		return err
	}
	b.logf("%d rows written and worked out, %d MB", b.rows, info.Size()>>20)
	binary, err := buildCommand(ctx, b.path("cohort"))
	if err != nil {
		return err
	}
	var reading samples
	var command, loader, repeat importRun
	var size int64
	err = b.interleave(ctx,
		func(int) error { return readCSV(file, b.rows, &reading) },
		func(int) error {
			path := b.path("command.db")
			if err := b.importOnce(commandImport(ctx, binary, path, file), &command, want.tally); err != nil {
				return err
			}
			if err := checkImported(ctx, path, want); err != nil {
				return err
			}
			err := b.importAgain(path, commandImport(ctx, binary, path, file), &repeat)
			size, err = removeSized(path, err)
			return err
		},
		func(int) error {
			path := b.path("loader.db")
			cmd, err := childCommand(ctx, "load", path, file)
			if err != nil {
				return err
			}
			if b.profiles != "" {
				cmd.Env = append(os.Environ(), profileEnv+"="+filepath.Join(b.profiles, "import-loader.prof"))
			}
			if err := b.importOnce(cmd, &loader, want.tally); err != nil {
				return err
			}
			return errors.Join(checkImported(ctx, path, want), os.Remove(path))
		})
	if err != nil {
		return err
	}
	t := r.table("side", "rows", "seconds", "rows/s", "times encoding/csv", "peak RssAnon MB")
	rate := func(s samples) float64 { return float64(b.rows) / s.median() }
	t.row("encoding/csv", b.rows, reading, rate(reading))
	t.row("cohort import", b.rows, command.seconds, rate(command.seconds), command.seconds.over(reading), float64(command.peak)/1e6)
	t.row("cohort import, again", b.rows, repeat.seconds, rate(repeat.seconds), repeat.seconds.over(reading), float64(repeat.peak)/1e6)
	t.row("store.Loader", b.rows, loader.seconds, rate(loader.seconds), loader.seconds.over(reading), float64(loader.peak)/1e6)
	r.note("The file is %s MB; the store %s MB, %d events and days. Of the rows %s were new, %s already, %s shared; again, none is new.",
		figure(float64(info.Size())/1e6), figure(float64(size)/1e6), len(want.counts),
		thousands(int64(want.tally.New)), thousands(int64(want.tally.Already)), thousands(int64(want.tally.Shared)))
	r.atMost("cohort import, times encoding/csv", command.seconds.over(reading).median(), 10, "×")
	r.atMost("cohort import, peak RssAnon", float64(command.peak)/1e6, 600, " MB")
	return nil
}

// buildCommand compiles the command, from wherever in the module the benchmark
// runs.
func buildCommand(ctx context.Context, to string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "build", "-o", to, "cohort/cmd/cohort").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build cohort: %w: %s", err, out)
	}
	return to, nil
}

func commandImport(ctx context.Context, binary, db, file string) *exec.Cmd {
	return exec.CommandContext(ctx, binary, "--db", db, "--json", "import",
		"--id", "id", "--event", "event", "--time", "time", file)
}

// importFigures are the figures that an import gives, of the command's JSON
// those that are checked.
type importFigures struct {
	Rows    uint64 `json:"rows"`
	New     uint64 `json:"new"`
	Already uint64 `json:"already"`
	Shared  uint64 `json:"shared"`
	Refused uint64 `json:"refused"`
}

// importOnce runs an import and checks its figures.
func (b *bench) importOnce(cmd *exec.Cmd, run *importRun, want store.Tally) error {
	var got importFigures
	w, err := watch(cmd, &got)
	if err != nil {
		return err
	}
	run.seconds.add(w.took.Seconds())
	run.peak = max(run.peak, w.peak)
	return checkf(got, importFigures{Rows: uint64(b.rows), New: want.New, Already: want.Already, Shared: want.Shared}, "figures of the import")
}

// importAgain runs an import of what is there already, which must leave what
// the store knows as it was. What was already or shared depends on ids that
// later rows made known, so only their sum is certain.
func (b *bench) importAgain(path string, cmd *exec.Cmd, run *importRun) error {
	before, err := digest(path)
	if err != nil {
		return err
	}
	var got importFigures
	w, err := watch(cmd, &got)
	if err != nil {
		return err
	}
	run.seconds.add(w.took.Seconds())
	run.peak = max(run.peak, w.peak)
	if err := checkf(got.New, 0, "new marks of a second import"); err != nil {
		return err
	}
	if err := checkf(got.Already+got.Shared, uint64(b.rows), "other marks of a second import"); err != nil {
		return err
	}
	after, err := digest(path)
	if err != nil {
		return err
	}
	return checkf(after, before, "digest after a second import")
}

// inStore opens a store for reading and runs fn on a snapshot of it.
func inStore(path string, fn func(s *store.Snapshot) error) error {
	db, err := store.Open(path, &store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	s, err := db.Snapshot()
	if err != nil {
		return errors.Join(err, db.Close())
	}
	return errors.Join(fn(s), s.Close(), db.Close())
}

func digest(path string) (d string, err error) {
	err = inStore(path, func(s *store.Snapshot) error {
		d, err = s.Digest()
		return err
	})
	return d, err
}

// checkImported counts every event and day.
func checkImported(ctx context.Context, path string, want imported) error {
	return inStore(path, func(s *store.Snapshot) error {
		for at, n := range want.counts {
			got, err := query.Count(ctx, s, at.event, query.Day(at.day))
			if err != nil {
				return err
			}
			if err := checkf(int(got), n, "count of %s on %s", at.event, at.day); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeSized removes a file and returns how large it was, and err if that is
// an error.
func removeSized(path string, err error) (int64, error) {
	info, statErr := os.Stat(path)
	if err := errors.Join(err, statErr, os.Remove(path)); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// readCSV reads the file with encoding/csv and does nothing with it.
func readCSV(file string, rows int, took *samples) error {
	start := time.Now()
	n := 0
	err := eachRecord(file, func([]string) error { n++; return nil })
	took.add(time.Since(start).Seconds())
	if err != nil {
		return err
	}
	return checkf(n, rows, "rows of the file")
}

// eachRecord calls fn with each record after the header; fn may not keep it.
func eachRecord(file string, fn func(record []string) error) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := csv.NewReader(f)
	r.ReuseRecord = true
	for n := 0; ; n++ {
		record, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		if err := fn(record); err != nil {
			return err
		}
	}
}

// loadChild imports a file into a store by the shortest way: args are the
// store's path and the file's.
func loadChild(args []string) (figures importFigures, err error) {
	db, err := store.Open(args[0], nil)
	if err != nil {
		return figures, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	l, err := db.Load(context.Background())
	if err != nil {
		return figures, err
	}
	err = eachRecord(args[1], func(record []string) error {
		at, err := time.Parse(time.RFC3339, record[0])
		if err != nil {
			return err
		}
		figures.Rows++
		return l.Add(record[2], record[1], db.DayOf(at))
	})
	t, closeErr := l.Close()
	figures.New, figures.Already, figures.Shared = t.New, t.Already, t.Shared
	return figures, errors.Join(err, closeErr)
}
