package ingest

import (
	"errors"
	"io"
)

// Batch is the marks of a piece of a file, in the order of their rows.
type Batch struct {
	File  *File
	Marks []Mark
	// Position is what [Reading.Position] returned when the piece had been read.
	Position int64

	text []byte
}

// parse takes the piece apart. The marks are appended to a buffer.
func (p *piece) parse(with parser, days *DayParser, marks []Mark) []Mark {
	with.reset(p.text, p.line)
	for {
		row, err := with.next()
		if err == io.EOF {
			return marks
		}
		marks = append(marks, newMark(row, err, days))
	}
}

// Row takes the row of mark i apart again, and returns its text too, without the
// newline: for a file of refused rows. It needs [Reading.KeepText].
func (b *Batch) Row(i int) (row Row, text string) {
	m := &b.Marks[i]
	p := b.File.layout.parser()
	p.reset(b.text[m.start:], m.Line)
	row, err := p.next()
	var bad *RowError
	if err != nil && !errors.As(err, &bad) {
		return Row{Line: m.Line}, "" // it was read before, so this cannot be
	}
	row.Line = m.Line
	return row, string(p.raw())
}
