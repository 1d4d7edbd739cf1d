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

// csvLayout is what a file of comma- or tab-separated text looks like.
type csvLayout struct {
	comma  byte
	header []string // nil where the file has none

	id, event, time int // index of the column; event is -1 where the name is fixed
	eventName       string
	fields          int  // fields a row must have; without a header, at least
	byName          bool // all columns are chosen by a name in the header
}

// newCSVLayout reads the header, unless there is none, and finds the columns.
func newCSVLayout(s *splitter, comma byte, cols Columns) (*csvLayout, error) {
	l := &csvLayout{comma: comma, event: -1, eventName: cols.EventName, byName: !cols.NoHeader}
	if !cols.NoHeader {
		if err := l.readHeader(s); err != nil {
			return nil, err
		}
	}
	return l, l.resolve(cols)
}

// readHeader takes the first row that is not blank from the splitter.
func (l *csvLayout) readHeader(s *splitter) error {
	for {
		text := s.whole()
		if len(text) == 0 {
			break
		}
		p := l.parser().(*csvParser)
		p.reset(text, s.line)
		fields, _, err := p.record()
		for err == nil && p.blank(fields) {
			fields, _, err = p.record()
		}
		if err == io.EOF { // nothing but blank lines so far
			s.skip(len(text))
			continue
		}
		if err != nil {
			return &HeaderError{"the header line cannot be read: " + err.Error()}
		}
		l.header, l.fields = slices.Clone(fields), len(fields)
		s.skip(p.offset())
		return nil
	}
	switch err := s.err; {
	case err == io.EOF:
		return &HeaderError{"the file has no header line: give --no-header if its first line is a row"}
	case errors.Is(err, ErrOpenQuote), errors.Is(err, ErrRecordTooLong):
		return &HeaderError{"the header line cannot be read: " + err.Error()}
	}
	return s.err
}

// resolve finds the columns.
func (l *csvLayout) resolve(cols Columns) (err error) {
	if l.id, err = l.column(cols.ID); err != nil {
		return err
	}
	if l.time, err = l.column(cols.Time); err != nil {
		return err
	}
	if cols.EventName == "" {
		if l.event, err = l.column(cols.Event); err != nil {
			return err
		}
	}
	if l.header == nil {
		l.fields = max(l.id, l.event, l.time) + 1
	}
	return nil
}

// column returns the index of a column given by name or by number; a name wins.
func (l *csvLayout) column(c string) (int, error) {
	if i := slices.Index(l.header, c); i >= 0 {
		if slices.Contains(l.header[i+1:], c) {
			return 0, &ColumnError{c, "stands twice in the header"}
		}
		return i, nil
	}
	l.byName = false
	n, err := strconv.Atoi(c)
	switch {
	case err != nil && l.header == nil:
		return 0, &ColumnError{c, "must be a number where there is no header"}
	case err != nil:
		return 0, &ColumnError{c, fmt.Sprintf("is not in the header, which has %q", l.header)}
	case n < 1:
		return 0, &ColumnError{c, "is not a column: they are numbered from 1"}
	case l.header != nil && n > len(l.header):
		return 0, &ColumnError{c, fmt.Sprintf("is not in the header, which has %d columns", len(l.header))}
	case n > maxRecord:
		return 0, &ColumnError{c, "is past the longest row"}
	}
	return n - 1, nil
}

func (l *csvLayout) parser() parser {
	// csv uses a buffer as large as this one as it is.
	p := &csvParser{csvLayout: l, buf: bufio.NewReaderSize(nil, 4<<10), blanks: " \t\r\n"}
	if l.comma == '\t' { // a line of tabs has fields
		p.blanks = " \r\n"
	}
	return p
}

// csvParser takes pieces of such text apart by the rules of [encoding/csv]: a
// quoted field may hold delimiters, newlines and doubled quotes; CRLF within one
// is read as LF.
type csvParser struct {
	*csvLayout
	blanks string // what a blank line may hold
	csv    *csv.Reader
	buf    *bufio.Reader
	reader bytes.Reader
	text   []byte
	line   int // of the piece
	start  int // where the record read last begins, or empty lines before it
}

func (p *csvParser) reset(text []byte, line int) {
	p.text, p.line, p.start = text, line, 0
	p.reader.Reset(text)
	p.buf.Reset(&p.reader)
	p.csv = csv.NewReader(p.buf)
	p.csv.Comma = rune(p.comma)
	p.csv.FieldsPerRecord = -1
	p.csv.ReuseRecord = true
}

// next implements parser.
func (p *csvParser) next() (Row, error) {
	for {
		fields, line, err := p.record()
		row := Row{Line: line, Fields: fields, start: p.start}
		switch n := len(fields); {
		case err != nil:
			return row, err
		case p.blank(fields):
			continue
		case p.header != nil && n != p.fields:
			return row, &RowError{fmt.Sprintf("%d fields, the header has %d", n, p.fields)}
		case n < p.fields:
			return row, &RowError{fmt.Sprintf("%d fields, column %d is asked for", n, p.fields)}
		}
		row.ID, row.Event, row.Time = fields[p.id], p.eventName, fields[p.time]
		if p.event >= 0 {
			row.Event = fields[p.event]
		}
		return row, nil
	}
}

func (p *csvParser) offset() int { return int(p.csv.InputOffset()) }

// raw implements parser.
func (p *csvParser) raw() []byte {
	text := p.text[p.start:p.offset()]
	for { // without the empty lines before it
		rest, ok := bytes.CutPrefix(text, newline)
		if !ok {
			rest, ok = bytes.CutPrefix(text, []byte("\r\n"))
		}
		if !ok {
			return bytes.TrimSuffix(bytes.TrimSuffix(text, newline), []byte{'\r'})
		}
		text = rest
	}
}

// blank reports whether the record read last is a line of blanks.
func (p *csvParser) blank(fields []string) bool {
	return len(fields) == 1 && len(bytes.Trim(p.raw(), p.blanks)) == 0
}

// record returns the fields and the line of the next record; the error is
// io.EOF after the last, else a *RowError. Within a piece all quotes are closed.
func (p *csvParser) record() (fields []string, line int, err error) {
	p.start = p.offset()
	if fields, err = p.csv.Read(); err != nil {
		return p.fault(err)
	}
	line, _ = p.csv.FieldPos(0)
	return fields, p.line + line - 1, nil
}

// fault returns what record does in place of an error of the library.
func (p *csvParser) fault(err error) ([]string, int, error) {
	var bad *csv.ParseError
	switch {
	case !errors.As(err, &bad):
		return nil, 0, err
	case errors.Is(bad.Err, csv.ErrBareQuote):
		err = &RowError{"a quote within an unquoted field"}
	default:
		err = &RowError{"text after the closing quote of a field"}
	}
	return nil, p.line + bad.StartLine - 1, err
}
