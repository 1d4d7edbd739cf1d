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

// Source returns the text of the row of mark i, perhaps with blank lines around it, for
// [File.Row]. It is a part of the batch, and needs [Reading.KeepText].
func (b *Batch) Source(i int) []byte {
	end := len(b.text)
	if i+1 < len(b.Marks) {
		end = int(b.Marks[i+1].start)
	}
	return b.text[b.Marks[i].start:end]
}

// Row takes a row apart again that stood on a line, and returns its text too, without
// the newline: for a file of refused rows.
func (f *File) Row(source []byte, line int) (row Row, text string) {
	p := f.layout.parser()
	p.reset(source, line)
	row, err := p.next()
	var bad *RowError
	if err != nil && !errors.As(err, &bad) {
		return Row{Line: line}, "" // it was read before, so this cannot be
	}
	row.Line = line
	return row, string(p.raw())
}
