package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		path string
		args []string
		want string
	}{
		{"", []string{"active", "played", "--from", "2026-01-05"}, "cohort active played --from 2026-01-05"},
		{"", []string{"count", "paid[7d] - played[all]"}, "cohort count 'paid[7d] - played[all]'"},
		{"my demo.db", []string{"count", "it's[all]", ""}, `cohort --db 'my demo.db' count 'it'\''s[all]' ''`},
	} {
		d := &demo{path: test.path}
		if test.path == "" {
			d.temp = "somewhere"
		}
		if got := d.commandLine(test.args); got != test.want {
			t.Errorf("%q: got %s, want %s", test.args, got, test.want)
		}
		if test.path != "" {
			continue
		}
		out, err := exec.Command("sh", "-c", strings.Replace(test.want, "cohort", "printf '%s\\n'", 1)).Output()
		if got, want := string(out), strings.Join(test.args, "\n")+"\n"; err != nil || got != want {
			t.Errorf("%s: a shell reads %q, %v", test.want, got, err)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A demo that is interrupted says so and leaves nothing behind, neither of a
// temporary store nor of one to keep.
func TestInterruptDemo(t *testing.T) {
	for _, args := range [][]string{{"demo"}, {"demo", "--keep", "kept.db"}} {
		dir := t.TempDir()
		cmd, stderr := cohort(t, append(args, "--ids", "500000")...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool {
			stores, err := filepath.Glob(filepath.Join(dir, "*", "demo.db"))
			kept, errKept := filepath.Glob(filepath.Join(dir, "kept.db"))
			return err == nil && errKept == nil && len(stores)+len(kept) > 0
		})
		time.Sleep(100 * time.Millisecond) // until it imports
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if got := exitStatus(t, cmd.Wait()); got != statusInterrupted {
			t.Errorf("%q: exit status %d, %s", args, got, stderr)
		}
		if got, want := stderr.String(), "cohort: demo: interrupted: its store is removed\n"; got != want {
			t.Errorf("%q: stderr %q, want %q", args, got, want)
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("%q: left %v, %v", args, left, err)
		}
	}
}

// waitFor waits until something is so, a minute at most.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited a minute")
		}
	}
}
