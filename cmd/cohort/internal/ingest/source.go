// Package ingest reads files of rows, each row one mark: an id, an event and a
// time.
//
// # How a file is read
//
// One goroutine reads the file, decompresses it, and cuts it into pieces of
// about 64 KiB that end where rows end: at a newline, in CSV at one outside of
// quotes. Several goroutines take the pieces apart, with [encoding/csv] for CSV,
// and turn times into days. The marks come out in the order of the file, a
// [Batch] a piece. [Reading] runs all this; [Open] returns one [File].
//
// What a row's fault is, if it has one, is told by its [Reason]. Faults of the
// file itself, such as a quote that is never closed, end it; what stands before
// is read.
package ingest

import (
	"errors"
	"fmt"
)

// maxRecord is the length of the longest row with its newline, in bytes. A longer
// one is nearly always a quote that never ends, and would otherwise swallow the
// whole file.
const maxRecord = 1 << 20

// ErrRecordTooLong: a row is longer than 1 MiB.
var ErrRecordTooLong = errors.New("row is longer than 1 MiB")

// ErrOpenQuote: the file ends within quotes.
var ErrOpenQuote = errors.New("the file ends within a quoted field")

// ErrEncoding: the file is not UTF-8 text.
var ErrEncoding = errors.New("the file is UTF-16 text: convert it to UTF-8")

// ErrNotCompressed: the file's name says that it is compressed, and it is not.
var ErrNotCompressed = errors.New("holds neither gzip nor zstd data, whatever its name says")

// Row is one row of a file.
type Row struct {
	Line            int // physical line on which the row begins, from 1
	ID, Event, Time string
	// Fields are all fields of a row of CSV, nil where it cannot be taken apart.
	// They are reused for the next row.
	Fields []string

	start int // offset in the piece
}

// RowError says why a row cannot be taken apart.
type RowError struct {
	Why string
}

func (e *RowError) Error() string { return e.Why }

// HeaderError says that a file's header line is missing or unreadable.
type HeaderError struct {
	Why string
}

func (e *HeaderError) Error() string { return e.Why }

// lineError says at which line reading stopped.
func lineError(line int, err error) error {
	return fmt.Errorf("line %d: %w", line, err)
}

// Columns says where a row has its parts.
type Columns struct {
	// ID, Event and Time choose a column: by the name in the header or by its
	// number from 1, in fixed-width text as from-to (bytes, from 1, inclusive), in
	// JSON lines by its key. Event is not looked at where EventName is set.
	ID, Event, Time string
	// EventName is the event of every row of a file without an event column.
	EventName string
	// NoHeader says that the first line of CSV is a row.
	NoHeader bool
}

// ColumnError says that a file does not have a column that was named.
type ColumnError struct {
	Column, Why string
}

func (e *ColumnError) Error() string { return fmt.Sprintf("column %q %s", e.Column, e.Why) }
