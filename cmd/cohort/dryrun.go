package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"cohort/store"
)

// openCopy opens a copy of the store, or a new store where there is none, in the
// folder for temporary files. End closes and removes it. The store is only read,
// and left alone as soon as it is copied.
//
// Where the system lets an open file lose its name, the copy has none: then it is
// gone even if the process is killed.
func (a *app) openCopy(ctx context.Context, c creation) (db *store.DB, end io.Closer, err error) {
	dir, err := os.MkdirTemp("", "cohort-dry-run-*")
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "store")
	err = a.copyStore(ctx, c, path)
	if errors.Is(err, store.ErrNotExist) {
		err = a.checkFolder()
	}
	if err == nil {
		copied := *a
		copied.db = path
		db, err = copied.openToWrite(ctx, c, store.CreateMissing)
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	_ = os.RemoveAll(dir) // tried again at the end
	return db, &storeCopy{db, dir}, nil
}

// storeCopy is a copy of the store in a folder of its own.
type storeCopy struct {
	db  *store.DB
	dir string
}

// Close closes and removes the copy.
func (c *storeCopy) Close() error { return errors.Join(c.db.Close(), os.RemoveAll(c.dir)) }

// checkFolder returns an error if the store could not be made where it does not
// exist.
func (a *app) checkFolder() error {
	folder := filepath.Dir(a.db)
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return pathError(err)
	case !info.IsDir():
		return fmt.Errorf("%s: is not a folder", folder)
	}
	return nil
}

// copyStore writes a copy of the store. It fails where an import would.
func (a *app) copyStore(ctx context.Context, c creation, path string) (err error) {
	opts, err := c.options()
	if err != nil {
		return err
	}
	opts.ReadOnly, opts.Create = true, store.CreateNever
	db, err := a.open(ctx, opts)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	if err := checkWritable(a.db); err != nil {
		return err
	}
	// What a store that was not closed had not folded is in the log beside it. While
	// the store is open for reading, none of its files changes.
	from, err := filepath.EvalSymlinks(a.db)
	if err != nil {
		return err
	}
	for _, suffix := range storeFiles {
		err := copyFile(ctx, from+suffix, path+suffix)
		if err != nil && !(suffix != "" && errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("copy for the dry run: %w", err)
		}
	}
	return nil
}

// copyFile copies a file to one that is new.
func copyFile(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // it was only read
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer closeInto(&err, out)
	_, err = io.Copy(untilDone{ctx, out}, in)
	return err
}

// checkWritable returns an error if the store may only be read.
func checkWritable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return pathError(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		err = file.Close()
	}
	// Root may write anything; the mode still says what is meant.
	if err != nil || info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%s: %w", path, store.ErrReadOnly)
	}
	return nil
}

// untilDone is a writer that fails once ctx ends.
type untilDone struct {
	ctx context.Context
	w   io.Writer
}

func (u untilDone) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(p)
}
