package main

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// numberRows are the flags for files as writeRows writes them.
var numberRows = []string{"--ids", "number", "--no-header", "--id", "1", "--event", "2", "--time", "3"}

// rowsFile writes rows to a file, compressed if it is named so.
func rowsFile(t *testing.T, path string, from, to int) string {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		err = writeRows(bufio.NewWriter(z), from, to)
		err = errors.Join(err, z.Close())
		if err != nil {
			t.Fatal(err)
		}
	} else if err := writeRows(w, from, to); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// runImport imports files with the flags of numberRows, and others before them.
func runImport(t *testing.T, db string, args ...string) (status int, stderr string) {
	t.Helper()
	cmd, errs := cohort(t, slices.Concat([]string{"--db", db, "import"}, numberRows, args)...)
	return exitStatus(t, cmd.Run()), errs.String()
}

// digestOf returns the digest of a store.
func digestOf(t *testing.T, db string) string {
	t.Helper()
	cmd, stderr := cohort(t, "--db", db, "digest")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err, stderr)
	}
	return string(out)
}

// An import that is killed at any moment, and run again from the start, leaves
// what one leaves that was never killed.
func TestKillImport(t *testing.T) {
	if testing.Short() {
		t.Skip("imports 1.3 million rows several times")
	}
	// A million rows are committed at a time: with so many there are two commits.
	dir := t.TempDir()
	files := []string{
		rowsFile(t, filepath.Join(dir, "a.csv.gz"), 0, 700_000),
		rowsFile(t, filepath.Join(dir, "b.csv"), 600_000, 1_200_000),
	}
	kills := 6
	if raceEnabled {
		kills = 1
	}
	whole, killed := filepath.Join(dir, "whole.db"), filepath.Join(dir, "killed.db")
	start := time.Now()
	if status, stderr := runImport(t, whole, files...); status != 0 {
		t.Fatal(status, stderr)
	}
	took := time.Since(start)
	seed := rand.Uint64()
	t.Logf("an import takes %v; seed %d", took, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range kills {
		cmd, _ := cohort(t, slices.Concat([]string{"--db", killed, "import"}, numberRows, files)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(random.Int64N(int64(took))))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	if status, stderr := runImport(t, killed, files...); status != 0 {
		t.Fatal(status, stderr)
	}
	if got, want := digestOf(t, killed), digestOf(t, whole); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// A dry run that is interrupted, or killed, changes nothing and leaves nothing.
func TestEndDryRun(t *testing.T) {
	if testing.Short() {
		t.Skip("imports 800,000 rows")
	}
	dir := t.TempDir()
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(dir, "cohort.db")
	if status, stderr := runImport(t, db, rowsFile(t, filepath.Join(dir, "a.csv"), 0, 1000)); status != 0 {
		t.Fatal(status, stderr)
	}
	before := digestOf(t, db)
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		cmd, stderr := cohort(t, slices.Concat([]string{"--db", db, "import", "--format", "csv", "--dry-run"}, numberRows)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More than is read ahead: by then it is at work.
		if err := writeRows(bufio.NewWriter(stdin), 0, 800_000); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		if signal == os.Interrupt && (exitStatus(t, err) != statusInterrupted || !strings.HasPrefix(stderr.String(), "cohort: import: interrupted: ") || !strings.HasSuffix(stderr.String(), "the store is as it was\n")) {
			t.Errorf("interrupted: %v, %s", err, stderr)
		}
		left, err := os.ReadDir(tmp)
		if err != nil || len(left) > 0 {
			t.Errorf("%v: left %v, %v", signal, left, err)
		}
		if got := digestOf(t, db); got != before {
			t.Errorf("%v: the store changed", signal)
		}
	}
}

// A dry run of a store in use gives the error that an import gives.
func TestDryRunInUse(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "cohort.db")
	rows := rowsFile(t, filepath.Join(dir, "a.csv"), 0, 10)
	cmd, _ := cohort(t, slices.Concat([]string{"--db", db, "import", "--format", "csv"}, numberRows)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := writeRows(bufio.NewWriter(stdin), 0, 100_000); err != nil { // it reads, so it has the store
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		_, err := os.Stat(db)
		return err == nil
	})
	status, stderr := runImport(t, db, "--dry-run", rows)
	if status != statusFailed || !strings.HasSuffix(stderr, "store is in use by another process; wait for it with --wait 30s\n") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
