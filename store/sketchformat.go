package store

import (
	"encoding/binary"

	"cohort/placement"
	"cohort/store/internal/hll"
)

// Layouts of what the store keeps of visits; see format.go.
//
// The sketches of a day stand in blocks of 256 pages with consecutive numbers:
// most are of a few bytes, and 3 million entries of their own would take several
// times as much. The block's key is the first three bytes of its pages' numbers.
// A sketch of more than smallSketch bytes has an entry of its own, with all four
// as its key, so that it stands right behind its block.
//
//	block: n × (page u8 | estimate uvarint | bytes uvarint) | 0 0 | sketches
//	large: kind u8 | sketch
//
// In a block, the pages ascend, and all sketches are sparse; bytes is the size
// plus one, and 0 where the sketch stands by itself. So the pages of a day are
// counted without opening a sketch. The list ends with a page of estimate 0,
// which no sketch in the file has: two zeros.
const (
	pageBits    = 8
	smallSketch = 512
)

func blockOf(page uint32) uint32 { return page >> pageBits }

func blockKey(block uint32) []byte {
	return []byte{byte(block >> 16), byte(block >> 8), byte(block)}
}

func pageKey(page uint32) []byte { return binary.BigEndian.AppendUint32(nil, page) }

// sketchDayKey is the key of a day in the buckets of sketches.
func sketchDayKey(d Day) []byte { return binary.BigEndian.AppendUint32(nil, uint32(d)^daySign) }

func parseSketchDayKey(b []byte) (Day, bool) {
	if len(b) != 4 {
		return 0, false
	}
	return Day(binary.BigEndian.Uint32(b) ^ daySign), true
}

// foldedSketches names the sketches of a day among the fold marks. No event has
// the number 0.
func foldedSketches(d Day) dayKey { return makeDayKey(0, d) }

// daySealKey is what a block's or a large sketch's checksum covers as its key.
func daySealKey(d Day, key []byte) []byte { return append(sketchDayKey(d), key...) }

// pageNameKey is the key of a page of one brand. A name has no zero byte.
func pageNameKey(name string, b placement.Brand) []byte {
	return append(append(append(make([]byte, 0, len(name)+4), name...), 0), b[:]...)
}

func parsePageNameKey(k []byte) (name string, b placement.Brand, ok bool) {
	n := len(k) - 4
	if n < 1 || k[n] != 0 {
		return "", b, false
	}
	return string(k[:n]), placement.Brand(k[n+1:]), true
}

func sealNumber(t tag, key []byte, n uint32) []byte {
	return seal(t, key, binary.LittleEndian.AppendUint32(make([]byte, sealSize, sealSize+4), n))
}

func unsealNumber(t tag, key, v []byte) (uint32, bool) {
	p, ok := unseal(t, key, v)
	if !ok || len(p) != 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(p), true
}

// siteStep is the length of time that a site sketch stands for.
type siteStep byte

const (
	siteDay siteStep = iota + 1
	siteWeek
	siteMonth
)

// siteKey is the key of the site sketch of the step that begins on a day.
func siteKey(b placement.Brand, step siteStep, first Day) []byte {
	return append(append(b[:], byte(step)), sketchDayKey(first)...)
}

func parseSiteKey(k []byte) (b placement.Brand, step siteStep, first Day, ok bool) {
	if len(k) != 8 || k[3] < byte(siteDay) || k[3] > byte(siteMonth) {
		return b, 0, 0, false
	}
	first, _ = parseSketchDayKey(k[4:])
	return placement.Brand(k[:3]), siteStep(k[3]), first, true
}

// sealSketch encodes a large sketch, or that of a site.
func sealSketch(t tag, key []byte, s *hll.Sketch) []byte {
	kind, data := s.Encode()
	v := append(make([]byte, sealSize, sealSize+1+len(data)), kind)
	return seal(t, key, append(v, data...))
}

// blockEntry is one sketch of a block, or that it stands by itself.
type blockEntry struct {
	page     uint32
	estimate uint64
	data     []byte // of a sparse sketch, aliasing the block
	large    bool
}

// blockEntries walks a block's payload. A walk that ends with bad set met what is
// no block.
type blockEntries struct {
	first uint32 // number of the block's first page
	list  []byte
	data  []byte
	last  int // low byte of the page before
	bad   bool
}

// openBlock starts a walk. Finding where the sketches begin takes one over the
// list.
func openBlock(block uint32, payload []byte) blockEntries {
	e := blockEntries{first: block << pageBits, last: -1}
	rest := payload
	for {
		entry, _, after, ok := nextInBlock(rest)
		if !ok {
			e.bad = true
			return e
		}
		rest = after
		if entry.estimate == 0 {
			break
		}
	}
	e.list, e.data = payload[:len(payload)-len(rest)], rest
	return e
}

// nextInBlock reads an entry of the list: of the page only the low byte.
func nextInBlock(p []byte) (entry blockEntry, size uint64, rest []byte, ok bool) {
	if len(p) < 2 {
		return entry, 0, nil, false
	}
	entry.page = uint32(p[0])
	var n int
	if entry.estimate, n = binary.Uvarint(p[1:]); n <= 0 {
		return entry, 0, nil, false
	}
	p = p[1+n:]
	if entry.estimate == 0 {
		return entry, 0, p, true
	}
	if size, n = binary.Uvarint(p); n <= 0 {
		return entry, 0, nil, false
	}
	entry.large = size == 0
	return entry, size, p[n:], true
}

// next returns the next entry; ok is false at the end.
func (e *blockEntries) next() (entry blockEntry, ok bool) {
	if e.bad {
		return entry, false
	}
	entry, size, rest, _ := nextInBlock(e.list) // openBlock has read the list
	if entry.estimate == 0 {
		e.bad = len(e.data) > 0
		return entry, false
	}
	low := int(entry.page)
	if size > uint64(len(e.data))+1 || size == 1 || low <= e.last {
		e.bad = true
		return entry, false
	}
	e.list, e.last = rest, low
	entry.page |= e.first
	if !entry.large {
		entry.data, e.data = e.data[:size-1], e.data[size-1:]
	}
	return entry, true
}

// blockWriter puts a block together, of entries whose pages ascend.
type blockWriter struct{ list, data []byte }

func (w *blockWriter) add(e blockEntry) {
	w.list = binary.AppendUvarint(append(w.list, byte(e.page)), e.estimate)
	if e.large {
		w.list = append(w.list, 0)
		return
	}
	w.list = binary.AppendUvarint(w.list, uint64(len(e.data))+1)
	w.data = append(w.data, e.data...)
}

func (w *blockWriter) seal(d Day, block uint32) []byte {
	v := make([]byte, sealSize, sealSize+len(w.list)+2+len(w.data))
	v = append(append(append(v, w.list...), 0, 0), w.data...)
	return seal(tagSketchBlock, daySealKey(d, blockKey(block)), v)
}
