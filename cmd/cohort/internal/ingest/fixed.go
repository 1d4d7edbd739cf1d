package ingest

import (
	"io"
	"strconv"
	"strings"
)

// fixedLayout is text in which each column has its fixed bytes in every line. It
// has no header.
type fixedLayout struct {
	id, event, time byteRange // event is empty where the name is fixed
	eventName       string
}

// byteRange is the bytes from..to-1 of a line, counted from 0.
type byteRange struct{ from, to int }

func newFixedLayout(cols Columns) (l *fixedLayout, err error) {
	l = &fixedLayout{eventName: cols.EventName}
	if l.id, err = parseRange(cols.ID); err != nil {
		return nil, err
	}
	if l.time, err = parseRange(cols.Time); err != nil {
		return nil, err
	}
	if cols.EventName == "" {
		if l.event, err = parseRange(cols.Event); err != nil {
			return nil, err
		}
	}
	return l, nil
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

func (l *fixedLayout) parser() parser { return &fixedParser{fixedLayout: l} }

// fixedParser takes such text apart.
type fixedParser struct {
	*fixedLayout
	lines
}

// next implements parser.
func (p *fixedParser) next() (Row, error) {
	if !p.advance() {
		return Row{}, io.EOF
	}
	line := string(p.line)
	row := Row{Line: p.number, ID: p.id.of(line), Event: p.eventName, Time: p.time.of(line), start: p.start}
	if p.event.to > 0 {
		row.Event = p.event.of(line)
	}
	return row, nil
}

// of returns the range's part of a line without blanks around it; where the line
// is too short that is less, or nothing.
func (r byteRange) of(line string) string {
	return strings.Trim(line[min(r.from, len(line)):min(r.to, len(line))], blanks)
}
