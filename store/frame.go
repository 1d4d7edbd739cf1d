package store

import (
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
)

// Frames lays the days of a chunk side by side, for questions about how they
// overlap. A column is the union of any days, of one event or several, and bit i
// of each column stands for the same position, so that a question is a few
// operations on whole words: who was active in both of two periods, in exactly k
// of them, in one for the first time.
//
//	f := snap.Frames(columns)
//	f.Add(0, event, monday) …
//	for each chunk {
//		f.Open(chunk, nil)
//		for f.Next() { … f.Column(0), f.Column(1) … }
//	}
//	err := f.Err()
//
// Which position a bit stands for is not told, and positions with no bit in any
// added column have none: a sparse chunk, in which one of a thousand positions is
// active, gives words that are full. A frame is as many containers of 2¹⁶
// positions as make some thousand bits a column; those that are dense are laid
// out as they stand.
//
// Each day's part of a chunk is read once, where it lies in the file: a mark took
// 30 ns where a container has three of a day. Memory is up to 16 KiB for each column
// that has a bit, and 600 KiB. Frames is for one goroutine, and ends with its snapshot.
type Frames struct {
	snap    *Snapshot
	parts   []framePart
	columns [][]uint64 // by number; nil where no bit was ever set
	dirty   []bool     // by number: the frame at hand has a bit
	places  int        // bits of each column in the frame at hand
	full    int        // places at which a frame takes no further container

	strands []strand // the days of the chunk at hand
	err     error

	index   []uint32 // by low half of a position: its place in the frame, plus 1
	touched []uint16 // the low halves that have one
	lows    []uint16 // with room for a container
}

// framePart is a day, or the remembered union of a period, that goes into a column.
// Those of a filter give no position a place in a frame.
type framePart struct {
	column   int
	filter   bool
	timeline *timeline
	part
}

const (
	// frameBits is at how many bits a frame is full: a column takes 4 KiB, and
	// thirty fit the second-level cache. Where there are many columns, it is full
	// at as many as make frameTotal bits in all.
	frameBits  = 1 << 15
	frameTotal = 1 << 26
	// denseContainer is the number of bits of one day from which its container
	// is laid out as it stands. Below, the words of the other days would be
	// mostly empty.
	denseContainer = 1 << 13

	containerBits  = 1 << 16
	containerWords = containerBits / 64
)

// Frames returns frames of so many columns, which are empty.
func (s *Snapshot) Frames(columns int) *Frames {
	return &Frames{
		snap: s, columns: make([][]uint64, columns), dirty: make([]bool, columns),
		full:  min(frameBits, frameTotal/max(columns, 1)),
		index: make([]uint32, containerBits), lows: make([]uint16, 0, containerBits),
	}
}

// Add adds the event's days in the period to a column.
func (f *Frames) Add(column int, e Event, p Period) error { return f.add(column, false, e, p) }

// Filter is Add for days whose bits matter only where an added column has one;
// those elsewhere may be left out.
func (f *Frames) Filter(column int, e Event, p Period) error { return f.add(column, true, e, p) }

func (f *Frames) add(column int, filter bool, e Event, p Period) error {
	return f.snap.do("days of event "+e.Name, func() error {
		t, err := f.snap.timelineOf(e.number)
		if err != nil {
			return err
		}
		for _, part := range t.cover(p) {
			f.parts = append(f.parts, framePart{column, filter, t, part})
		}
		return nil
	})
}

// Open begins a chunk. Each of filters is a bitmap that goes into the column of
// that number as Filter has it; it is read and not kept.
func (f *Frames) Open(number uint32, filters map[int]*roaring.Bitmap) error {
	f.strands = f.strands[:0]
	return f.snap.do("frames", func() error {
		for _, p := range f.parts {
			sources, err := f.snap.partSources(p.timeline, p.part, number, nil)
			for i := 0; i < len(sources) && err == nil; i++ {
				err = f.addSource(p.column, p.filter, sources[i])
			}
			if err != nil {
				return fmt.Errorf("%s: %w", p.day, err)
			}
		}
		for column, b := range filters {
			if b.IsEmpty() {
				continue
			}
			s := strand{column: column, filter: true}
			if err := s.ofBitmap(b); err != nil {
				return err
			}
			f.strands = append(f.strands, s)
		}
		return nil
	})
}

// addSource adds a strand, unless it is empty.
func (f *Frames) addSource(column int, filter bool, from source) error {
	s, ok, err := strandOf(column, from)
	s.filter = filter
	if ok && err == nil {
		f.strands = append(f.strands, s)
	}
	return err
}

// Next makes the next frame of the chunk, and reports whether there is one. It
// reports false after an error; see Err.
func (f *Frames) Next() bool {
	if f.err != nil {
		return false
	}
	for i, dirty := range f.dirty {
		if dirty {
			clear(f.columns[i])
			f.dirty[i] = false
		}
	}
	f.places = 0
	f.err = f.snap.do("frames", func() error {
		for f.places < f.full {
			key, dense := f.lowest()
			if key == noKey {
				break
			}
			if err := f.take(key, dense); err != nil {
				return err
			}
		}
		return nil
	})
	return f.err == nil && f.places > 0
}

// Err returns the error that ended the frames, or nil.
func (f *Frames) Err() error { return f.err }

// Words returns the number of words of each column of the frame at hand.
func (f *Frames) Words() int { return (f.places + 63) / 64 }

// Column returns a column of the frame at hand, to be used and changed until
// Next is called; nil where it has no bits.
func (f *Frames) Column(i int) []uint64 {
	if !f.dirty[i] {
		return nil
	}
	return f.column(i, f.Words())
}

// column returns a column, with room for so many words, to set bits in.
func (f *Frames) column(i, words int) []uint64 {
	c := f.columns[i]
	if len(c) < words {
		c = append(c, make([]uint64, words-len(c))...)
		f.columns[i] = c
	}
	f.dirty[i] = true
	return c[:words]
}

// lowest returns the lowest upper half of the positions that are left, and
// whether one of its containers is dense.
func (f *Frames) lowest() (key uint32, dense bool) {
	key = noKey
	for i := range f.strands {
		switch s := &f.strands[i]; {
		case s.filter || s.key > key:
		case s.key < key:
			key, dense = s.key, s.card >= denseContainer
		default:
			dense = dense || s.card >= denseContainer && key < noKey
		}
	}
	return key, dense
}

// take adds the containers of an upper half to the frame.
func (f *Frames) take(key uint32, dense bool) error {
	add := f.addPlaces
	if dense {
		f.places = (f.places + 63) &^ 63
		add = f.addDense
	}
	for _, filter := range [2]bool{false, true} {
		for i := range f.strands {
			s := &f.strands[i]
			if s.filter != filter {
				continue
			}
			for s.key < key {
				if err := s.advance(); err != nil {
					return err
				}
			}
			if s.key != key {
				continue
			}
			if !add(s) {
				return errContainers
			}
			if err := s.advance(); err != nil {
				return err
			}
		}
	}
	if dense {
		f.places += containerBits
		return nil
	}
	for _, low := range f.touched {
		f.index[low] = 0
	}
	f.touched = f.touched[:0]
	return nil
}

// addDense adds a container whose positions stand in the frame as they do in it,
// one after the other.
func (f *Frames) addDense(s *strand) bool {
	first := f.places / 64
	words := f.column(s.column, first+containerWords)[first:]
	if s.bitset != nil {
		for i := range words {
			words[i] |= binary.LittleEndian.Uint64(s.bitset[8*i:])
		}
		return true
	}
	lows, ok := s.lows(f.lows)
	for _, low := range lows {
		words[low/64] |= 1 << (low % 64)
	}
	return ok
}

// addPlaces adds a container whose positions get places as they come.
func (f *Frames) addPlaces(s *strand) bool {
	if s.filter && s.bitset != nil {
		f.filterBitset(s)
		return true
	}
	lows, ok := s.lows(f.lows)
	if !ok {
		return false
	}
	words := f.column(s.column, (f.places+len(lows)+63)/64)
	for _, low := range lows {
		place := f.index[low]
		if place == 0 {
			if s.filter {
				continue
			}
			f.places++
			place = uint32(f.places)
			f.index[low] = place
			f.touched = append(f.touched, low)
		}
		place--
		words[place/64] |= 1 << (place % 64)
	}
	return true
}

// filterBitset adds those bits of a container that have places.
func (f *Frames) filterBitset(s *strand) {
	words := f.column(s.column, f.Words())
	for _, low := range f.touched {
		if s.bitset[low/8]>>(low%8)&1 == 1 {
			place := f.index[low] - 1
			words[place/64] |= 1 << (place % 64)
		}
	}
}
