package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"
)

// A disk knows of the log's files, and of the store's own where it is settled, what
// would be there after a power cut: what was synced, and of what was written since any
// sectors, in any order. Where a sync fails, the system takes what was written for
// synced, and the disk does not have it, as Linux and its disks do.
type disk struct {
	mu     sync.Mutex
	rng    *rand.Rand
	files  map[string]*diskFile
	onSync func(name string) error // before a sync; its error is that of the sync
}

type diskFile struct {
	disk    *disk
	synced  []byte
	written map[int]bool // sectors
}

const sector = 512

// diskHandle is an open file of a disk.
type diskHandle struct {
	*os.File
	on *diskFile
}

func (d *disk) open(name string, flag int, perm fs.FileMode) (store.LogFile, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	on := d.files[name]
	if on == nil || flag&os.O_TRUNC != 0 {
		synced, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		on = &diskFile{d, synced, make(map[int]bool)}
		d.files[name] = on
	}
	return diskHandle{f, on}, nil
}

func (h diskHandle) WriteAt(p []byte, off int64) (int, error) {
	n, err := h.File.WriteAt(p, off)
	h.on.disk.mu.Lock()
	defer h.on.disk.mu.Unlock()
	for s := int(off) / sector; s*sector < int(off)+n; s++ {
		h.on.written[s] = true
	}
	return n, err
}

func (h diskHandle) Datasync() error {
	if on := h.on.disk.onSync; on != nil {
		if err := on(h.Name()); err != nil {
			h.on.disk.mu.Lock()
			defer h.on.disk.mu.Unlock()
			clear(h.on.written)
			return err
		}
	}
	b, err := os.ReadFile(h.Name())
	if err != nil {
		return err
	}
	h.on.disk.mu.Lock()
	defer h.on.disk.mu.Unlock()
	h.on.take(b, len(b), func(int) bool { return true })
	clear(h.on.written)
	return nil
}

// take brings some of the written sectors of the file, that has the bytes b, to disk.
func (f *diskFile) take(b []byte, size int, some func(sector int) bool) {
	f.synced = append(f.synced, make([]byte, max(0, size-len(f.synced)))...)[:size]
	for _, s := range slices.Sorted(maps.Keys(f.written)) {
		if from, to := s*sector, min((s+1)*sector, size); from < to && some(s) {
			copy(f.synced[from:to], b[from:to])
		}
	}
}

// cut returns what is left of a file after a power cut.
func (f *diskFile) cut(b []byte, rng *rand.Rand) []byte {
	left := &diskFile{synced: slices.Clone(f.synced), written: f.written}
	size := len(b)
	if grown := len(b) - len(f.synced); grown > 0 && rng.IntN(2) == 0 {
		size = len(f.synced) + rng.IntN(grown)
	}
	share := rng.IntN(5)
	left.take(b, size, func(int) bool { return rng.IntN(4) < share })
	return left.synced
}

// cutPower makes the files that a power cut here would leave. No transaction of the
// store's file is under way.
func (d *disk) cutPower(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	errs := []error{os.WriteFile(to, b, 0o600)}
	for half := range 2 {
		name := store.LogPath(to, half)
		b, err := os.ReadFile(store.LogPath(from, half))
		if errors.Is(err, fs.ErrNotExist) {
			if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
			continue
		}
		if f := d.files[store.LogPath(from, half)]; f != nil {
			b = f.cut(b, d.rng)
		}
		errs = append(errs, err, os.WriteFile(name, b, 0o600))
		delete(d.files, name)
	}
	return errors.Join(errs...)
}

// TestPowerCut cuts the power, and fails syncs, at every kind of moment of marking into
// the log. What was acknowledged, or served by a store that was opened since, is there;
// the commit under way is there whole or not at all; and the store opens.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir, err := filepath.EvalSymlinks(workDir(t))
	must(t, err)
	d := &disk{rng: rng, files: make(map[string]*diskFile)}
	opts := options(placement.String)
	opts.SetLogAfter(0)
	opts.SetOpenLog(d.open)
	path := filepath.Join(dir, "0")
	db := mustOpen(t, path, opts)
	defer func() { mustClose(t, db) }()
	ids := 0
	mark := func(n int) error {
		marks := make([]store.Mark, n)
		for i := range marks {
			marks[i] = store.Mark{Event: "active", ID: fmt.Sprintf("%064d", ids), Day: today}
			ids++
		}
		_, err := db.MarkMany(ctx, slices.Values(marks))
		return err
	}
	must(t, mark(1))
	cuts, failures, files := 0, 0, 0
	for step := range long(50, 2000) {
		before, cut, failed := "", "", false
		act := rng.IntN(6)
		if act < 2 {
			before = digestOf(t, db)
		}
		d.onSync = func(name string) error {
			switch {
			case act == 0 && cut == "":
				files++
				cut = filepath.Join(dir, fmt.Sprint(files))
				return d.cutPower(path, cut)
			case act == 1 && !failed && strings.Contains(name, "journal"):
				failed = true
				return errors.New("the disk is gone")
			}
			return nil
		}
		n := []int{1, 1, 1, 3, 20, 1, 2, 1000}[rng.IntN(8)]
		err := mark(n)
		d.onSync = nil
		if err != nil && (!failed || !strings.Contains(err.Error(), "the disk is gone")) {
			t.Fatalf("step %d: %v", step, err)
		}
		if err != nil && strings.Contains(err.Error(), "open it again") {
			failures++
			mustClose(t, db)
			db = mustOpen(t, path, opts)
		}
		var want []string
		if cut != "" {
			want = []string{before}
		} else if failed || rng.IntN(8) == 0 { // nothing is under way
			files++
			cut = filepath.Join(dir, fmt.Sprint(files))
			must(t, d.cutPower(path, cut))
		}
		if cut != "" {
			cuts++
			want = append(want, digestOf(t, db))
			left := mustOpen(t, cut, opts)
			if got := digestOf(t, left); !slices.Contains(want, got) {
				t.Fatalf("step %d, %d marks: digest %s, want %v, before %s", step, n, got, want, before)
			}
			if rng.IntN(2) == 0 { // go on with it
				mustClose(t, db)
				db, path = left, cut
			} else {
				mustClose(t, left)
			}
		}
		if rng.IntN(10) == 0 {
			must(t, db.Fold(ctx))
		}
	}
	t.Logf("%d cuts, %d failed syncs, %d ids", cuts, failures, ids)
}
