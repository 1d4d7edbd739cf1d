package ingest

import (
	"bytes"
	"io"
	"slices"
)

// pieceSize is the length from which a piece is cut off. Handing over 1,500 rows
// costs nothing against parsing them, and so much fits a core's cache.
const pieceSize = 64 << 10

// splitter reads text and cuts it into pieces of whole rows. Offsets count bytes
// of buf; a row includes its newline.
//
//	buf  |  rows, whole  |  an open row  |   room to read into   |
//	     0              end           len(buf)               cap(buf)
type splitter struct {
	r    io.Reader
	rows ends
	size int // from which a piece is cut off: pieceSize
	buf  []byte
	end  int
	line int   // of buf[0], from 1
	err  error // what ended reading
	free func() []byte
}

// ends finds where rows end. It is given the text in order and remembers what it
// has to from call to call.
type ends interface {
	// scan returns the offsets just past the first and the last row that ends in
	// text; 0 where none does.
	scan(text []byte) (first, last int)
	// quote returns how many bytes before the end of the text scanned the quote
	// stands that is open there; ok is false where none is.
	quote() (before int, ok bool)
}

func newSplitter(r io.Reader, rows ends, free func() []byte) *splitter {
	return &splitter{r: r, rows: rows, size: pieceSize, buf: free(), line: 1, free: free}
}

// next returns the next piece and the line it begins on. The error after the last
// is io.EOF, or names the line at which reading stopped; the rows before it have
// been returned by then.
func (s *splitter) next() (text []byte, line int, err error) {
	for s.err == nil && s.end < s.size {
		s.fill()
	}
	line = s.line
	if s.end == 0 {
		return nil, line, s.err
	}
	text = s.buf
	s.buf = append(s.free(), text[s.end:]...)
	text = text[:s.end]
	s.line += bytes.Count(text, newline)
	s.end = 0
	return text, line, nil
}

var newline = []byte{'\n'}

// fill reads once.
func (s *splitter) fill() {
	const read = pieceSize / 2 // so that a piece is hardly larger than a whole one
	if cap(s.buf)-len(s.buf) < read {
		s.buf = slices.Grow(s.buf, max(read, len(s.buf)/2))
	}
	from := len(s.buf)
	n, err := s.r.Read(s.buf[from:min(from+read, cap(s.buf))])
	s.buf = s.buf[:from+n]
	first, last := s.rows.scan(s.buf[from:])
	switch {
	case last == 0 && len(s.buf)-s.end > maxRecord:
		s.err = s.stopped(ErrRecordTooLong)
	case last > 0 && from+first-s.end > maxRecord:
		s.err = lineError(s.line+bytes.Count(s.buf[:s.end], newline), ErrRecordTooLong)
		s.buf = s.buf[:s.end]
	default:
		if last > 0 {
			s.end = from + last
		}
		switch err {
		case nil:
		case io.EOF:
			s.finish()
		default:
			s.err = s.stopped(err)
		}
	}
}

// finish ends the text: what is left of it is the last row.
func (s *splitter) finish() {
	s.err = io.EOF
	if _, open := s.rows.quote(); open {
		s.err = s.stopped(ErrOpenQuote)
	} else {
		s.end = len(s.buf)
	}
}

// stopped says at which line reading stopped: where the open quote stands, if
// there is one, else where the open row begins. The open row is given up.
func (s *splitter) stopped(err error) error {
	at := s.end
	if before, ok := s.rows.quote(); ok {
		at = max(at, len(s.buf)-before)
	}
	err = lineError(s.line+bytes.Count(s.buf[:at], newline), err)
	s.buf = s.buf[:s.end]
	return err
}

// whole reads until there is a whole row, and returns all that there are.
func (s *splitter) whole() []byte {
	for s.err == nil && s.end == 0 {
		s.fill()
	}
	return s.buf[:s.end]
}

// skip takes n bytes of whole rows away.
func (s *splitter) skip(n int) {
	s.line += bytes.Count(s.buf[:n], newline)
	s.buf = slices.Delete(s.buf, 0, n)
	s.end -= n
}

// lineEnds are the ends of rows that are lines.
type lineEnds struct{}

func (lineEnds) scan(text []byte) (first, last int) {
	last = bytes.LastIndexByte(text, '\n') + 1
	if last > 0 {
		first = bytes.IndexByte(text, '\n') + 1
	}
	return first, last
}

func (lineEnds) quote() (int, bool) { return 0, false }
