package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// An import that fills the disk says so and what to do; once there is room, it
// ends as one that always had it.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("imports 1.1 million rows")
	}
	dir := t.TempDir()
	small := filepath.Join(dir, "small")
	if err := os.Mkdir(small, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("may not mount a small disk:", err)
	}
	defer func() {
		if err := syscall.Unmount(small, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	rows := rowsFile(t, filepath.Join(dir, "rows.csv"), 0, 1_100_000)
	whole, full := filepath.Join(dir, "whole.db"), filepath.Join(small, "full.db")
	if status, stderr := runImport(t, whole, rows); status != 0 {
		t.Fatal(status, stderr)
	}
	status, stderr := runImport(t, full, rows)
	if status != statusFailed || !strings.Contains(stderr, "no space left on device") ||
		!strings.HasSuffix(stderr, "run it again from the start: rows already marked change nothing\n") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", syscall.MS_REMOUNT, "size=500m"); err != nil {
		t.Fatal(err)
	}
	if status, stderr := runImport(t, full, rows); status != 0 {
		t.Fatal(status, stderr)
	}
	if got, want := digestOf(t, full), digestOf(t, whole); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}

// bomb writes a compressed file of n bytes that are all the same.
func bomb(t *testing.T, path string, head string, fill byte, n int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var w io.WriteCloser
	if strings.HasSuffix(path, ".gz") {
		w, err = gzip.NewWriterLevel(f, gzip.BestSpeed)
	} else {
		w, err = zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(8<<20))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(w, head)
	part := bytes.Repeat([]byte{fill}, 1<<20)
	for ; err == nil && n > 0; n -= len(part) {
		_, err = w.Write(part)
	}
	if err := errors.Join(err, w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// A small file that expands to a gigabyte takes no more memory than others.
func TestBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("compresses gigabytes")
	}
	const limit = 150 << 20
	gigabyte := 1 << 30
	if raceEnabled { // under which memory is not judged
		gigabyte = 32 << 20
	}
	dir := t.TempDir()
	for _, test := range []struct {
		name, head string
		fill       byte
		size       int
		status     int
		want       string
	}{
		{"zeros.csv.gz", "id,event,time\n", 0, gigabyte, statusFailed, "line 2: row is longer than 1 MiB"},
		{"zeros.csv.zst", "id,event,time\n", 0, gigabyte, statusFailed, "line 2: row is longer than 1 MiB"},
		{"header.csv.gz", "", 'x', gigabyte, statusUsage, "the header line cannot be read: line 1: row is longer than 1 MiB"},
		{"quote.csv.zst", "id,event,time\na,\"", '\n', gigabyte, statusFailed, "line 2: row is longer than 1 MiB"},
		{"lines.csv.zst", "id,event,time\n", '\n', gigabyte / 32, statusDone, ""},
		{"object.jsonl.zst", `{"id":"`, '[', gigabyte, statusFailed, "line 1: row is longer than 1 MiB"},
		{"deep.jsonl.gz", `{"id":1}` + "\n" + strings.Repeat("[", 1000_000) + "\n", '\n', 1 << 20, statusRefused, "2 bad_row"},
	} {
		path := filepath.Join(dir, test.name)
		bomb(t, path, test.head, test.fill, test.size)
		cmd, stderr := cohort(t, "--db", filepath.Join(dir, "cohort.db"), "import", "--ids", "string", path)
		status := exitStatus(t, cmd.Run())
		if status != test.status || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: status %d, %s", test.name, status, stderr)
		}
		peak := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		t.Logf("%s: %d MB", test.name, peak>>20)
		if peak > limit && !raceEnabled {
			t.Errorf("%s: took %d MB of memory", test.name, peak>>20)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// openTerminal returns the two ends of a terminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	return master, slave
}

// On a terminal an import shows rows, their rate, and the time that is left; with
// --quiet, or elsewhere, nothing.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	rows := rowsFile(t, filepath.Join(dir, "rows.csv.gz"), 0, 30_000)
	path, err := exec.LookPath("cohort")
	if err != nil {
		t.Fatal(err)
	}
	for _, quiet := range []bool{false, true} {
		master, slave := openTerminal(t)
		args := slices.Concat([]string{"--db", filepath.Join(dir, fmt.Sprint(quiet)), "import"}, numberRows, []string{rows})
		if quiet {
			args = append(args, "--quiet")
		}
		cmd := exec.CommandContext(t.Context(), path, args...)
		cmd.Stderr = slave
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if err := slave.Close(); err != nil {
			t.Fatal(err)
		}
		var shown bytes.Buffer
		_, _ = io.Copy(&shown, master) // ends with an error once the other end is closed
		t.Logf("%q", shown.String())
		if got := strings.Contains(shown.String(), " rows, "); got == quiet {
			t.Errorf("quiet %v: showed %q", quiet, shown.String())
		}
	}
}
