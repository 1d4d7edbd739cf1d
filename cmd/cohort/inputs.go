package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"cohort/cmd/cohort/internal/ingest"
)

// inputs are the files of an import, all open, with their headers read.
type inputs struct {
	files []input
	size  int64        // bytes of all files, −1 where one has no size
	read  atomic.Int64 // bytes read so far
}

// input is one file.
type input struct {
	name   string // as messages call it
	source ingest.Source
	file   *os.File // nil for standard input
	info   fs.FileInfo
}

// openInputs opens the files. That all columns exist is known before any row of
// any file is read.
func openInputs(stdin io.Reader, names []string, f importFlags) (in *inputs, err error) {
	in = &inputs{}
	defer func() {
		if err != nil {
			err = errors.Join(err, in.Close())
			in = nil
		}
	}()
	seen := map[string]bool{}
	for _, name := range names {
		if name == "-" && seen[name] {
			return in, usagef("standard input is given twice")
		}
		seen[name] = true
		if err := in.open(stdin, name, f); err != nil {
			return in, err
		}
	}
	return in, nil
}

func (in *inputs) open(stdin io.Reader, name string, f importFlags) error {
	format, err := formatOf(name, f.format)
	if err != nil {
		return err
	}
	file := input{name: name}
	text := stdin
	if name == "-" {
		file.name = "standard input"
	} else {
		if file.file, err = os.Open(name); err != nil {
			return pathError(err)
		}
		text = file.file
		if file.info, err = file.file.Stat(); err != nil {
			return pathError(err)
		}
	}
	switch {
	case file.info == nil || !file.info.Mode().IsRegular():
		in.size = -1
	case in.size >= 0:
		in.size += file.info.Size()
	}
	in.files = append(in.files, file)

	source, err := ingest.Open(format, counter{text, &in.read}, f.columns)
	var column *ingest.ColumnError
	var header *ingest.HeaderError
	switch {
	case errors.As(err, &column) || errors.As(err, &header):
		return usagef("%s: %w", file.name, err)
	case err != nil:
		return fmt.Errorf("%s: %w", file.name, err)
	}
	in.files[len(in.files)-1].source = source
	return nil
}

// formatOf returns the format of a file: the one asked for, or by its name.
func formatOf(name, asked string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); {
	case asked != "":
		return asked, nil
	case name == "-":
		return "", usagef("standard input has no name to tell its format by: give --format")
	case ext == ".csv" || ext == ".tsv":
		return ext[1:], nil
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

// header returns the header of the first file.
func (in *inputs) header() []string { return in.files[0].source.Header() }

// holds reports whether a file is one of the inputs.
func (in *inputs) holds(info fs.FileInfo) bool {
	for _, f := range in.files {
		if f.info != nil && os.SameFile(f.info, info) {
			return true
		}
	}
	return false
}

// Close closes the files.
func (in *inputs) Close() error {
	var errs []error
	for _, f := range in.files {
		if f.file != nil {
			errs = append(errs, f.file.Close())
		}
	}
	return errors.Join(errs...)
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
