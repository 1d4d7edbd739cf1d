// Package ingest reads files of rows, each row one mark: an id, an event and a
// time. A [Source] takes a file apart into rows, a [DayParser] turns a row's
// time into a day, and a [Reason] says why a row is refused.
package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxRecord is the length of the longest row, in bytes. A longer one is nearly
// always a quote that never ends, and would otherwise swallow the whole file.
const maxRecord = 1 << 20

// ErrRecordTooLong: a row is longer than 1 MiB.
var ErrRecordTooLong = errors.New("row is longer than 1 MiB")

// ErrOpenQuote: the file ends within quotes.
var ErrOpenQuote = errors.New("the file ends within a quoted field")

// ErrEncoding: the file is not UTF-8 text.
var ErrEncoding = errors.New("the file is UTF-16 text: convert it to UTF-8")

// Row is one row of a file. The strings stay valid; Fields is reused by the
// next call of Next.
type Row struct {
	Line            int // physical line on which the row begins, from 1
	ID, Event, Time string
	Fields          []string // the whole row, for a file of refused rows
}

// Source yields the rows of one file in order. A Source is not safe for
// concurrent use.
type Source interface {
	// Next returns the next row, and io.EOF after the last. A *RowError refuses
	// one row: the Row then has its Line and its text as the only field, and
	// reading goes on. Any other error ends the file and names the line.
	Next() (Row, error)
	// Header returns the names of the fields of a row, nil where the file has
	// none.
	Header() []string
}

// RowError says why a row cannot be taken apart.
type RowError struct {
	Why string
}

func (e *RowError) Error() string { return e.Why }

// lineError says at which line reading stopped.
func lineError(line int, err error) error {
	return fmt.Errorf("line %d: %w", line, err)
}

// Columns says where a row has its parts.
type Columns struct {
	// ID, Event and Time choose a column: by the name in the header or by its
	// number from 1, in fixed-width text as from-to (bytes, from 1, inclusive).
	// Event is not looked at where EventName is set.
	ID, Event, Time string
	// EventName is the event of every row of a file without an event column.
	EventName string
	// NoHeader says that the first line is a row.
	NoHeader bool
}

// ColumnError says that a file does not have a column that was named.
type ColumnError struct {
	Column, Why string
}

func (e *ColumnError) Error() string { return fmt.Sprintf("column %q %s", e.Column, e.Why) }

// Formats lists the names that [Open] takes.
func Formats() []string { return []string{"csv", "tsv", "fixed"} }

// Open returns the source of a file in one of the [Formats]. It reads the header,
// so that a *[ColumnError] comes before any row. A byte order mark is skipped.
func Open(format string, r io.Reader, cols Columns) (Source, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	if err := skipMark(br); err != nil {
		return nil, err
	}
	switch format {
	case "csv":
		return newCSV(br, ',', cols)
	case "tsv":
		return newCSV(br, '\t', cols)
	case "fixed":
		return newFixed(br, cols)
	}
	return nil, fmt.Errorf("format %q is unknown", format)
}

// skipMark skips a UTF-8 byte order mark.
func skipMark(br *bufio.Reader) error {
	head, err := br.Peek(3)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		_, err = br.Discard(3)
		return err
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return ErrEncoding
	}
	return nil
}
