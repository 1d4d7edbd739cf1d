// Package portable reads sets of 32-bit numbers in roaring's portable
// serialization, which libraries of many languages write:
//
//	cookie      u32: 12346, then the number of containers n as u32; or
//	            12347 | (n-1)<<16, then a bit for each container, set for runs
//	keys        n × (top half u16, cardinality−1 u16), ascending
//	offsets     n × u32: where each container begins; left out where there are
//	            runs and n < 4
//	containers  up to 4096 numbers: their low halves u16, ascending
//	            more: 8192 bytes, a bit for each low half
//	            runs: their number u16, then (first u16, length−1 u16) each
//
// All is little-endian. See https://github.com/RoaringBitmap/RoaringFormatSpec.
package portable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"
)

// ErrFormat: the bytes are no set in the portable format. Errors that match it say
// where and why.
var ErrFormat = errors.New("not a roaring bitmap in the portable format")

// MaxBytes is the size of the largest set: all containers, each with 8 KiB.
const MaxBytes = 8 + maxContainers*(8+bitsetBytes) + maxContainers/8

const (
	cookieNoRuns  = 12346
	cookieRuns    = 12347
	maxContainers = 1 << 16
	arrayMax      = 4096
	bitsetBytes   = 8192
	withOffsets   = 4 // containers from which on there are offsets in spite of runs
)

// Read reads one set, which must be all that r holds. Nothing in the bytes is
// trusted: keys, cardinalities, offsets, order and runs are checked, so that every
// library reads the same set from bytes that Read accepts. The error matches
// ErrFormat, or is that of r.
//
// The bitmap refers to the bytes read, and is copied in part where it is changed.
// Memory is the bytes, at most twice while they are read; a set of placements takes
// about 5 ns a byte.
func Read(r io.Reader) (*roaring.Bitmap, error) { return readAtMost(r, MaxBytes) }

// readAtMost is Read with another bound than MaxBytes.
func readAtMost(r io.Reader, most int) (*roaring.Bitmap, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > most:
		return nil, fmt.Errorf("%w: longer than the largest set, of %d bytes", ErrFormat, most)
	}
	if err := check(data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	set := roaring.New()
	if _, err := set.FromBuffer(data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return set, nil
}

var errShort = errors.New("the bytes end early")

// check returns nil where the bytes are one set and nothing else. It takes time
// linear in the bytes, where the library's own check takes the square of the runs
// of a container.
func check(data []byte) error {
	h, err := readHeader(data)
	if err != nil {
		return err
	}
	at, last := h.body, -1
	for i := range h.n {
		key := int(binary.LittleEndian.Uint16(h.keys[4*i:]))
		if key <= last {
			return fmt.Errorf("container %d has the key %d after %d", i, key, last)
		}
		last = key
		if h.offsets != nil {
			if offset := binary.LittleEndian.Uint32(h.offsets[4*i:]); int64(offset) != int64(at) {
				return fmt.Errorf("container %d begins at byte %d, and is said to at %d", i, at, offset)
			}
		}
		card := int(binary.LittleEndian.Uint16(h.keys[4*i+2:])) + 1
		size, err := checkContainer(data[at:], card, h.isRuns(i))
		if err != nil {
			return fmt.Errorf("container %d at byte %d: %w", i, at, err)
		}
		at += size
	}
	if at != len(data) {
		return fmt.Errorf("%d bytes follow the set", len(data)-at)
	}
	return nil
}

// header is what stands before the containers. Its slices alias the bytes.
type header struct {
	n       int
	runs    []byte // a bit for each container, nil where none has runs
	keys    []byte
	offsets []byte // nil where they are left out
	body    int    // where the first container begins
}

func (h header) isRuns(i int) bool { return h.runs != nil && h.runs[i/8]>>(i%8)&1 == 1 }

func readHeader(data []byte) (h header, err error) {
	at := 0
	take := func(n int) []byte {
		if err != nil || len(data)-at < n {
			err = errShort
			return make([]byte, n)
		}
		at += n
		return data[at-n : at : at]
	}
	switch cookie := binary.LittleEndian.Uint32(take(4)); {
	case err != nil:
		return h, err
	case cookie == cookieNoRuns:
		n := binary.LittleEndian.Uint32(take(4))
		if n > maxContainers {
			return h, fmt.Errorf("%d containers, there can be %d", n, maxContainers)
		}
		h.n = int(n)
	case cookie&0xffff == cookieRuns:
		h.n = int(cookie>>16) + 1
		h.runs = take((h.n + 7) / 8)
	default:
		return h, fmt.Errorf("begins with %#08x, which is no cookie of that format", cookie)
	}
	h.keys = take(4 * h.n)
	if h.runs == nil || h.n >= withOffsets {
		h.offsets = take(4 * h.n)
	}
	h.body = at
	return h, err
}

// checkContainer checks the container that data begins with, and returns its size.
func checkContainer(data []byte, card int, runs bool) (size int, err error) {
	switch {
	case runs:
		return checkRuns(data, card)
	case card <= arrayMax:
		size = 2 * card
	default:
		size = bitsetBytes
	}
	if len(data) < size {
		return 0, errShort
	}
	if card <= arrayMax {
		return size, checkArray(data[:size])
	}
	n := 0
	for i := 0; i < size; i += 8 {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(data[i:]))
	}
	if n != card {
		return 0, fmt.Errorf("%d bits are set, and said to be %d", n, card)
	}
	return size, nil
}

func checkArray(data []byte) error {
	last := -1
	for i := 0; i < len(data); i += 2 {
		v := int(binary.LittleEndian.Uint16(data[i:]))
		if v <= last {
			return fmt.Errorf("%d stands after %d", v, last)
		}
		last = v
	}
	return nil
}

func checkRuns(data []byte, card int) (size int, err error) {
	if len(data) < 2 {
		return 0, errShort
	}
	n := int(binary.LittleEndian.Uint16(data))
	size = 2 + 4*n
	if len(data) < size {
		return 0, errShort
	}
	last, sum := -2, 0
	for i := 2; i < size; i += 4 {
		first := int(binary.LittleEndian.Uint16(data[i:]))
		more := int(binary.LittleEndian.Uint16(data[i+2:]))
		if first <= last+1 {
			return 0, fmt.Errorf("a run begins at %d, and one before ends at %d", first, last)
		}
		if last = first + more; last >= 1<<16 {
			return 0, fmt.Errorf("a run from %d has %d numbers", first, more+1)
		}
		sum += more + 1
	}
	if sum != card {
		return 0, fmt.Errorf("the runs have %d numbers, and are said to have %d", sum, card)
	}
	return size, nil
}
