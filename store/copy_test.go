package store_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"testing"

	"cohort/placement"
	"cohort/store"
)

// copyOf writes a copy of a store to a file.
func copyOf(t *testing.T, db *store.DB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := db.WriteTo(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != n {
		t.Errorf("wrote %d bytes, the file has %d, %v", n, info.Size(), err)
	}
	return path
}

// digestAt opens a store for reading and returns its digest.
func digestAt(t *testing.T, path string) string {
	t.Helper()
	db, err := store.Open(path, &store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.Digest()
	if err := errors.Join(err, s.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	return d
}

// A copy is the store as of the snapshot, folded or not, and a store of its own.
func TestWriteTo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cohort.db")
	db, err := store.Open(path, options(placement.String))
	if err != nil {
		t.Fatal(err)
	}
	mark := func(db *store.DB, id string) {
		t.Helper()
		if _, err := db.Mark(ctx, "active", id, today); err != nil {
			t.Fatal(err)
		}
	}
	mark(db, "folded")
	if err := db.Fold(ctx); err != nil {
		t.Fatal(err)
	}
	mark(db, "unfolded")
	want := digestOf(t, db)
	copied := copyOf(t, db)
	mark(db, "later")
	if got := digestAt(t, copied); got != want {
		t.Errorf("digest of the copy %s, want %s", got, want)
	}

	// Marks in the copy stay there, and the other way round.
	other, err := store.Open(copied, options(placement.String))
	if err != nil {
		t.Fatal(err)
	}
	mark(other, "later")
	if err := errors.Join(other.Close(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if got, want := digestAt(t, copied), digestAt(t, path); got != want {
		t.Errorf("digest of the copy %s, want %s", got, want)
	}

	// From a store that is open for reading only, and cleanly closed.
	db, err = store.Open(path, &store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := digestAt(t, copyOf(t, db)), digestAt(t, path); got != want {
		t.Errorf("digest of the second copy %s, want %s", got, want)
	}
	if n, err := db.WriteTo(&short{room: 10_000}); !errors.Is(err, io.ErrShortWrite) || n > 10_000 {
		t.Errorf("%d bytes, %v", n, err)
	}
	mustClose(t, db)
	if _, err := db.WriteTo(io.Discard); !errors.Is(err, store.ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}

// short is a writer with room for a few bytes.
type short struct{ room int }

func (s *short) Write(p []byte) (int, error) {
	n := min(len(p), s.room)
	s.room -= n
	if n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

// A copy of a store that is in use.
func ExampleDB_WriteTo() {
	db, remove := temporary()
	defer remove()
	if _, err := db.Mark(ctx, "active", "PLR0KHTOWnGLuC", day); err != nil {
		log.Fatal(err)
	}
	path := db.Config().Path + ".copy"
	f, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	_, err = db.WriteTo(f)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		log.Fatal(err)
	}

	copied, err := store.Open(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer copied.Close()
	fmt.Println(copied.Mark(ctx, "active", "PLR0KHTOWnGLuC", day))
	// Output: already <nil>
}

// Close waits for a copy under way, and a copy does not wait for Close.
func TestWriteToWhileClosing(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), options(placement.Branded))
	if _, err := db.MarkMany(ctx, someMarks("active", 20_000, 0)); err != nil {
		t.Fatal(err)
	}
	copied := make(chan error)
	go func() {
		for {
			if _, err := db.WriteTo(io.Discard); err != nil {
				copied <- err
				return
			}
		}
	}()
	if _, err := db.MarkMany(ctx, someMarks("active", 20_000, 50_000)); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	if err := <-copied; !errors.Is(err, store.ErrClosed) {
		t.Errorf("%v, want %v", err, store.ErrClosed)
	}
}
