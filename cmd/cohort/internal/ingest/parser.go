package ingest

import "bytes"

// parser takes pieces of a file apart. It is for one goroutine.
type parser interface {
	// reset starts a piece whose first line has a number.
	reset(text []byte, line int)
	// next returns the next row, and io.EOF after the last. Any other error is a
	// *RowError that refuses the row; the next may follow.
	next() (Row, error)
	// raw is the text of the row read last, without newlines around it. It is a
	// part of the piece.
	raw() []byte
}

// lines walks over the lines of a piece that are not blank. It is a part of the
// parsers for which a line is a row.
type lines struct {
	text   []byte
	line   []byte // read last, without its newline
	number int    // of it
	start  int    // where it begins
	end    int    // and where the next begins
}

func (l *lines) reset(text []byte, line int) { *l = lines{text: text, number: line - 1} }

func (l *lines) raw() []byte { return l.line }

// advance goes to the next line; it returns false after the last.
func (l *lines) advance() bool {
	for l.end < len(l.text) {
		l.start = l.end
		l.number++
		line := l.text[l.start:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n]
			l.end++
		}
		l.end += len(line)
		l.line = bytes.TrimSuffix(line, []byte{'\r'})
		if len(bytes.Trim(l.line, blanks)) > 0 {
			return true
		}
	}
	return false
}

// blanks are what a blank line may hold, and what stands around a fixed column.
const blanks = " \t"
