package ingest

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// csvSource reads comma- or tab-separated text by the rules of [encoding/csv]:
// a quoted field may hold delimiters, newlines and doubled quotes; CRLF within
// one is read as LF.
type csvSource struct {
	csv    *csv.Reader
	window *window
	blanks string // what a blank line may hold
	header []string

	id, event, time int // index of the column; event is -1 where the name is fixed
	eventName       string
	fields          int // fields a row must have; without a header, at least
}

func newCSV(r io.Reader, comma rune, cols Columns) (*csvSource, error) {
	s := &csvSource{
		window:    &window{r: r, line: 1},
		blanks:    " \t\r\n",
		event:     -1,
		eventName: cols.EventName,
	}
	if comma == '\t' { // a line of tabs has fields
		s.blanks = " \r\n"
	}
	// The buffer is larger than csv's own, which csv then uses as it is.
	s.csv = csv.NewReader(bufio.NewReaderSize(s.window, 64<<10))
	s.csv.Comma = comma
	s.csv.FieldsPerRecord = -1
	s.csv.ReuseRecord = true

	if !cols.NoHeader {
		if err := s.readHeader(); err != nil {
			return nil, err
		}
	}
	return s, s.resolve(cols)
}

// Header implements Source.
func (s *csvSource) Header() []string { return s.header }

// Next implements Source.
func (s *csvSource) Next() (Row, error) {
	for {
		fields, text, line, err := s.record()
		if err != nil {
			return refuse(line, text, err)
		}
		if len(fields) == 1 && len(bytes.Trim(text, s.blanks)) == 0 {
			continue // a blank line
		}
		switch n := len(fields); {
		case s.header != nil && n != s.fields:
			return refuse(line, text, &RowError{fmt.Sprintf("%d fields, the header has %d", n, s.fields)})
		case n < s.fields:
			return refuse(line, text, &RowError{fmt.Sprintf("%d fields, column %d is asked for", n, s.fields)})
		}
		row := Row{Line: line, ID: fields[s.id], Event: s.eventName, Time: fields[s.time], Fields: fields}
		if s.event >= 0 {
			row.Event = fields[s.event]
		}
		return row, nil
	}
}

// refuse returns what Next returns for a row that cannot be taken apart, or for
// the end of the file.
func refuse(line int, text []byte, err error) (Row, error) {
	var bad *RowError
	if !errors.As(err, &bad) {
		return Row{}, err
	}
	return Row{Line: line, Fields: []string{string(bytes.TrimRight(text, "\r\n"))}}, bad
}

// record returns the fields, the text and the first line of the next record.
func (s *csvSource) record() (fields []string, text []byte, line int, err error) {
	fields, err = s.csv.Read()
	if err == io.EOF {
		return nil, nil, 0, err
	}
	text, line = s.window.take(s.csv.InputOffset())
	if err != nil {
		err = recordError(err, text, line)
	}
	return fields, text, line, err
}

// recordError tells what refuses one record, as a *RowError, from what ends the
// file.
func recordError(err error, text []byte, line int) error {
	var bad *csv.ParseError
	switch {
	case !errors.As(err, &bad):
		return lineError(line, err)
	case openQuote(bad, text):
		return lineError(line, ErrOpenQuote)
	case errors.Is(bad.Err, csv.ErrBareQuote):
		return &RowError{"a quote within an unquoted field"}
	}
	return &RowError{"text after the closing quote of a field"}
}

// openQuote reports whether the file ended within quotes. The parser gives the
// same error for text after a closing quote, but then points at the quote: here
// it points past the last byte.
func openQuote(e *csv.ParseError, text []byte) bool {
	last := bytes.TrimSuffix(text, []byte{'\n'})
	last = bytes.TrimSuffix(last[bytes.LastIndexByte(last, '\n')+1:], []byte{'\r'})
	return errors.Is(e.Err, csv.ErrQuote) && e.Column > len(last)
}

func (s *csvSource) readHeader() error {
	for {
		fields, text, _, err := s.record()
		switch {
		case err == io.EOF:
			return &HeaderError{"the file has no header line: give --no-header if its first line is a row"}
		case err != nil:
			return &HeaderError{"the header line cannot be read: " + err.Error()}
		case len(bytes.Trim(text, s.blanks)) == 0:
			continue
		}
		s.header = slices.Clone(fields)
		s.fields = len(fields)
		return nil
	}
}

// HeaderError says that a file's header line is missing or unreadable.
type HeaderError struct {
	Why string
}

func (e *HeaderError) Error() string { return e.Why }

// resolve finds the columns.
func (s *csvSource) resolve(cols Columns) (err error) {
	if s.id, err = s.column(cols.ID); err != nil {
		return err
	}
	if s.time, err = s.column(cols.Time); err != nil {
		return err
	}
	if cols.EventName == "" {
		if s.event, err = s.column(cols.Event); err != nil {
			return err
		}
	}
	if s.header == nil {
		s.fields = max(s.id, s.event, s.time) + 1
	}
	return nil
}

// column returns the index of a column given by name or by number; a name wins.
func (s *csvSource) column(c string) (int, error) {
	if i := slices.Index(s.header, c); i >= 0 {
		if slices.Contains(s.header[i+1:], c) {
			return 0, &ColumnError{c, "stands twice in the header"}
		}
		return i, nil
	}
	n, err := strconv.Atoi(c)
	switch {
	case err != nil && s.header == nil:
		return 0, &ColumnError{c, "must be a number where there is no header"}
	case err != nil:
		return 0, &ColumnError{c, fmt.Sprintf("is not in the header, which has %q", s.header)}
	case n < 1:
		return 0, &ColumnError{c, "is not a column: they are numbered from 1"}
	case s.header != nil && n > len(s.header):
		return 0, &ColumnError{c, fmt.Sprintf("is not in the header, which has %d columns", len(s.header))}
	case n > maxRecord:
		return 0, &ColumnError{c, "is past the longest row"}
	}
	return n - 1, nil
}
