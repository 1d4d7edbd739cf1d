package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/term"
)

// writeOut calls write with a file to write to: the one named, or standard output
// where name is empty or "-". A file appears whole or not at all: it is written
// beside its path and then takes its place, so that what stood there stays until
// then. What is not a regular file, such as a pipe, is written as it is. It returns
// the number of bytes.
func (a *app) writeOut(name string, write func(*bufio.Writer) error) (n int64, err error) {
	if toStdout(name) {
		return 0, write(a.out)
	}
	if err := a.checkOut(name); err != nil {
		return 0, err
	}
	path, flags := name, os.O_WRONLY
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return 0, fmt.Errorf("%s: is a directory", name)
	case err == nil && info.Mode().IsRegular():
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return 0, pathError(err)
		}
		path, flags = temporaryName(name), flags|os.O_CREATE|os.O_EXCL
	case errors.Is(err, fs.ErrNotExist):
		path, flags = temporaryName(name), flags|os.O_CREATE|os.O_EXCL
	case err != nil:
		return 0, pathError(err)
	}
	file, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, cause(err))
	}
	counted := &countingWriter{w: file}
	buffer := bufio.NewWriterSize(counted, 64<<10)
	if err = write(buffer); err == nil {
		err = buffer.Flush()
	}
	err = errors.Join(err, file.Close())
	if path == name {
		return counted.n, err
	}
	if err == nil {
		err = os.Rename(path, name)
	}
	if err != nil {
		return 0, errors.Join(err, os.Remove(path))
	}
	return counted.n, nil
}

// cause returns a system's error without the path, which is of no interest.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// toStdout reports whether a file to write is standard output.
func toStdout(name string) bool { return name == "" || name == "-" }

// checkOut returns an error if a file to write is the store.
func (a *app) checkOut(name string) error {
	if out, err := os.Stat(name); err == nil && isStore(a.db, out) {
		return usagef("--out %s: is the store", name)
	}
	return nil // where there is an error, writing it will tell
}

// storeFiles are what follows the path of a store, links resolved, in the names of its
// files: itself, and its log while it is open or was not closed.
var storeFiles = [...]string{"", ".journal0", ".journal1"}

// isStore reports whether a file is one of a store's.
func isStore(db string, file fs.FileInfo) bool {
	db, err := filepath.EvalSymlinks(db)
	if err != nil {
		return false // opening the store will tell
	}
	return slices.ContainsFunc(storeFiles[:], func(suffix string) bool {
		info, err := os.Stat(db + suffix)
		return err == nil && os.SameFile(info, file)
	})
}

// temporaryName returns a name for a file that is to become another, beside it.
func temporaryName(name string) string {
	dir, base := filepath.Split(name)
	return filepath.Join(dir, fmt.Sprintf(".%s.%d.tmp", base, os.Getpid()))
}

// countingWriter counts the bytes written to w.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// isTerminal reports whether what is written to w goes to a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
