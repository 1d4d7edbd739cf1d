package ingest

import (
	"bytes"
	"io"
)

// window stands between a file and a parser that reads ahead. It keeps what was
// read since the last row, so that a row's text and line are known even where
// the parser gives up on it, and it bounds a row to maxRecord bytes.
//
// Offsets count bytes of the file: buf[0] has the offset start, and rows up to
// the offset done have been taken.
type window struct {
	r           io.Reader
	buf         []byte
	start, done int64
	line        int // line at offset done, from 1
}

// Read implements io.Reader.
func (w *window) Read(p []byte) (int, error) {
	w.skipBlank()
	open := w.buf[w.done-w.start:]
	if len(open) > maxRecord {
		return 0, ErrRecordTooLong
	}
	w.buf = w.buf[:copy(w.buf, open)]
	w.start = w.done

	n, err := w.r.Read(p)
	w.buf = append(w.buf, p[:n]...)
	return n, err
}

// take returns the text from the last row taken up to an offset, without empty
// lines before it, and the line it begins on. The text is valid until the next
// Read.
func (w *window) take(offset int64) (text []byte, line int) {
	w.skipBlank()
	line = w.line
	if w.done >= offset { // nothing but empty lines
		return nil, line
	}
	text = w.buf[w.done-w.start : offset-w.start]
	w.line += bytes.Count(text, []byte{'\n'})
	w.done = offset
	return text, line
}

// skipBlank takes the empty lines that come next.
func (w *window) skipBlank() {
	rest := w.buf[w.done-w.start:]
	for {
		n := 0
		switch {
		case len(rest) > 0 && rest[0] == '\n':
			n = 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			n = 2
		default:
			return
		}
		rest = rest[n:]
		w.done += int64(n)
		w.line++
	}
}
