package ingest

import (
	"io"
	"iter"
)

// SetPieceSize sets from how many bytes on pieces are cut off.
func (f *File) SetPieceSize(n int) { f.rows.size = max(n, 1) }

// Sequential reads a file in this goroutine.
func (f *File) Sequential(days *DayParser) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		with := f.layout.parser()
		for {
			p, err := f.next()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(&Batch{File: f, Marks: p.parse(with, days, nil), text: p.text}, nil) {
				return
			}
		}
	}
}

// JSONReader returns a reader of single lines of JSON.
func JSONReader(id, event, time string) func(line []byte) (Row, error) {
	p := newJSONLayout(Columns{ID: id, Event: event, Time: time}).parser()
	return func(line []byte) (Row, error) {
		p.reset(line, 1)
		return p.next()
	}
}
