package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"sync/atomic"

	"cohort/cmd/cohort/internal/ingest"
)

// inputs are the files of an import. Their headers have been read once.
type inputs struct {
	files   []*input
	columns ingest.Columns
	size    int64        // bytes of all files, −1 where one has no size
	read    atomic.Int64 // bytes read so far, of compressed files compressed ones
}

// input is one file.
type input struct {
	name   string // as it was given, "-" for standard input
	format string
	info   fs.FileInfo // nil for standard input

	// What was found when the columns were looked for.
	header []string
	byName bool

	// A file that cannot be opened twice, such as a pipe, stays open until its
	// turn. Others are closed: there may be more than a process can have open.
	waiting *ingest.File
	file    *os.File
}

// openInputs looks at the files. That all columns exist is known before any row of
// any file is read.
func openInputs(stdin io.Reader, names []string, f importFlags) (in *inputs, err error) {
	in = &inputs{columns: f.columns}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
			in = nil
		}
	}()
	if err := checkStdin(names); err != nil {
		return in, err
	}
	for _, name := range names {
		format, err := formatOf(name, f.format, slices.Contains(names, "-"))
		if err != nil {
			return in, err
		}
		file := &input{name: name, format: format}
		in.files = append(in.files, file)
		if err := in.check(file, stdin); err != nil {
			return in, err
		}
	}
	return in, nil
}

// inputName returns how messages call a file.
func inputName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// checkStdin returns an error if standard input is given twice.
func checkStdin(names []string) error {
	for i, name := range names {
		if name == "-" && slices.Contains(names[:i], name) {
			return usagef("standard input is given twice")
		}
	}
	return nil
}

// check opens a file, looks for its columns, and closes it if it can be opened
// again.
func (in *inputs) check(f *input, stdin io.Reader) (err error) {
	from := stdin
	if f.name != "-" {
		if f.file, err = os.Open(f.name); err != nil {
			return pathError(err)
		}
		if f.info, err = f.file.Stat(); err != nil {
			return pathError(err)
		}
		from = f.file
	}
	if size := bytesLeft(from); in.size >= 0 && size >= 0 {
		in.size += size
	} else {
		in.size = -1
	}
	regular := f.info != nil && f.info.Mode().IsRegular()
	if !regular {
		from = counter{from, &in.read}
	}
	file, err := in.open(f, from)
	if err != nil {
		return err
	}
	f.header, f.byName = file.Header, file.ByName
	if !regular {
		f.waiting = file
		return nil
	}
	file.Close()
	err = f.file.Close()
	f.file = nil
	return err
}

// bytesLeft returns how many bytes of a regular file, which standard input can be,
// are to be read; −1 of anything else.
func bytesLeft(from io.Reader) int64 {
	file, ok := from.(*os.File)
	if !ok {
		return -1
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return -1
	}
	return info.Size() - at
}

// open reads a file's header.
func (in *inputs) open(f *input, from io.Reader) (*ingest.File, error) {
	name := inputName(f.name)
	file, err := ingest.Open(name, f.format, from, in.columns)
	var column *ingest.ColumnError
	var header *ingest.HeaderError
	switch {
	case errors.As(err, &column) || errors.As(err, &header):
		return nil, usagef("%s: %w", name, err)
	case err != nil && f.info != nil && f.info.IsDir():
		return nil, fmt.Errorf("%s: is a directory", name)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file, nil
}

// all opens the files one after the other, each when the one before has been
// read, and closes it then.
func (in *inputs) all() iter.Seq2[*ingest.File, error] {
	return func(yield func(*ingest.File, error) bool) {
		for _, f := range in.files {
			if !in.one(f, yield) {
				return
			}
		}
	}
}

// one opens and closes one file; it returns false if there is to be no other.
func (in *inputs) one(f *input, yield func(*ingest.File, error) bool) bool {
	if f.waiting != nil {
		defer f.waiting.Close()
		return yield(f.waiting, nil)
	}
	from, err := os.Open(f.name)
	if err != nil {
		return yield(nil, pathError(err))
	}
	defer from.Close() // it was only read
	file, err := in.open(f, counter{from, &in.read})
	if err != nil {
		// It was in order a moment ago, so the usage was.
		return yield(nil, errors.New(err.Error()))
	}
	defer file.Close()
	return yield(file, nil)
}

// Close closes the files that wait for their turn.
func (in *inputs) Close() error {
	var errs []error
	for _, f := range in.files {
		if f.file != nil {
			errs = append(errs, f.file.Close())
		}
	}
	return errors.Join(errs...)
}

// holds reports whether a file is one of the inputs.
func (in *inputs) holds(info fs.FileInfo) bool {
	for _, f := range in.files {
		if f.info != nil && os.SameFile(f.info, info) {
			return true
		}
	}
	return false
}

// formatOf returns the format of a file: the one asked for, else by its name. With
// standard input among the files, which has no name, the one asked for is that of
// standard input and of files whose names do not tell.
func formatOf(name, asked string, stdin bool) (string, error) {
	byName := ingest.FormatOf(name)
	switch {
	case asked != "" && (!stdin || byName == ""):
		return asked, nil
	case byName != "":
		return byName, nil
	case name == "-":
		return "", usagef("standard input has no name to tell its format by: give --format")
	}
	return "", usagef("%s: the name does not tell the format: give --format", name)
}

// pathError puts the path of a system's error first.
func pathError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

// counter counts the bytes read from r.
type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
