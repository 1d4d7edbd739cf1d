package store

import (
	"math/bits"
	"slices"
)

// bitset is a set of positions of one chunk with a bit for each that there can
// be: 2 MiB for a hashed chunk. Adding and asking take a few ns a position,
// however sparse the chunk is, where a bitmap of many small containers takes 20
// to 50. It remembers the words that it set, so that emptying it costs no more
// than filling it did.
type bitset struct {
	base    uint32 // the chunk's first position
	words   []uint64
	touched []uint32 // words that are not zero, in the order of their first bits
}

func newBitset(chunkBits uint) *bitset { return &bitset{words: make([]uint64, 1<<chunkBits/64)} }

// begin empties the set for the chunk that starts at base.
func (b *bitset) begin(base uint32) {
	for _, w := range b.touched {
		b.words[w] = 0
	}
	b.base, b.touched = base, b.touched[:0]
}

// add adds positions of the chunk.
func (b *bitset) add(positions []uint32) {
	for _, p := range positions {
		w := &b.words[(p-b.base)/64]
		if *w == 0 {
			b.touched = append(b.touched, (p-b.base)/64)
		}
		*w |= 1 << ((p - b.base) % 64)
	}
}

// addSources adds the positions of sources.
func (b *bitset) addSources(all []source) error {
	for _, s := range all {
		list, err := s.positions()
		if err != nil {
			return err
		}
		b.add(list)
	}
	return nil
}

func (b *bitset) has(p uint32) bool {
	return b.words[(p-b.base)/64]>>((p-b.base)%64)&1 == 1
}

// missing returns those of the positions that are not in the set, in their order:
// the same slice where none is.
func (b *bitset) missing(positions []uint32) []uint32 {
	i := slices.IndexFunc(positions, b.has)
	if i < 0 {
		return positions
	}
	out := slices.Clone(positions[:i])
	for _, p := range positions[i:] {
		if !b.has(p) {
			out = append(out, p)
		}
	}
	return out
}

// positions returns the set's positions, ascending.
func (b *bitset) positions() []uint32 {
	if len(b.touched) > len(b.words)/64 { // looking at all words is quicker than sorting
		b.touched = b.touched[:0]
		for w, word := range b.words {
			if word != 0 {
				b.touched = append(b.touched, uint32(w))
			}
		}
	} else {
		slices.Sort(b.touched)
	}
	n := 0
	for _, w := range b.touched {
		n += bits.OnesCount64(b.words[w])
	}
	dst := make([]uint32, 0, n)
	for _, w := range b.touched {
		for word := b.words[w]; word != 0; word &= word - 1 {
			dst = append(dst, b.base+64*w+uint32(bits.TrailingZeros64(word)))
		}
	}
	return dst
}

// The set algebra of ascending lists without repeats.

// notIn returns the elements of a that b does not have.
func notIn(a, b []uint32) (out []uint32) {
	for _, v := range a {
		for len(b) > 0 && b[0] < v {
			b = b[1:]
		}
		if len(b) == 0 || b[0] != v {
			out = append(out, v)
		}
	}
	return out
}

// inBoth returns the elements that both have.
func inBoth(a, b []uint32) (out []uint32) {
	for _, v := range a {
		for len(b) > 0 && b[0] < v {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == v {
			out = append(out, v)
		}
	}
	return out
}

// inAny returns the elements that either has.
func inAny(a, b []uint32) []uint32 {
	if len(b) == 0 {
		return a
	}
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
