package ingest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
)

// Formats lists the names that [Open] takes.
func Formats() []string { return []string{"csv", "tsv", "jsonl", "fixed"} }

// FormatOf returns the format that a file's name tells by its ending, or "".
func FormatOf(name string) string {
	name = strings.ToLower(name)
	if NamedCompressed(name) {
		name = strings.TrimSuffix(name, filepath.Ext(name))
	}
	switch filepath.Ext(name) {
	case ".csv":
		return "csv"
	case ".tsv":
		return "tsv"
	case ".jsonl", ".ndjson":
		return "jsonl"
	}
	return ""
}

// NamedCompressed reports whether a file's name says that it is compressed.
func NamedCompressed(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".gz", ".zst", ".zstd":
		return true
	}
	return false
}

// File is a file of rows. It is for one goroutine.
type File struct {
	// Name is what messages call the file.
	Name string
	// Header are the names of the columns, nil where the file has none.
	Header []string
	// ByName reports whether all columns were chosen by their names in Header.
	ByName bool
	// Compression is "gzip", "zstd", or "" for text as it stands.
	Compression string

	layout  layout
	data    *decompressor
	rows    *splitter
	buffers sync.Pool // of *[]byte, for pieces
}

// layout makes the parsers of a file.
type layout interface{ parser() parser }

// Open returns the file in r, of one of the [Formats]; it may be compressed with
// gzip or zstd, which its first bytes tell, and begin with a byte order mark. It
// reads the header, so that a *[ColumnError] or *[HeaderError] comes before any
// row; any other error is one of reading, or [ErrNotCompressed]. Memory is bounded
// whatever the data: a row by 1 MiB, the window of zstd by 128 MiB.
func Open(name, format string, r io.Reader, cols Columns) (*File, error) {
	data, err := newDecompressor(r)
	if err != nil {
		return nil, err
	}
	f := &File{Name: name, Compression: data.kind, data: data}
	if NamedCompressed(name) && data.kind == "" {
		return nil, ErrNotCompressed
	}
	if err := f.open(format, cols); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *File) open(format string, cols Columns) (err error) {
	text := bufio.NewReaderSize(f.data, 4<<10) // larger reads go past it
	if err := skipMark(text); err != nil {
		return err
	}
	switch format {
	case "csv", "tsv":
		comma := byte(',')
		if format == "tsv" {
			comma = '\t'
		}
		f.rows = newSplitter(text, &quotes{comma: comma}, f.buffer)
		l, err := newCSVLayout(f.rows, comma, cols)
		if err != nil {
			return err
		}
		f.layout, f.Header, f.ByName = l, l.header, l.byName
		return nil
	case "jsonl":
		f.layout = newJSONLayout(cols)
	case "fixed":
		if f.layout, err = newFixedLayout(cols); err != nil {
			return err
		}
	default:
		return fmt.Errorf("format %q is unknown", format)
	}
	f.rows = newSplitter(text, lineEnds{}, f.buffer)
	return nil
}

// skipMark skips a UTF-8 byte order mark.
func skipMark(text *bufio.Reader) error {
	head, err := text.Peek(3)
	if err != nil && err != io.EOF {
		return lineError(1, err)
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, err = text.Discard(3)
		return err
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return ErrEncoding
	}
	return nil
}

// Close gives the memory back that decompressing takes. It does not close the
// reader that the file was opened with.
func (f *File) Close() { f.data.Close() }

// piece is some rows of a file as text.
type piece struct {
	file *File
	text []byte
	line int // on which it begins
	rows int // at most
	cost int64
}

// next returns the next piece. The error after the last is io.EOF, or names the
// file and the line at which reading stopped.
func (f *File) next() (*piece, error) {
	text, line, err := f.rows.next()
	switch {
	case err == io.EOF:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	rows := 1 + bytes.Count(text, newline)
	return &piece{file: f, text: text, line: line, rows: rows, cost: cost(len(text), rows)}, nil
}

// cost is how much memory, in bytes, a piece and its marks take: its text twice,
// for the marks have parts of it, and 64 bytes a mark.
func cost(text, rows int) int64 { return min(2*int64(text)+64*int64(rows), maxAhead) }

// buffer returns an empty buffer for the text of a piece.
func (f *File) buffer() []byte {
	if b, ok := f.buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 2*pieceSize)
}

// recycle gives the buffer of the text back.
func (p *piece) recycle() {
	text := p.text
	p.text = nil
	if cap(text) <= 4*pieceSize { // a long row may have made it large
		p.file.buffers.Put(&text)
	}
}
