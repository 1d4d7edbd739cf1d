package boltfile

import (
	"encoding/binary"
	"hash/fnv"
	"os"

	"cohort/store/internal/damage"
)

// Head is the newest valid head of a file: what the last commit wrote last.
type Head struct {
	At       int64 // where its page stands; it takes HeadSize bytes
	PageSize int
	Root     uint64 // page of the file's buckets
	Used     uint64 // pages
	TxID     uint64 // of the commit
	Valid    int    // how many of the two heads are
	freelist uint64
}

// HeadSize is how many bytes of its page a head takes.
const HeadSize = pageHeader + metaSize

// HasFreelist reports whether the free pages are listed in the file, as Close leaves it.
func (h Head) HasFreelist() bool { return h.freelist != noFreelist }

// ReadHead reads a file's heads. It refuses a file that is shorter than its used pages.
func ReadHead(f *os.File) (Head, error) {
	var best Head
	heads := 0
	first, ok := readMeta(f, 0)
	if ok {
		best, heads = first, 1
	}
	// The second head stands one page behind the first. Where the first does
	// not tell the size of a page, try those there are.
	for p := int64(1024); p <= 64<<10; p *= 2 {
		second, ok := readMeta(f, p)
		if !ok || int64(second.PageSize) != p {
			continue
		}
		heads++
		if best.PageSize == 0 || second.TxID > best.TxID {
			best = second
		}
	}
	best.Valid = heads
	// Measured after the heads were read: another process may be growing it.
	info, err := f.Stat()
	if err != nil {
		return best, err
	}
	size := info.Size()
	if size == 0 {
		return best, damage.Errorf("the file is empty")
	}
	if best.PageSize == 0 {
		return best, damage.Errorf("neither head of the file is valid; it is no store, or overwritten")
	}
	if best.Used < 2 || best.Used > uint64(size)/uint64(best.PageSize) {
		return best, damage.Errorf("the file has %d bytes, its %d used pages of %d need %d",
			size, best.Used, best.PageSize, best.Used*uint64(best.PageSize))
	}
	return best, nil
}

// readMeta reads the head at an offset; false where there is no valid one.
func readMeta(f *os.File, at int64) (Head, bool) {
	b := make([]byte, metaSize)
	if _, err := f.ReadAt(b, at+pageHeader); err != nil {
		return Head{}, false
	}
	h := fnv.New64a()
	_, _ = h.Write(b[:56]) // a hash never fails
	m := Head{
		At:       at,
		PageSize: int(binary.LittleEndian.Uint32(b[8:])),
		Root:     binary.LittleEndian.Uint64(b[16:]),
		freelist: binary.LittleEndian.Uint64(b[32:]),
		Used:     binary.LittleEndian.Uint64(b[40:]),
		TxID:     binary.LittleEndian.Uint64(b[48:]),
	}
	ok := binary.LittleEndian.Uint32(b) == magic && binary.LittleEndian.Uint32(b[4:]) == version &&
		binary.LittleEndian.Uint64(b[56:]) == h.Sum64() &&
		m.PageSize >= 512 && m.PageSize <= 64<<10 && m.PageSize&(m.PageSize-1) == 0
	return m, ok
}
