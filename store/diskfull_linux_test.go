package store_test

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"cohort/store"
)

// fullStore fills a store's disk while it marks, and gives the space back.
// full says so; limit ends and lifts the space.
func fullStore(path string, limit func(on bool) error) error {
	opts := options(decimals())
	opts.FoldMarks = 1 << 20
	db, err := store.Open(path, opts)
	if err != nil {
		return err
	}
	var want uint64
	rows := func(from int) []store.Mark {
		rows := make([]store.Mark, 2000)
		for i := range rows {
			rows[i] = store.Mark{Event: "active", ID: strconv.Itoa((from + i) * 7), Day: today - store.Day(i%3)}
		}
		return rows
	}
	for from := range 5 {
		tally, err := db.MarkMany(ctx, slices.Values(rows(from*2000)))
		if want += tally.New; err != nil {
			return err
		}
	}
	if err := limit(true); err != nil {
		return err
	}
	// Marks until one is refused. What was acknowledged stays, and is all there.
	var full error
	for from := 5; full == nil && from < 1000; from++ {
		var tally store.Tally
		tally, full = db.MarkMany(ctx, slices.Values(rows(from*2000)))
		want += tally.New
	}
	if full == nil {
		return errors.New("the disk is not full after 2 million marks")
	}
	if !saysFull(full) || !strings.Contains(full.Error(), "what was committed before is intact") {
		return fmt.Errorf("not a clear error: %w", full)
	}
	if err := countMarks(db, want); err != nil {
		return fmt.Errorf("while it is full: %w", err)
	}
	for _, refused := range []error{db.Fold(ctx), second(loadRows(db, rows(1_000_000), 4000)), second(db.Mark(ctx, "new", "1", today))} {
		if refused != nil && !saysFull(refused) {
			return fmt.Errorf("not a clear error: %w", refused)
		}
	}
	if err := limit(false); err != nil {
		return err
	}
	// It goes on, without being opened again.
	tally, err := db.MarkMany(ctx, slices.Values(rows(5_000_000)))
	if want += tally.New; err != nil || tally.New != 2000 {
		return fmt.Errorf("after space was freed: %+v, %w", tally, err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	if db, err = store.Open(path, opts); err != nil {
		return err
	}
	if err := errors.Join(countAtLeast(db, want), db.Close()); err != nil {
		return fmt.Errorf("opened again: %w", err)
	}
	return closeFull(path, limit)
}

// saysFull reports whether the error tells what the matter is.
func saysFull(err error) bool {
	return strings.Contains(err.Error(), syscall.ENOSPC.Error()) || strings.Contains(err.Error(), syscall.EFBIG.Error())
}

func second[T any](_ T, err error) error { return err }

// closeFull closes a store on a full disk: an error, but nothing is lost.
func closeFull(path string, limit func(on bool) error) error {
	db, err := store.Open(path, options(decimals()))
	if err != nil {
		return err
	}
	var marks []store.Mark
	for i := range 3000 {
		marks = append(marks, store.Mark{Event: "at the end", ID: strconv.Itoa(i * 1_000_000), Day: today})
	}
	if _, err := db.MarkMany(ctx, slices.Values(marks)); err != nil {
		return err
	}
	if err := limit(true); err != nil {
		return err
	}
	closeErr := db.Close() // there may be just enough room
	if err := limit(false); err != nil {
		return err
	}
	if closeErr != nil && !saysFull(closeErr) {
		return fmt.Errorf("not a clear error: %w", closeErr)
	}
	if db, err = store.Open(path, options(decimals())); err != nil {
		return err
	}
	s, err := db.Snapshot()
	if err != nil {
		return err
	}
	e, _, err := s.Event("at the end")
	if err == nil && e.Marks != 3000 {
		err = fmt.Errorf("closed on a full disk, it has %d marks, want 3000", e.Marks)
	}
	return errors.Join(err, s.Close(), db.Close())
}

// countMarks sees that there are exactly so many marks of the event, and that
// the bitmaps agree.
func countMarks(db *store.DB, want uint64) error {
	if err := countAtLeast(db, want); err != nil {
		return err
	}
	s, err := db.Snapshot()
	if err != nil {
		return err
	}
	e, _, err := s.Event("active")
	if err == nil && e.Marks != want {
		err = fmt.Errorf("%d marks, want %d", e.Marks, want)
	}
	return errors.Join(err, s.Close())
}

func countAtLeast(db *store.DB, want uint64) error {
	s, err := db.Snapshot()
	if err != nil {
		return err
	}
	e, _, err := s.Event("active")
	if err != nil {
		return err
	}
	var bits uint64
	for d := range e.Period().Days() {
		x, err := s.Marked(e, store.Period{First: d, Last: d})
		if err != nil {
			return err
		}
		for c := range uint32(1) << (32 - s.ChunkBits()) {
			n, err := x.Count(c)
			if err != nil {
				return err
			}
			bits += n
		}
	}
	if e.Marks < want || bits != e.Marks {
		err = fmt.Errorf("%d marks and %d bits, want %d", e.Marks, bits, want)
	}
	return errors.Join(err, s.Close())
}

// TestDiskFull fills a small file system.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	ballast := filepath.Join(dir, "ballast")
	err := fullStore(filepath.Join(dir, "db"), func(on bool) error {
		if !on {
			return os.Remove(ballast)
		}
		f, err := os.Create(ballast)
		if err != nil {
			return err
		}
		block := make([]byte, 4096)
		for err == nil {
			_, err = f.Write(block)
		}
		if errors.Is(err, syscall.ENOSPC) {
			err = nil
		}
		return errors.Join(err, f.Close())
	})
	if err != nil {
		t.Error(err)
	}
}

// TestFileLimit does the same with a limit on the size of files, in a process of
// its own.
func TestFileLimit(t *testing.T) {
	t.Parallel()
	c := startChild(t, "full", filepath.Join(t.TempDir(), "db"), "")
	for c.lines.Scan() {
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, c.stderr.String())
	}
}

func childFull(path, _ string) error {
	signal.Ignore(syscall.SIGXFSZ) // then writes fail with EFBIG
	return fullStore(path, func(on bool) error {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		limit.Cur = limit.Max
		if on {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			limit.Cur = uint64(info.Size()) + 64<<10
		}
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	})
}
