package store

import (
	"fmt"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// Positions is the kind of a store: where the bits of its ids stand.
type Positions uint8

// The two kinds of positions. Ids of number stores are their own positions: such
// a store is of neither kind.
const (
	// Hashed: an id's bit stands at its placement. Nothing must be looked up, and
	// stores can be merged by OR; ids that share a placement share their bit.
	Hashed Positions = iota + 1
	// Dense: an id's bit stands at its ordinal, the number of ids of its brand
	// that were known before it. Counts are exact and days take few bytes; the
	// ordinal is found in the registry.
	Dense
)

// ParsePositions reads "hashed" or "dense".
func ParsePositions(s string) (Positions, error) {
	switch s {
	case "hashed":
		return Hashed, nil
	case "dense":
		return Dense, nil
	}
	return 0, fmt.Errorf("positions %q are neither hashed nor dense", s)
}

// String returns "hashed" or "dense", and "number" for 0, the positions of a
// store of numbers.
func (p Positions) String() string {
	switch p {
	case 0:
		return "number"
	case Hashed:
		return "hashed"
	case Dense:
		return "dense"
	}
	return fmt.Sprintf("Positions(%d)", uint8(p))
}

// Placements returns the placements of the ids of a brand at a set of positions. In
// a store that is not dense the two are the same, and so is the bitmap.
func (s *Snapshot) Placements(b placement.Brand, positions *roaring.Bitmap) (placements *roaring.Bitmap, err error) {
	err = s.do("placements", func() error {
		placements, err = s.placementSet(b, positions)
		return err
	})
	return placements, err
}

// Position returns where the id's bit stands. ok is false where it has no position
// yet: in a dense store an id that is not known.
func (s *Snapshot) Position(id string) (pos uint32, ok bool, err error) {
	brand, mixed, err := s.set.ids.Parse(id)
	if err != nil {
		return 0, false, err
	}
	err = s.do("position", func() error {
		at, err := s.known(brand, mixed)
		pos, ok = at.pos, at.placed && err == nil
		return err
	})
	return pos, ok, err
}

// standing is what is known of an id.
type standing struct {
	self   bool   // it is known
	others bool   // another id is known at its placement
	placed bool   // it has a position: in a dense store that of a known id
	pos    uint32 // where its bit stands, if placed
}

// unknown is the standing of an id of which nothing is known.
func (s settings) unknown(m placement.Mixed) standing {
	return standing{placed: !s.dense(), pos: m.Placement()}
}

// and adds what is known elsewhere.
func (a standing) and(b standing) standing {
	if !a.placed {
		a.placed, a.pos = b.placed, b.pos
	}
	a.self, a.others = a.self || b.self, a.others || b.others
	return a
}

// shares reports whether the id's bit is that of another known id too.
func (s settings) shares(at standing) bool { return at.others && !s.dense() }

func (s settings) dense() bool { return s.positions == Dense }
