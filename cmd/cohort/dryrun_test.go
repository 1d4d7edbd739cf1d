package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"
)

// A dry run on a store that was not closed sees the marks that are only in the log
// beside it, and leaves all of its files as they are.
func TestDryRunUnclosed(t *testing.T) {
	dir := t.TempDir()
	db, err := store.Open(filepath.Join(dir, "open.db"), &store.Options{IDs: placement.String})
	if err != nil {
		t.Fatal(err)
	}
	day := store.Date(2026, time.January, 30)
	log := filepath.Join(dir, "open.db.journal0")
	for commits := 0; ; commits += 2 { // a store starts its log after some commits
		if _, err := os.Stat(log); err == nil {
			break
		}
		_, markErr := db.Mark(t.Context(), "played", "a", day)
		_, unmarkErr := db.Unmark(t.Context(), "played", "a", day)
		if markErr != nil || unmarkErr != nil || commits > 10_000 {
			t.Fatal("no log was started: ", markErr, unmarkErr)
		}
	}
	if _, err := db.Mark(t.Context(), "played", "a", day); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, suffix := range []string{"", ".journal0", ".journal1"} {
		data, err := os.ReadFile(filepath.Join(dir, "open.db"+suffix))
		if err != nil {
			t.Fatal(err)
		}
		files["killed.db"+suffix] = data
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files["rows.csv"] = []byte("id,event,time\na,played,2026-01-30\nb,played,2026-01-30\n")
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	var got importResult
	askJSON(t, &got, "--db", filepath.Join(dir, "killed.db"), "import", "--dry-run", filepath.Join(dir, "rows.csv"))
	if got.Already != 1 || got.New != 1 {
		t.Errorf("%d new, %d already, want 1 and 1", got.New, got.Already)
	}
	for name, want := range files {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != string(want) {
			t.Errorf("%s is not as it was: %v", name, err)
		}
	}
}
