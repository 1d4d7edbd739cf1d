package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"
)

// cohort returns the command as a process of its own, ended with the test.
func cohort(t *testing.T, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	path, err := exec.LookPath("cohort") // installed by TestMain
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, path, args...)
	stderr = new(bytes.Buffer)
	cmd.Stderr = stderr
	return cmd, stderr
}

// exitStatus returns the status a process ended with.
func exitStatus(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return 0
}

// writeRows writes rows of distinct ids, one day after the other.
func writeRows(w *bufio.Writer, from, to int) error {
	for i := from; i < to; i++ {
		if _, err := fmt.Fprintf(w, "%d,played,2026-01-%02d\n", i, 1+i%28); err != nil {
			return err
		}
	}
	return w.Flush()
}

// An interrupted import says what is on disk, and that is there.
func TestInterruptImport(t *testing.T) {
	if testing.Short() {
		t.Skip("imports two million rows")
	}
	// The loader commits a million rows at a time, and of such short ones 720,000
	// are read ahead: so many are written that one commit must be done by then.
	const rows = 2_000_000
	db := filepath.Join(t.TempDir(), "cohort.db")
	cmd, stderr := cohort(t, "--db", db, "import", "--ids", "number", "--format", "csv",
		"--no-header", "--id", "1", "--event", "2", "--time", "3")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := writeRows(bufio.NewWriterSize(stdin, 1<<16), 0, rows); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := exitStatus(t, cmd.Wait()); got != statusInterrupted {
		t.Errorf("exit status %d, %s", got, stderr)
	}
	m := regexp.MustCompile(`^cohort: import: interrupted: (\d+) marks are on disk .*; run it again from the start: rows already marked change nothing\n$`).FindStringSubmatch(stderr.String())
	if m == nil {
		t.Fatalf("stderr: %s", stderr)
	}
	said, err := strconv.ParseUint(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var counts struct{ Results []struct{ Count uint64 } }
	askJSON(t, &counts, "--db", db, "count", "seen")
	if got := counts.Results[0].Count; got != said || got < 1_000_000 || got == rows {
		t.Errorf("%d ids are on disk, %d were said to be", got, said)
	}
}

// An import that waits for someone to type can be interrupted.
func TestInterruptWaiting(t *testing.T) {
	for _, header := range []string{"", "id,event,time\n"} {
		wait := 300 * time.Millisecond // until it reads, unless the machine is busy
		status, stderr := interruptWaiting(t, header, wait)
		for status < 0 && wait < 20*time.Second { // it had not come to watching for signals
			wait *= 2
			status, stderr = interruptWaiting(t, header, wait)
		}
		if status != statusInterrupted || !strings.HasPrefix(stderr, "cohort: import: interrupted") {
			t.Errorf("header %q: exit status %d, %s", header, status, stderr)
		}
	}
}

// interruptWaiting interrupts an import that was given a header a while before. The
// status is negative where the signal ended the process by itself.
func interruptWaiting(t *testing.T, header string, wait time.Duration) (status int, stderr string) {
	t.Helper()
	cmd, said := cohort(t, "--db", filepath.Join(t.TempDir(), "cohort.db"), "import", "--format", "csv")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte(header)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(wait)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return exitStatus(t, cmd.Wait()), said.String()
}

// A reader of the results that leaves early is no error.
func TestClosedPipe(t *testing.T) {
	dir := t.TempDir()
	db, rows := filepath.Join(dir, "cohort.db"), filepath.Join(dir, "rows.csv")
	f, err := os.Create(rows)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeRows(bufio.NewWriter(f), 0, 100_000), f.Close()); err != nil {
		t.Fatal(err)
	}
	load, stderr := cohort(t, "--db", db, "import", "--ids", "number", "--no-header", "--id", "1", "--event", "2", "--time", "3", rows)
	if err := load.Run(); err != nil {
		t.Fatal(err, stderr)
	}
	for _, form := range []string{"--quiet", "--json", "--csv"} {
		cmd, stderr := cohort(t, "--db", db, form, "members", "played[all]")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReaderSize(out, 16).ReadByte(); err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		if got := exitStatus(t, cmd.Wait()); got != 0 || stderr.Len() > 0 {
			t.Errorf("%s: exit status %d, %s", form, got, stderr)
		}
	}
}

// Results that cannot be written are work that failed, help too.
func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("there is no device that is full: ", err)
	}
	defer full.Close()
	for _, args := range [][]string{{}, {"help"}, {"help", "count"}, {"count", "--help"}, {"version", "--json"}} {
		cmd, stderr := cohort(t, args...)
		cmd.Stdout = full
		got := exitStatus(t, cmd.Run())
		if got != statusFailed || !strings.HasSuffix(stderr.String(), "no space left on device\n") {
			t.Errorf("cohort %q: exit status %d, %s", args, got, stderr)
		}
	}
}

// An error about an argument that is too long to be read repeats its ends.
func TestLongArgument(t *testing.T) {
	db := filepath.Join(t.TempDir(), "cohort.db")
	made, stderr := cohort(t, "--db", db, "init", "--ids", "string")
	if err := made.Run(); err != nil {
		t.Fatal(err, stderr)
	}
	long := strings.Repeat("ж", 30_000)
	for _, args := range [][]string{
		{"count", strings.Repeat("(", 60_000)}, {"count", long + "[all]"}, {"members", "a[" + long + "]"}, {"active", "a", "--from", long},
		{"funnel", "a", "a[" + long}, {"mark", "a", long}, {"mark", long, "a"}, {long}, {"has", "a", "a", "--" + long}, {"save", long, "a[all]"},
	} {
		cmd, stderr := cohort(t, append([]string{"--db", db}, args...)...)
		got := exitStatus(t, cmd.Run())
		if text := stderr.String(); got == statusDone || strings.Count(text, "\n") != 1 || len(text) > 4096 || !strings.HasPrefix(text, "cohort: ") {
			t.Errorf("cohort %s …: exit status %d, %d bytes: %.200q", args[0], got, len(text), text)
		}
	}
}

// A store in use gives an error soon, and can be waited for.
func TestStoreInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cohort.db")
	db, err := store.Open(path, &store.Options{IDs: placement.String})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		most time.Duration
	}{
		{[]string{"events"}, 2 * time.Second},
		{[]string{"mark", "played", "anna"}, 2 * time.Second},
		{[]string{"mark", "played", "anna", "--wait", "0"}, 900 * time.Millisecond}, // not the second of those before
	} {
		args, took := test.args, time.Duration(math.MaxInt64)
		for range 20 { // the machine may be busy: one of them must be quick
			cmd, stderr := cohort(t, append([]string{"--db", path}, args...)...)
			start := time.Now()
			status := exitStatus(t, cmd.Run())
			took = min(took, time.Since(start))
			if got, want := stderr.String(), "; wait for it with --wait 30s\n"; status != statusFailed || !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 1 {
				t.Errorf("%q: exit status %d, %s", args, status, got)
			}
			if took <= test.most {
				break
			}
		}
		if took > test.most {
			t.Errorf("%q: it takes %v", args, took)
		}
	}

	cmd, stderr := cohort(t, "--db", path, "--wait", "30s", "events")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // longer than it waits unasked
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v, %s", err, stderr)
	}
}
