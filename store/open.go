package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cohort/placement"
	"cohort/store/internal/hll"

	bolt "go.etcd.io/bbolt"
)

// Open opens the store at path, or creates it (see Options.Create); nil options
// are the defaults. The options are copied. The file is created whole, or not
// at all, with mode 0600.
//
// After a store was not closed, Open first checks the file's structure, and
// brings the journal back into memory: about a microsecond an operation.
//
// Errors: ErrInUse, ErrNotExist, ErrExist, ErrMismatch, ErrNewerFormat,
// ErrCorrupt, or the system's.
func Open(path string, opts *Options) (*DB, error) {
	db, err := open(path, opts)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

func open(path string, opts *Options) (*DB, error) {
	if err := placement.CheckFrozen(); err != nil {
		return nil, err
	}
	o, err := withDefaults(opts)
	if err != nil {
		return nil, err
	}
	if err := ensureFile(path, &o); err != nil {
		return nil, err
	}
	db := &DB{
		opts: o, log: o.Logger, verified: newVerified(), passRead: passRead, commit: (*bolt.Tx).Commit,
		groups: []*gathered{newGroup(nil)}, wakeCommit: make(chan struct{}, 1), wakeFold: make(chan struct{}, 1),
	}
	if err := db.openFile(path); err != nil {
		return nil, err
	}
	if db.logPath, err = resolve(path); err != nil {
		return nil, errors.Join(err, boltError(db.bolt.Close()))
	}
	if err := db.load(path); err != nil {
		if db.journal != nil {
			err = errors.Join(err, db.journal.close())
		}
		return nil, errors.Join(err, boltError(db.bolt.Close()))
	}
	db.reached.Store(int32(db.Today()))
	ctx, stop := context.WithCancel(context.Background())
	db.stop = stop
	if !db.cfg.ReadOnly {
		db.background.Add(2)
		go db.commitLoop(ctx)
		go db.foldLoop(ctx)
		if o.RememberEvery > 0 {
			db.background.Add(1)
			go db.rememberLoop(ctx)
		}
	}
	return db, nil
}

// resolve returns the file's own path, whatever links lead to it and wherever the
// process goes.
func resolve(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// ensureFile sees that there is a file to open, creating it where it should
// be, and turns ReadOnly on where the file may not be written.
func ensureFile(path string, o *Options) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return errors.New("it is a link to a file that does not exist")
		}
		if o.ReadOnly || o.Create == CreateNever {
			return ErrNotExist
		}
		return create(path, *o)
	case err != nil:
		return err
	case o.Create == CreateOnly:
		return ErrExist
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	}
	// Root may write anything; the mode bits still say what is meant.
	if info.Mode().Perm()&0o222 == 0 || !writable(path) {
		o.ReadOnly = true
	}
	return nil
}

func writable(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrPermission) && !isReadOnlyFS(err)
	}
	return f.Close() == nil
}

// openFile checks the file and opens it in bbolt.
func (db *DB) openFile(path string) error {
	clean, whole, err := checkHead(path)
	if err != nil {
		return err
	}
	if !whole {
		// Either it was being written when the machine stopped, and its commit
		// was never acknowledged, or it was damaged since, and its commit is lost.
		db.log.Warn("one of the file's two heads is damaged: the last commit may be missing", "path", path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if db.mapped = db.opts.mapped; db.mapped == 0 {
		db.mapped = mapSize(info.Size())
	}
	timeout := max(db.opts.LockTimeout, 0) // bbolt: 0 waits without end
	if !clean && !db.opts.ReadOnly {
		// bbolt would look for free pages in a goroutine of its own, where a
		// damaged page ends the process. So walk the file first, reading only.
		b, err := db.openBolt(path, true, timeout)
		if err != nil {
			return err
		}
		err = checkPages(path, true)
		if err := errors.Join(err, boltError(b.Close())); err != nil {
			return err
		}
	}
	b, err := db.openBolt(path, db.opts.ReadOnly, timeout)
	if err != nil {
		return err
	}
	// Under the lock now: what was checked before it may have changed.
	err = checkPages(path, !clean && db.opts.ReadOnly)
	if err == nil && !db.opts.ReadOnly {
		err = settleHead(path, db.opts.openLog)
	}
	if err != nil {
		return errors.Join(err, boltError(b.Close()))
	}
	b.AllocSize = allocSize
	db.bolt = b
	return nil
}

// openBolt opens the file in bbolt, which panics on some damage.
func (db *DB) openBolt(path string, readOnly bool, timeout time.Duration) (b *bolt.DB, err error) {
	var file *os.File
	err = guard("file", func() (err error) {
		b, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout:         timeout,
			ReadOnly:        readOnly,
			FreelistType:    bolt.FreelistMapType,
			NoFreelistSync:  true,
			InitialMmapSize: db.mapped,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				f, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
				file = f
				return f, err
			},
		})
		return boltError(err)
	})
	if errors.Is(err, ErrCorrupt) && file != nil {
		abandon(file) // after a panic bbolt has left the file, and its lock, behind
	}
	return b, err
}

// load reads the settings, checks the options against them, and replays the
// journal.
func (db *DB) load(path string) error {
	return guard("load", func() error {
		tx, err := db.bolt.Begin(false)
		if err != nil {
			return boltError(err)
		}
		defer func() { _ = tx.Rollback() }() // a read transaction has nothing to lose
		if db.set, err = readSettings(tx); err != nil {
			return err
		}
		if err := db.loadPrecision(tx); err != nil {
			return err
		}
		zone, err := loadZone(db.set.zone)
		if err != nil {
			return corruptf("%v", err)
		}
		if err := db.set.match(db.opts); err != nil {
			return err
		}
		db.cfg = Config{
			Path: path, IDs: db.set.ids, Positions: db.set.positions, TimeZone: zone, WeekStart: db.set.weekStart,
			DropStrings: db.set.dropStrings, SketchPrecision: int(db.precision), FormatVersion: formatVersion, ReadOnly: db.opts.ReadOnly,
		}
		if err := checkBuckets(tx); err != nil {
			return err
		}
		d := emptyView().draft(tx.ID())
		d.chunks = d.txid
		w := &writer{reader: reader{set: db.set, verified: db.verified, tx: tx, view: &d.view, precision: db.precision}, draft: d}
		if err := w.countOrdinals(); err != nil {
			return err
		}
		if err := db.replay(w); err != nil {
			return err
		}
		if d.ops > 0 {
			d.oldest = time.Now()
			db.log.Info("journal replayed", "path", path, "operations", d.ops)
		}
		db.view.Store(d.finish())
		return nil
	})
}

// checkBuckets sees that the buckets of the file are all there and the format's.
func checkBuckets(tx *bolt.Tx) error {
	for _, name := range allBuckets {
		if tx.Bucket(name) == nil {
			return corruptf("bucket %q is missing", name)
		}
	}
	err := tx.Bucket(bucketMeta).ForEach(func(key, _ []byte) error {
		is := func(known []byte) bool { return bytes.Equal(key, known) }
		if !slices.ContainsFunc(metaKeys, is) {
			return corruptf("key %q of meta is none of the format's", key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
		is := func(known []byte) bool { return bytes.Equal(name, known) }
		if !slices.ContainsFunc(allBuckets, is) && !slices.ContainsFunc(laterBuckets, is) {
			return corruptf("bucket %q is none of the format's", name)
		}
		return nil
	})
}

// replay brings the journal into the writer's draft, and opens the log that holds
// some of it.
func (db *DB) replay(w *writer) error {
	state, noted, err := w.journalState()
	if err != nil {
		return err
	}
	var logged []logEntry
	if state.log != 0 {
		db.journal, logged, err = openLog(db.logPath, db.opts.openLog, state.log, state.floor, db.cfg.ReadOnly)
		if err != nil {
			return err
		}
		db.logging.Store(true)
	}
	entries, err := w.journalEntries(state, noted, logged)
	if err != nil {
		return err
	}
	return w.replay(entries)
}

// loadPrecision reads the precision of the store's sketches, or takes it from the
// options where there are none yet.
func (db *DB) loadPrecision(tx *bolt.Tx) error {
	stored, err := readPrecision(tx)
	want := uint8(db.opts.SketchPrecision)
	switch {
	case err != nil:
		return err
	case stored != 0 && want != 0 && want != stored:
		return fmt.Errorf("%w: sketches have precision %d, not %d", ErrMismatch, stored, want)
	}
	db.precision = cmp.Or(stored, want, hll.DefaultPrecision)
	return nil
}

func readSettings(tx *bolt.Tx) (settings, error) {
	meta := tx.Bucket(bucketMeta)
	if meta == nil {
		return settings{}, errors.New("a bbolt file, but not a cohort store")
	}
	version, err := unsealFormat(meta.Get(keyFormat))
	if err != nil {
		return settings{}, err
	}
	if version > formatVersion {
		return settings{}, fmt.Errorf("%w: format %d, this version reads up to %d", ErrNewerFormat, version, formatVersion)
	}
	return unsealSettings(meta.Get(keyStore))
}

// match checks what the options say of the store.
func (s settings) match(o Options) error {
	if o.IDs != 0 && o.IDs != s.ids {
		return fmt.Errorf("%w: ids are %s, not %s", ErrMismatch, s.ids, o.IDs)
	}
	if o.Positions != 0 && s.ids == placement.Number {
		return fmt.Errorf("%w: %w", ErrMismatch, errNumberPositions)
	}
	if o.Positions != 0 && o.Positions != s.positions {
		return fmt.Errorf("%w: positions are %s, not %s", ErrMismatch, s.positions, o.Positions)
	}
	if o.TimeZone != "" && o.TimeZone != s.zone {
		return fmt.Errorf("%w: time zone is %s, not %s", ErrMismatch, s.zone, o.TimeZone)
	}
	if o.WeekStart != 0 && o.WeekStart != s.weekStart {
		return fmt.Errorf("%w: weeks start on %s, not %s", ErrMismatch, s.weekStart, o.WeekStart)
	}
	if o.DropStrings && !s.dropStrings {
		return fmt.Errorf("%w: strings are kept", ErrMismatch)
	}
	return nil
}
