package ingest

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

// fixedSource reads text in which each column has its fixed bytes in every
// line. It has no header.
type fixedSource struct {
	lines           *bufio.Scanner
	line            int
	id, event, time byteRange // event is empty where the name is fixed
	eventName       string
	fields          [1]string
}

// byteRange is the bytes from..to-1 of a line, counted from 0.
type byteRange struct{ from, to int }

func newFixed(r io.Reader, cols Columns) (s *fixedSource, err error) {
	s = &fixedSource{lines: bufio.NewScanner(r), eventName: cols.EventName}
	s.lines.Buffer(nil, maxRecord)
	if s.id, err = parseRange(cols.ID); err != nil {
		return nil, err
	}
	if s.time, err = parseRange(cols.Time); err != nil {
		return nil, err
	}
	if cols.EventName == "" {
		if s.event, err = parseRange(cols.Event); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// parseRange reads from-to, both from 1 and inclusive.
func parseRange(s string) (byteRange, error) {
	from, to, ok := strings.Cut(s, "-")
	a, errA := strconv.Atoi(from)
	b, errB := strconv.Atoi(to)
	if !ok || errA != nil || errB != nil || a < 1 || b < a {
		return byteRange{}, &ColumnError{s, "is not a range of bytes, as 2-6 is"}
	}
	return byteRange{a - 1, b}, nil
}

// Header implements Source.
func (s *fixedSource) Header() []string { return nil }

// Next implements Source.
func (s *fixedSource) Next() (Row, error) {
	for s.lines.Scan() {
		s.line++
		text := s.lines.Text()
		if isBlank(text) {
			continue
		}
		s.fields[0] = text
		row := Row{Line: s.line, ID: s.id.of(text), Event: s.eventName, Time: s.time.of(text), Fields: s.fields[:]}
		if s.event.to > 0 {
			row.Event = s.event.of(text)
		}
		return row, nil
	}
	err := s.lines.Err()
	switch {
	case err == nil:
		return Row{}, io.EOF
	case errors.Is(err, bufio.ErrTooLong):
		err = ErrRecordTooLong
	}
	return Row{}, lineError(s.line+1, err)
}

// of returns the range's part of a line without blanks around it; where the line
// is too short that is less, or nothing.
func (r byteRange) of(line string) string {
	return strings.Trim(line[min(r.from, len(line)):min(r.to, len(line))], blanks)
}

const blanks = " \t"

func isBlank(line string) bool { return strings.Trim(line, blanks) == "" }
