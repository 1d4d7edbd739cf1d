package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"cohort/store/internal/kernel"

	"github.com/RoaringBitmap/roaring/v2"
)

// A chunk is the part of one day's bitmap that covers a fixed range of
// positions. Its payload:
//
//	kind u8 | cardinality u32 | data
//
// Kind list (at most 512 positions): uvarints, the first the distance from the
// chunk's first position, each further one the distance from its predecessor
// (at least 1). Kind roaring: roaring's portable serialization of the
// positions as they stand, chunk number and all, so that chunks of a day put
// together are the day.
const (
	chunkList    = 1
	chunkRoaring = 2

	// listMax is where roaring's eight bytes a container stop mattering: a day
	// of 10,000 hashed ids takes 2.95 bytes an id as lists, 9.2 as roaring.
	listMax = 512

	chunkHeader = 5
)

// chunk is a chunk value whose checksum holds. It aliases the value.
type chunk struct {
	kind byte
	card uint32
	base uint32 // the chunk's first position
	data []byte

	valid bool // the data was found sound when it was opened, see verified
}

// openChunk checks and opens a chunk of a day.
func (r *reader) openChunk(k dayKey, number uint32, value []byte) (chunk, error) {
	return r.openSealed(tagChunk, chunkSealKey(k, number), number, r.set.chunkBits(), value)
}

// openSealed checks and opens a chunk, of a day or of a registry of numbers.
func (r *reader) openSealed(t tag, sealKey []byte, number uint32, bits uint, value []byte) (chunk, error) {
	p, ok := r.verified.unseal(t, sealKey, value)
	if !ok {
		return chunk{}, corruptf("chunk %d: checksum does not hold", number)
	}
	return parseChunk(number<<bits, p)
}

// parseChunk opens the payload of a chunk whose first position is base.
func parseChunk(base uint32, p []byte) (chunk, error) {
	if len(p) < chunkHeader || (p[0] != chunkList && p[0] != chunkRoaring) {
		return chunk{}, corruptf("chunk at %d: not a kind of chunk", base)
	}
	c := chunk{kind: p[0], card: binary.LittleEndian.Uint32(p[1:]), base: base, data: p[chunkHeader:]}
	if c.kind == chunkList && (c.card > listMax || int(c.card) > len(c.data)) {
		return chunk{}, corruptf("chunk at %d: a list of %d positions in %d bytes", base, c.card, len(c.data))
	}
	return c, nil
}

// contains reports whether the position's bit is set.
func (c chunk) contains(pos uint32) (bool, error) {
	if c.kind == chunkRoaring {
		p, ok := kernel.ParsePortable(c.data)
		if ok {
			var found bool
			if found, ok = p.Contains(pos); ok {
				return found, nil
			}
		}
		return false, corruptf("chunk at %d: roaring bytes do not hold together", c.base)
	}
	at := uint64(c.base)
	rest := c.data
	for range c.card {
		d, n := binary.Uvarint(rest)
		if n <= 0 {
			return false, corruptf("chunk at %d: list ends early", c.base)
		}
		rest = rest[n:]
		if at += d; at >= uint64(pos) {
			return at == uint64(pos), nil
		}
	}
	return false, nil
}

// bitmap returns the positions as a bitmap that shares nothing with the value.
func (c chunk) bitmap() (*roaring.Bitmap, error) {
	b := roaring.New()
	if c.kind == chunkList {
		list, err := c.positions(make([]uint32, 0, c.card))
		if err != nil {
			return nil, err
		}
		b.AddMany(list)
		return b, nil
	}
	// ReadFrom copies. It accepts what is no bitmap, hence Validate, which takes three
	// quarters of the time.
	n, err := b.ReadFrom(bytes.NewReader(c.data))
	if err == nil && n != int64(len(c.data)) {
		err = fmt.Errorf("%d bytes left over", int64(len(c.data))-n)
	}
	if err == nil && !c.valid {
		err = b.Validate()
	}
	if err == nil && b.GetCardinality() != uint64(c.card) {
		err = fmt.Errorf("%d positions where %d were written", b.GetCardinality(), c.card)
	}
	if err != nil {
		return nil, corruptf("chunk at %d: %v", c.base, err)
	}
	return b, nil
}

// list appends the positions, ascending, of whatever kind the chunk is.
func (c chunk) list(dst []uint32) ([]uint32, error) {
	if c.kind != chunkRoaring {
		return c.positions(dst)
	}
	p, ok := kernel.ParsePortable(c.data)
	if ok {
		dst, ok = p.Positions(dst)
	}
	if !ok || len(dst) != int(c.card) || len(dst) == 0 || dst[0] < c.base {
		return nil, corruptf("chunk at %d: roaring bytes do not hold together", c.base)
	}
	return dst, nil
}

// positions appends the positions of a list, ascending.
func (c chunk) positions(dst []uint32) ([]uint32, error) {
	at := uint64(c.base)
	rest := c.data
	for i := range c.card {
		d, n := binary.Uvarint(rest)
		if n <= 0 || (i > 0 && d == 0) || d > 1<<32 || at+d > 1<<32-1 {
			return nil, corruptf("chunk at %d: not a list of positions", c.base)
		}
		rest = rest[n:]
		at += d
		dst = append(dst, uint32(at))
	}
	if len(rest) != 0 {
		return nil, corruptf("chunk at %d: %d bytes after the list", c.base, len(rest))
	}
	return dst, nil
}

// sealChunk encodes the positions of one chunk. The bitmap may be optimized in
// place. It returns nil for an empty one: an empty chunk is not stored.
func sealChunk(k dayKey, number uint32, bits uint, b *roaring.Bitmap) ([]byte, error) {
	return sealChunkAs(tagChunk, chunkSealKey(k, number), number, bits, b)
}

func sealChunkAs(t tag, sealKey []byte, number uint32, bits uint, b *roaring.Bitmap) ([]byte, error) {
	card := b.GetCardinality()
	switch {
	case card == 0:
		return nil, nil
	case card <= listMax:
		return sealList(t, sealKey, number<<bits, b.ToArray()), nil
	}
	b.RunOptimize()
	out := bytes.NewBuffer(make([]byte, 0, sealSize+chunkHeader+int(b.GetSerializedSizeInBytes())))
	out.Write(chunkHead(chunkRoaring, uint32(card)))
	if _, err := b.WriteTo(out); err != nil {
		return nil, fmt.Errorf("encode chunk %d: %w", number, err)
	}
	return seal(t, sealKey, out.Bytes()), nil
}

// sealPositions is sealChunk of ascending positions of a sparse chunk.
func sealPositions(k dayKey, number uint32, bits uint, positions []uint32) []byte {
	return sealSparse(tagChunk, chunkSealKey(k, number), number<<bits, positions)
}

func sealSparse(t tag, sealKey []byte, base uint32, positions []uint32) []byte {
	switch {
	case len(positions) == 0:
		return nil
	case len(positions) <= listMax:
		return sealList(t, sealKey, base, positions)
	}
	v := append(make([]byte, 0, sealSize+chunkHeader+4*len(positions)), chunkHead(chunkRoaring, uint32(len(positions)))...)
	return seal(t, sealKey, kernel.AppendPortable(v, positions))
}

// sealPositionsAs is sealChunkAs of ascending positions, many or few.
func sealPositionsAs(t tag, sealKey []byte, number uint32, s settings, positions []uint32) ([]byte, error) {
	if len(positions) <= s.sparse() {
		return sealSparse(t, sealKey, number<<s.chunkBits(), positions), nil
	}
	b := roaring.New()
	b.AddMany(positions)
	return sealChunkAs(t, sealKey, number, s.chunkBits(), b)
}

// sealList encodes at most listMax ascending positions.
func sealList(t tag, sealKey []byte, base uint32, positions []uint32) []byte {
	v := append(make([]byte, 0, sealSize+chunkHeader+3*len(positions)), chunkHead(chunkList, uint32(len(positions)))...)
	last := base
	for _, p := range positions {
		v = binary.AppendUvarint(v, uint64(p-last))
		last = p
	}
	return seal(t, sealKey, slices.Clip(v))
}

// chunkHead is the front of a chunk value, with room for the checksum.
func chunkHead(kind byte, card uint32) []byte {
	head := append(make([]byte, sealSize, sealSize+chunkHeader), kind)
	return binary.LittleEndian.AppendUint32(head, card)
}
