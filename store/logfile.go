package store

import (
	"io"
	"io/fs"
	"os"
)

// A logFile is a file of which it matters what is on disk.
type logFile interface {
	io.Reader
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	// Datasync returns when what was written is on disk, with the file's size.
	Datasync() error
}

// An openFunc opens a file as os.OpenFile does.
type openFunc func(name string, flag int, perm fs.FileMode) (logFile, error)

type osFile struct{ *os.File }

func (f osFile) Datasync() error { return datasync(f.File) }

func openOSFile(name string, flag int, perm fs.FileMode) (logFile, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}
