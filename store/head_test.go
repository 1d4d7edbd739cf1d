package store_test

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cohort/placement"
	"cohort/store"
)

// TestHeadLost damages the newest head of an open store's file, as whoever writes over
// it would: the older one tells of another commit than the store is at, and every call
// says so instead of waiting for that commit.
func TestHeadLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, path, options(placement.Number))
	if _, err := db.Mark(ctx, "active", "1", today); err != nil {
		t.Fatal(err)
	}
	head := newestHead(t, path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt(make([]byte, 64), head)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"snapshot": func() error { _, err := db.Snapshot(); return err },
		"mark":     func() error { _, err := db.Mark(ctx, "other", "2", today); return err },
		"verify":   func() error { _, err := db.Verify(ctx, store.VerifyOptions{}); return err },
		"delete":   func() error { return db.DeleteEvent(ctx, "active") },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v, want ErrCorrupt", name, err)
		}
	}
	_ = db.Close() // cannot fold
}

// newestHead returns where the newer of a file's two heads stands, behind the head of
// its page.
func newestHead(t *testing.T, path string) int64 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	second := int64(os.Getpagesize()) + 16
	if binary.LittleEndian.Uint64(b[16+48:]) > binary.LittleEndian.Uint64(b[second+48:]) {
		return 16
	}
	return second
}

// TestCommitInterrupted has a commit panic when it is in the file: what the store is
// at cannot be known, and every later call says so.
func TestCommitInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, path, options(placement.Number))
	if _, err := db.Mark(ctx, "active", "1", today); err != nil {
		t.Fatal(err)
	}
	db.SetCommit(func(commit func() error) error {
		if err := commit(); err != nil {
			return err
		}
		panic("out of luck")
	})
	if _, err := db.Mark(ctx, "other", "2", today); err == nil {
		t.Fatal("marked")
	}
	for name, call := range map[string]func() error{
		"snapshot": func() error { _, err := db.Snapshot(); return err },
		"mark":     func() error { _, err := db.Mark(ctx, "active", "3", today); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "open it again") {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustClose(t, db)
	db = mustOpen(t, path, options(placement.Number))
	defer mustClose(t, db)
	if has, err := db.Has("other", "2", today); err != nil || !has.Has {
		t.Errorf("what was in the file is %v, %v", has, err)
	}
}
