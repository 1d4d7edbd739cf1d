package store_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"
)

// TestTornCommit makes the files that a machine leaves that stops while a commit
// is being written: some of its pages, in any order, and its head not, or not
// whole. They must open as the commit before.
func TestTornCommit(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := workDir(t)
	opts := options(placement.Branded)
	opts.SetLogAfter(1 << 30) // the file is all there is of it
	db := mustOpen(t, filepath.Join(dir, "db"), opts)
	defer mustClose(t, db)
	before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
	for range long(25, 400) {
		want, commits := digestOf(t, db), db.Commits()
		if err := db.CopyFile(before); err != nil {
			t.Fatal(err)
		}
		change(t, db, rng)
		if err := db.CopyFile(after); err != nil {
			t.Fatal(err)
		}
		if n := db.Commits() - commits; n != 1 {
			continue // nothing to write, or a fold of several commits
		}
		a, b := mustRead(t, before), mustRead(t, after)
		for range 4 {
			torn := tear(rng, a, b)
			path := filepath.Join(dir, "torn")
			if err := os.WriteFile(path, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			torndb := mustOpen(t, path, nil)
			if got := digestOf(t, torndb); got != want {
				t.Errorf("digest %s, of the commit before %s", got, want)
			}
			mustClose(t, torndb)
		}
	}
}

// change makes one commit of some kind, mostly.
func change(t testing.TB, db *store.DB, rng *rand.Rand) {
	t.Helper()
	event := "event " + strconv.Itoa(rng.IntN(3))
	marks := slices.Collect(someMarks(event, 1+rng.IntN(50), rng.Uint64N(1000)))
	for i := range marks {
		marks[i].Day -= store.Day(rng.IntN(50))
	}
	var err error
	switch rng.IntN(6) {
	case 0:
		_, err = loadRows(db, marks, len(marks))
	case 1:
		_, err = db.Unmark(ctx, event, marks[0].ID, today)
	case 2:
		if err = db.DeleteDay(ctx, event, today-store.Day(rng.IntN(50))); errors.Is(err, store.ErrNoEvent) {
			err = nil
		}
	case 3:
		err = db.Fold(ctx)
	default:
		_, err = db.MarkMany(ctx, slices.Values(marks))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// tear writes some of the pages that b changed over a, without b's head, or with
// a head that came to disk in part.
func tear(rng *rand.Rand, a, b []byte) []byte {
	const page = 4096
	torn := slices.Clone(a)
	if len(b) > len(a) && rng.IntN(4) > 0 {
		torn = append(torn, make([]byte, len(b)-len(a))...)
	}
	share := rng.IntN(5)
	for at := 2 * page; at < min(len(b), len(torn)); at += page {
		if !bytes.Equal(torn[at:at+page], b[at:at+page]) && rng.IntN(4) < share {
			copy(torn[at:at+page], b[at:at+page])
		}
	}
	if rng.IntN(2) == 0 {
		for at := 0; at < 2*page; at += page {
			if !bytes.Equal(a[at:at+page], b[at:at+page]) {
				n := 16 + rng.IntN(57) // the checksum is behind it
				copy(torn[at:at+n], b[at:at+n])
			}
		}
	}
	return torn
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestReplayStrings: an id's string may stand in the journal behind another mark
// of the same id.
func TestReplayStrings(t *testing.T) {
	for _, dense := range []bool{false, true} {
		replayStrings(t, newModel(placement.String, dense, false))
	}
}

func replayStrings(t *testing.T, m *model) {
	dir := t.TempDir()
	db := mustOpen(t, filepath.Join(dir, "db"), m.options())
	defer mustClose(t, db)
	rows := []store.Mark{
		{Event: "a", ID: "first", Day: today},
		{Event: "a", ID: "second", Day: today - 1},
		{Event: "a", ID: "second", Day: today},
	}
	if _, err := db.MarkMany(ctx, slices.Values(rows)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "crashed")
	if err := db.CopyFile(path); err != nil {
		t.Fatal(err)
	}
	crashed := mustOpen(t, path, nil)
	defer mustClose(t, crashed)
	if got, want := digestOf(t, crashed), digestOf(t, db); got != want {
		t.Errorf("digest %s, before the crash %s", got, want)
	}
	s, err := crashed.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	m.tally(rows, true)
	m.compare(t, s, []string{"first", "second"})
}
