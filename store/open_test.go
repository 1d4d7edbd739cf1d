package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"

	bolt "go.etcd.io/bbolt"
)

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string) // what stands at the path
		opts store.Options
		want error
	}{
		{"missing, read only", nothing, store.Options{ReadOnly: true}, store.ErrNotExist},
		{"missing, not to be created", nothing, store.Options{Create: store.CreateNever}, store.ErrNotExist},
		{"missing directory", func(t *testing.T, path string) {
			if err := os.Remove(filepath.Dir(path)); err != nil {
				t.Fatal(err)
			}
		}, store.Options{}, fs.ErrNotExist},
		{"there, to be created", empty, store.Options{Create: store.CreateOnly}, store.ErrExist},
		{"other ids", empty, store.Options{IDs: placement.Number}, store.ErrMismatch},
		{"other zone", empty, store.Options{TimeZone: "Europe/Berlin"}, store.ErrMismatch},
		{"other week start", empty, store.Options{WeekStart: store.Sunday}, store.ErrMismatch},
		{"other strings", empty, store.Options{DropStrings: true}, store.ErrMismatch},
		{"newer format", newer, store.Options{}, store.ErrNewerFormat},
		{"newer format, read only", newer, store.Options{ReadOnly: true}, store.ErrNewerFormat},
		{"FoldMarks too small", nothing, store.Options{FoldMarks: -1}, errAny},
		{"FoldMarks too large", nothing, store.Options{FoldMarks: 1<<24 + 1}, errAny},
		{"strange kind", nothing, store.Options{IDs: 9}, errAny},
		{"strange mode", nothing, store.Options{Create: 9}, errAny},
		{"dropped strings of numbers", nothing, store.Options{IDs: placement.Number, DropStrings: true}, errAny},
		{"another bbolt file", another, store.Options{}, errAny},
		{"directory", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, store.Options{}, errAny},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "db")
			c.make(t, path)
			before, _ := os.ReadFile(path) // nothing where there is no file
			db, err := store.Open(path, &c.opts)
			if err == nil {
				mustClose(t, db)
			}
			if err == nil || c.want != errAny && !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			if !strings.HasPrefix(err.Error(), "open "+path+": ") {
				t.Errorf("the error does not name the file: %v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(after, before) {
				t.Error("the file was changed")
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// errAny stands for an error that callers cannot tell from others.
var errAny = errors.New("any error")

func nothing(*testing.T, string) {}

func empty(t *testing.T, path string) { mustClose(t, mustOpen(t, path, nil)) }

// change gives the file to fn as a bbolt database.
func alter(t *testing.T, path string, fn func(tx *bolt.Tx) error) {
	t.Helper()
	b, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Update(fn), b.Close()); err != nil {
		t.Fatal(err)
	}
}

func another(t *testing.T, path string) {
	alter(t, path, func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("widgets"))
		return err
	})
}

// newer makes a store of the next format.
func newer(t *testing.T, path string) {
	empty(t, path)
	alter(t, path, func(tx *bolt.Tx) error {
		meta, key := tx.Bucket([]byte("meta")), []byte("format")
		version := binary.LittleEndian.AppendUint32(nil, binary.LittleEndian.Uint32(meta.Get(key)[4:])+1)
		sum := crc32.Checksum(append(append([]byte{1}, key...), version...), crc32.MakeTable(crc32.Castagnoli))
		return meta.Put(key, append(binary.LittleEndian.AppendUint32(nil, sum), version...))
	})
}

func TestOpenMissingBucket(t *testing.T) {
	for _, name := range []string{"meta", "events", "days", "totals", "registry", "brands", "journal", "folded"} {
		path := filepath.Join(t.TempDir(), "db")
		empty(t, path)
		alter(t, path, func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(name)) })
		if db, err := store.Open(path, nil); err == nil {
			mustClose(t, db)
			t.Errorf("it opens without its bucket %q", name)
		} else if name != "meta" && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("without bucket %q: %v, want %v", name, err, store.ErrCorrupt)
		}
	}
}

func TestOpenConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	opts := &store.Options{IDs: placement.String, TimeZone: "America/New_York", WeekStart: store.Sunday, DropStrings: true, Create: store.CreateOnly}
	db := mustOpen(t, path, opts)
	created := db.Config()
	mustClose(t, db)
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	} else if info.Size() > 1<<20 {
		t.Errorf("the empty store has %d bytes", info.Size())
	}
	for _, opts := range []*store.Options{nil, {}, {IDs: placement.String, TimeZone: "America/New_York", WeekStart: store.Sunday, DropStrings: true}} {
		db := mustOpen(t, path, opts)
		if got := db.Config(); got != created && (got.TimeZone.String() != created.TimeZone.String() || got.IDs != created.IDs ||
			got.WeekStart != created.WeekStart || got.DropStrings != created.DropStrings || got.Path != created.Path || got.FormatVersion != created.FormatVersion) {
			t.Errorf("config %+v, want %+v", got, created)
		}
		mustClose(t, db)
	}
}

// TestOpenReadOnly: a file without write permission, and a file opened for
// reading, are never changed; several processes may read it at a time.
func TestOpenReadOnly(t *testing.T) {
	for _, closed := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "db")
		damaged(t, path, closed, closed)
		if err := os.Chmod(path, 0o400); err != nil {
			t.Fatal(err)
		}
		before := mustRead(t, path)
		first := mustOpen(t, path, options(0))
		second := mustOpen(t, path, &store.Options{ReadOnly: true})
		for _, db := range []*store.DB{first, second} {
			if !db.Config().ReadOnly {
				t.Error("a file without write permission is open for writing")
			}
			if _, err := db.Mark(ctx, "daily", branded("USR", 1<<40), today); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("mark: %v, want %v", err, store.ErrReadOnly)
			}
			if _, err := db.MarkMany(ctx, someMarks("daily", 1, 0)); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("mark many: %v, want %v", err, store.ErrReadOnly)
			}
			if err := db.DeleteEvent(ctx, "daily"); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("delete: %v, want %v", err, store.ErrReadOnly)
			}
		}
		if a, b := digestOf(t, first), digestOf(t, second); a != b {
			t.Errorf("digests %s and %s of one file", a, b)
		}
		mustClose(t, first)
		mustClose(t, second)
		if !bytes.Equal(mustRead(t, path), before) {
			t.Error("the file was changed")
		}
	}
}

func TestOpenInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	c := startChild(t, "hold", path, "still")
	defer func() {
		c.kill(t)
		_ = c.Wait() // it was killed
		mustClose(t, mustOpen(t, path, nil))
	}()
	c.await(t, "open")
	inUse(t, path)
}

// inUse opens a store that is open, in every way, and sees that it gives up in
// time.
func inUse(t *testing.T, path string) {
	t.Helper()
	for _, opts := range []store.Options{{}, {ReadOnly: true}, {LockTimeout: time.Millisecond}, {LockTimeout: 300 * time.Millisecond}, {Create: store.CreateNever}} {
		limit := opts.LockTimeout
		if limit == 0 {
			limit = time.Second
		}
		start := time.Now()
		db, err := store.Open(path, &opts)
		took := time.Since(start)
		if err == nil {
			mustClose(t, db)
		}
		if !errors.Is(err, store.ErrInUse) {
			t.Errorf("%+v: %v, want %v", opts, err, store.ErrInUse)
		}
		if took > limit+30*time.Second { // the machine may be busy
			t.Errorf("%+v: it took %s", opts, took)
		}
	}
}

// TestOpenTwice opens a store again in the process that has it open, and waits
// for it without end in another goroutine.
func TestOpenTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, path, nil)
	inUse(t, path)
	var waiter sync.WaitGroup
	waiter.Go(func() {
		db, err := store.Open(path, &store.Options{LockTimeout: -1})
		if err != nil {
			t.Error(err)
			return
		}
		if at, err := db.Has("active", branded("USR", 1), today); err != nil || !at.Has {
			t.Errorf("has: %+v, %v", at, err)
		}
		mustClose(t, db)
	})
	time.Sleep(20 * time.Millisecond)
	if _, err := db.Mark(ctx, "active", branded("USR", 1), today); err != nil {
		t.Error(err)
	}
	mustClose(t, db)
	waiter.Wait()
}

// TestOpenWhileItGrows opens a store again and again while another process
// writes it. It is in use, and never looks damaged.
func TestOpenWhileItGrows(t *testing.T) {
	path := filepath.Join(workDir(t), "db")
	c := startChild(t, "hold", path, "grow")
	defer func() {
		c.kill(t)
		_ = c.Wait() // it was killed
		mustClose(t, mustOpen(t, path, nil))
	}()
	c.await(t, "open")
	for range long(300, 10_000) {
		if _, err := store.Open(path, &store.Options{LockTimeout: time.Microsecond}); !errors.Is(err, store.ErrInUse) {
			t.Fatalf("%v, want %v", err, store.ErrInUse)
		}
	}
}

// TestCreateAtOnce creates one store from many goroutines: one makes it, all
// others wait for it or find it in use, and nothing is left behind.
func TestCreateAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			db, err := store.Open(path, &store.Options{LockTimeout: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := db.Mark(ctx, "active", branded("USR", uint64(i)), db.Today()); err != nil {
				t.Error(err)
			}
			mustClose(t, db)
		})
	}
	all.Wait()
	db := mustOpen(t, path, nil)
	defer mustClose(t, db)
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	if e, _, err := s.Event("active"); err != nil || e.Marks != 8 {
		t.Errorf("%d marks, %v, want 8", e.Marks, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestClosed: after Close everything is refused, and a snapshot taken before
// holds Close up.
func TestClosed(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), options(0))
	if _, err := db.Mark(ctx, "active", branded("USR", 1), today); err != nil {
		t.Fatal(err)
	}
	l, err := db.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Add("active", branded("USR", 2), today); err != nil {
		t.Fatal(err)
	}
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	handle, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	for {
		if _, err := db.Mark(ctx, "active", branded("USR", 3), today); err != nil {
			break
		}
	}
	if _, err := s.Digest(); err != nil {
		t.Errorf("a snapshot while its store is being closed: %v", err)
	}
	mustClose(t, s)
	if _, err := s.Digest(); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a closed snapshot: %v, want %v", err, store.ErrClosed)
	}
	if _, err := handle.Digest(); err != nil {
		t.Errorf("the other handle: %v", err)
	}
	select {
	case err := <-closed:
		t.Errorf("closed under a snapshot: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	mustClose(t, handle)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	_, markErr := db.Mark(ctx, "active", branded("USR", 1), today)
	_, unmarkErr := db.Unmark(ctx, "active", branded("USR", 1), today)
	_, manyErr := db.MarkMany(ctx, someMarks("active", 1, 0))
	_, loadErr := db.Load(ctx)
	_, hasErr := db.Has("active", branded("USR", 1), today)
	_, snapErr := db.Snapshot()
	_, addErr := l.Close()
	for i, err := range []error{
		markErr, unmarkErr, manyErr, loadErr, hasErr, snapErr, addErr, l.Add("other", branded("USR", 1), today),
		db.Fold(ctx), db.DeleteDay(ctx, "active", today), db.DeleteEvent(ctx, "active"), db.Close(), s.Close(), handle.Close(),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("call %d: %v, want %v", i, err, store.ErrClosed)
		}
	}
}

// TestLogger: what a crash or damage leaves is told to the logger when it is
// found.
func TestLogger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	damaged(t, path, false, false)
	var out bytes.Buffer
	opts := options(0)
	opts.Logger = slog.New(slog.NewTextHandler(&out, nil))
	mustClose(t, mustOpen(t, path, opts))
	if !strings.Contains(out.String(), "journal replayed") || strings.Contains(out.String(), "heads") {
		t.Errorf("the log says %q", out.String())
	}
	file := mustRead(t, path)
	file[4096+79] ^= 1
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, path, opts))
	if !strings.Contains(out.String(), "one of the file's two heads is damaged") {
		t.Errorf("the log says %q", out.String())
	}
}

// A link to nothing is not a place to create a store at.
func TestOpenDanglingLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "missing"), link); err != nil {
		t.Skip(err)
	}
	for _, mode := range []store.CreateMode{store.CreateMissing, store.CreateOnly, store.CreateNever} {
		db, err := store.Open(link, &store.Options{Create: mode})
		if err == nil {
			mustClose(t, db)
		}
		if err == nil || !strings.Contains(err.Error(), "link to a file that does not exist") {
			t.Errorf("mode %d: %v", mode, err)
		}
	}
}
