package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// inProcess runs the command in this process and returns what it writes.
func inProcess(t *testing.T, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	now := func() time.Time { return time.Date(2026, time.February, 1, 12, 0, 0, 0, time.UTC) }
	if status := run(args, streams{strings.NewReader(""), &out, &stderr}, now); status != statusDone || stderr.Len() > 0 {
		t.Fatalf("%q: exit status %d, %s", args, status, &stderr)
	}
	return out.String()
}

// Whatever set of numbers a store has, what is exported and imported elsewhere is
// the same: by digest, and by what the library reads from the file.
func TestRoaringRoundTrip(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		ids := randomNumbers(r)
		dir := t.TempDir()
		from, to, file := filepath.Join(dir, "from.db"), filepath.Join(dir, "to.db"), filepath.Join(dir, "set.roaring")
		markNumbers(t, from, ids)
		inProcess(t, "--db", from, "export", "played[all]", "--out", file)
		set := roaring.New()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := set.ReadFrom(bytes.NewReader(data)); err != nil || n != int64(len(data)) || !slices.Equal(set.ToArray(), ids) {
			t.Errorf("seed %d: the library reads %d of %d bytes, %d numbers of %d, %v", seed, n, len(data), set.GetCardinality(), len(ids), err)
		}
		inProcess(t, "--db", to, "import", "--ids", "number", "--format", "roaring", "--event-name", "played", "--on", "2026-01-05", file)
		if got, want := inProcess(t, "--db", to, "digest"), inProcess(t, "--db", from, "digest"); got != want {
			t.Errorf("seed %d: digest %s, want %s", seed, got, want)
		}
	}
}

// randomNumbers returns some numbers, ascending: runs, every other one, and far
// apart ones.
func randomNumbers(r *rand.Rand) []uint32 {
	set := roaring.BitmapOf(r.Uint32())
	for range r.IntN(5) {
		first, step := uint64(r.Uint32()), 1+r.Uint64N(3)
		end := min(first+r.Uint64N(200_000), 1<<32)
		for v := first; v < end; v += step {
			set.Add(uint32(v))
		}
	}
	for range r.IntN(1000) {
		set.Add(r.Uint32())
	}
	return set.ToArray()
}

// markNumbers makes a store of numbers, all marked on one day.
func markNumbers(t *testing.T, path string, ids []uint32) {
	t.Helper()
	db, err := store.Open(path, &store.Options{IDs: placement.Number})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.MarkMany(t.Context(), func(yield func(store.Mark) bool) {
		for _, id := range ids {
			if !yield(store.Mark{Event: "played", ID: strconv.FormatUint(uint64(id), 10), Day: store.Date(2026, time.January, 5)}) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A few bytes can be four billion numbers. Their import can be interrupted, and
// says how far it came.
func TestInterruptSet(t *testing.T) {
	dir := t.TempDir()
	all := roaring.New()
	all.AddRange(0, 1<<32)
	data, err := all.ToBytes()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "all.roaring")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, stderr := cohort(t, "--db", filepath.Join(dir, "cohort.db"), "import", "--ids", "number",
		"--format", "roaring", "--event-name", "played", "--on", "2026-01-05", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { // until it has committed something
		info, err := os.Stat(filepath.Join(dir, "cohort.db"))
		return err == nil && info.Size() > 1<<20
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := exitStatus(t, cmd.Wait()); got != statusInterrupted {
		t.Errorf("exit status %d", got)
	}
	want := regexp.MustCompile(`^cohort: import: interrupted: \d+ marks are on disk .*; run it again from the start: .*\n$`)
	if !want.MatchString(stderr.String()) {
		t.Errorf("stderr: %s", stderr)
	}
}
