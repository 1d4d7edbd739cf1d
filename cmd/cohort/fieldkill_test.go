package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An import that adds, is killed at any moment, and is run again with its batch,
// leaves what one leaves that was never killed.
func TestKillFieldImport(t *testing.T) {
	if testing.Short() {
		t.Skip("imports 300,000 rows several times")
	}
	// 262,144 rows are committed at a time: these make two commits.
	dir := t.TempDir()
	path := filepath.Join(dir, "points.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, "id,value")
	for i := range 300_000 {
		fmt.Fprintf(w, "%d,%d\n", i%70_000, i%11)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	args := func(db string) []string {
		return []string{"--db", db, "import", "--ids", "number", "--field", "points", "--add", "--batch", "first", path}
	}
	whole, killed := filepath.Join(dir, "whole.db"), filepath.Join(dir, "killed.db")
	start := time.Now()
	cmd, stderr := cohort(t, args(whole)...)
	if status := exitStatus(t, cmd.Run()); status != 0 {
		t.Fatal(status, stderr)
	}
	took := time.Since(start)
	kills := 3
	if raceEnabled {
		kills = 1
	}
	for range kills {
		cmd, _ := cohort(t, args(killed)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.Int64N(int64(took))))
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	for run := range 2 {
		cmd, stderr := cohort(t, args(killed)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err, stderr)
		}
		if run == 1 && !strings.Contains(string(out), "new      0") {
			t.Errorf("the second run of a batch that is done: %s", out)
		}
		if got, want := digestOf(t, killed), digestOf(t, whole); got != want {
			t.Errorf("run %d: digest %s, want %s", run, got, want)
		}
	}
}
