package store

import (
	"encoding/binary"
	"errors"
	"hash/fnv"
	"os"
)

// boltMeta is the newest valid head of the file.
type boltMeta struct {
	at       int64 // where its page stands
	pageSize int
	root     uint64
	freelist uint64
	used     uint64 // pages
	txid     uint64
	heads    int // that are valid, of two
}

// checkHead reads the file's head. clean says that the file was closed, so that
// bbolt finds the list of free pages in it; whole, that both heads are valid. It
// refuses a file that is shorter than its used pages.
func checkHead(path string) (clean, whole bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	m, err := readHead(f)
	return m.freelist != boltNoFreelist, m.heads >= 2, err
}

func readHead(f *os.File) (boltMeta, error) {
	var best boltMeta
	heads := 0
	first, ok := readMeta(f, 0)
	if ok {
		best, heads = first, 1
	}
	// The second head stands one page behind the first. Where the first does
	// not tell the size of a page, try those there are.
	for p := int64(1024); p <= 64<<10; p *= 2 {
		second, ok := readMeta(f, p)
		if !ok || int64(second.pageSize) != p {
			continue
		}
		heads++
		if best.pageSize == 0 || second.txid > best.txid {
			best = second
		}
	}
	best.heads = heads
	// Measured after the heads were read: another process may be growing it.
	info, err := f.Stat()
	if err != nil {
		return best, err
	}
	size := info.Size()
	if size == 0 {
		return best, corruptf("the file is empty")
	}
	if best.pageSize == 0 {
		return best, corruptf("neither head of the file is valid; it is no store, or overwritten")
	}
	if best.used < 2 || best.used > uint64(size)/uint64(best.pageSize) {
		return best, corruptf("the file has %d bytes, its %d used pages of %d need %d",
			size, best.used, best.pageSize, best.used*uint64(best.pageSize))
	}
	return best, nil
}

// readMeta reads the head at an offset; false where there is no valid one.
func readMeta(f *os.File, at int64) (boltMeta, bool) {
	b := make([]byte, metaSize)
	if _, err := f.ReadAt(b, at+pageHeader); err != nil {
		return boltMeta{}, false
	}
	h := fnv.New64a()
	_, _ = h.Write(b[:56]) // a hash never fails
	m := boltMeta{
		at:       at,
		pageSize: int(binary.LittleEndian.Uint32(b[8:])),
		root:     binary.LittleEndian.Uint64(b[16:]),
		freelist: binary.LittleEndian.Uint64(b[32:]),
		used:     binary.LittleEndian.Uint64(b[40:]),
		txid:     binary.LittleEndian.Uint64(b[48:]),
	}
	ok := binary.LittleEndian.Uint32(b) == boltMagic && binary.LittleEndian.Uint32(b[4:]) == boltVersion &&
		binary.LittleEndian.Uint64(b[56:]) == h.Sum64() &&
		m.pageSize >= 512 && m.pageSize <= 64<<10 && m.pageSize&(m.pageSize-1) == 0
	return m, ok
}

// settleHead sees that the commit that is read here is on disk: what is read others
// will be told is, and the next commit takes the pages that the one before does not
// need. A killed process may have left a head that was not synced yet; and after a
// sync that failed the system has it as if it was, so it is written again. The pages
// that it leads to were synced before it was written. The head of a file that was
// closed is left alone.
func settleHead(path string, open openFunc) error {
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	m, err := readHead(r)
	head := make([]byte, pageHeader+metaSize)
	if err == nil {
		_, err = r.ReadAt(head, m.at)
	}
	if err = errors.Join(err, r.Close()); err != nil || m.freelist != boltNoFreelist {
		return err
	}
	f, err := open(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(head, m.at)
	if err == nil {
		err = f.Datasync()
	}
	return boltError(errors.Join(err, f.Close()))
}
