package store_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"
)

// startingLog returns a store, with three marks, whose log is being started: it goes on
// with that when release is called.
func startingLog(t *testing.T, path string) (db *store.DB, release func()) {
	t.Helper()
	started, held := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := &disk{files: make(map[string]*diskFile), onSync: func(name string) error {
		if strings.HasSuffix(name, ".journal1") {
			once.Do(func() { close(started) })
			<-held
		}
		return nil
	}}
	opts := options(placement.Branded)
	opts.SetLogAfter(3)
	opts.SetOpenLog(d.open)
	db = mustOpen(t, path, opts)
	for m := range someMarks("active", 3, 0) {
		if _, err := db.Mark(ctx, m.Event, m.ID, m.Day); err != nil {
			t.Fatal(err)
		}
	}
	<-started
	return db, sync.OnceFunc(func() { close(held) })
}

// noLog sees that a file stands alone and has what the digest tells.
func noLog(t *testing.T, path, want string) {
	t.Helper()
	for half := range 2 {
		if _, err := os.Stat(store.LogPath(path, half)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", store.LogPath(path, half), err)
		}
	}
	db := mustOpen(t, path, nil)
	defer mustClose(t, db)
	if got := digestOf(t, db); got != want {
		t.Errorf("%s: digest %s, want %s", path, got, want)
	}
}

// Close waits for a log that is being started, and ends it.
func TestCloseAtLogStart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db, release := startingLog(t, path)
	want := digestOf(t, db)
	closed := make(chan error)
	go func() { closed <- db.Close() }()
	select {
	case err := <-closed:
		t.Fatalf("closed while the log was being started: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	must(t, <-closed)
	noLog(t, path, want)
}

// A copy names no log, whatever is being started meanwhile.
func TestCopyAtLogStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, release := startingLog(t, filepath.Join(dir, "db"))
	want := digestOf(t, db)
	var copied bytes.Buffer
	done := make(chan error)
	go func() {
		_, err := db.WriteTo(&copied)
		done <- err
	}()
	time.Sleep(20 * time.Millisecond) // it may be done, or wait
	release()
	must(t, <-done)
	must(t, os.WriteFile(filepath.Join(dir, "copy"), copied.Bytes(), 0o600))
	noLog(t, filepath.Join(dir, "copy"), want)
	mustClose(t, db)
	noLog(t, filepath.Join(dir, "db"), want)
}

// Where the commit that names a log fails, the store goes on without; where it cannot
// be known whether it did, the store stops, and opens with or without the log.
func TestFailedLogStart(t *testing.T) {
	t.Parallel()
	for _, committed := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "db")
		opts := options(placement.Branded)
		opts.SetLogAfter(3)
		db := mustOpen(t, path, opts)
		commits, failed := 0, make(chan struct{})
		db.SetCommit(func(commit func() error) error {
			if commits++; commits != 4 {
				return commit()
			}
			defer close(failed)
			gone := errors.New("the disk is gone")
			if !committed {
				return gone
			}
			return errors.Join(gone, commit())
		})
		for m := range someMarks("active", 3, 0) {
			if _, err := db.Mark(ctx, m.Event, m.ID, m.Day); err != nil {
				t.Fatal(err)
			}
		}
		<-failed
		_, err := db.Mark(ctx, "active", branded("USR", 3), today)
		if committed != (err != nil && strings.Contains(err.Error(), "open it again")) || !committed && err != nil {
			t.Fatalf("committed: %v; the next mark: %v", committed, err)
		}
		if _, err := os.Stat(store.LogPath(path, 0)); committed != (err == nil) {
			t.Errorf("committed: %v; the log: %v", committed, err)
		}
		mustClose(t, db)
		marks := 4
		if committed {
			marks = 3
		}
		db = mustOpen(t, filepath.Join(t.TempDir(), "whole"), options(placement.Branded))
		if _, err := db.MarkMany(ctx, someMarks("active", marks, 0)); err != nil {
			t.Fatal(err)
		}
		want := digestOf(t, db)
		mustClose(t, db)
		db = mustOpen(t, path, opts)
		if got := digestOf(t, db); got != want {
			t.Errorf("committed: %v: digest %s, want %s", committed, got, want)
		}
		mustClose(t, db)
		noLog(t, path, want)
	}
}

// A store that was not closed has the head that it goes on from on disk again before
// it is used: after a sync that failed only the system may have it.
func TestSettledHead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	opts := options(placement.Branded)
	db := mustOpen(t, path, opts)
	commits := 0
	db.SetCommit(func(commit func() error) error {
		if commits++; commits == 3 {
			return errors.Join(errors.New("the disk is gone"), commit())
		}
		return commit()
	})
	var err error
	for m := range someMarks("active", 3, 0) {
		if _, err = db.Mark(ctx, m.Event, m.ID, m.Day); err != nil {
			break
		}
	}
	if err == nil || !strings.Contains(err.Error(), "open it again") {
		t.Fatal(err)
	}
	mustClose(t, db)
	settled := 0
	d := &disk{files: make(map[string]*diskFile)}
	d.onSync = func(name string) error {
		if name == path {
			settled++
			const page = 4096
			head := 0 // of two, the newer one
			if b := mustRead(t, path); bytes.Compare(b[page+64:page+65], b[64:65]) > 0 {
				head = page
			}
			if w := d.files[name].written; !w[head/sector] || len(w) != 1 {
				t.Errorf("written were the sectors %v, the head is at %d", w, head)
			}
		}
		return nil
	}
	opts.SetOpenLog(d.open)
	db = mustOpen(t, path, opts)
	mustClose(t, db)
	mustClose(t, mustOpen(t, path, opts)) // closed, so nothing is to be settled
	if settled != 1 {
		t.Errorf("the head was synced %d times", settled)
	}
}

// Marks of an event or page that the log's time brought do not need the file.
func TestLookerKnowsNewNames(t *testing.T) {
	opts := options(placement.Branded)
	opts.SetLogAfter(-1)
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), opts)
	defer mustClose(t, db)
	for _, event := range []string{"first", "second"} {
		if _, err := db.Mark(ctx, event, branded("USR", 1), today); err != nil {
			t.Fatal(err)
		}
		if ok, err := db.LookerKnows(event); !ok || err != nil {
			t.Errorf("%s: known %v, %v", event, ok, err)
		}
	}
}

// A fold leaves the half of the log that it emptied as zeros, and a turn to it, and a
// crash behind that, lose nothing.
func TestLogWiped(t *testing.T) {
	opts := options(placement.Branded)
	opts.SetLogAfter(-1)
	path := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, path, opts)
	for round := range 4 {
		for m := range someMarks("active", 30, uint64(100*round)) {
			if _, err := db.Mark(ctx, m.Event, m.ID, m.Day); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Fold(ctx); err != nil {
			t.Fatal(err)
		}
		for half := range 2 {
			b := mustRead(t, store.LogPath(path, half))
			if rest := b[40:]; len(b) != 1<<20 || bytes.Count(rest, []byte{0}) != len(rest) {
				t.Fatalf("round %d, half %d: %d bytes, of which %d are zeros", round, half, len(b), bytes.Count(b, []byte{0}))
			}
		}
	}
	if _, err := db.Mark(ctx, "active", branded("USR", 1000), today); err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, db)
	crashed := filepath.Join(t.TempDir(), "db")
	if err := errors.Join(db.CopyFile(crashed), os.WriteFile(store.LogPath(crashed, 0), mustRead(t, store.LogPath(path, 0)), 0o600),
		os.WriteFile(store.LogPath(crashed, 1), mustRead(t, store.LogPath(path, 1)), 0o600)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	again := mustOpen(t, crashed, nil)
	defer mustClose(t, again)
	if got := digestOf(t, again); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
}
