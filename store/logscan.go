package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// openLog opens the files of a log and reads its records above floor, in any
// order.
func openLog(path string, open openFunc, id, floor uint64, readOnly bool) (l *journalLog, entries []logEntry, err error) {
	l = &journalLog{path: path, open: open, id: id}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	flag := os.O_RDWR
	if readOnly {
		flag = os.O_RDONLY
	}
	for i := range l.half {
		name := logPath(path, i)
		f, err := open(name, flag, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return l, nil, corruptf("%s is missing; the store was not closed, and marks that are on disk are in it", name)
		}
		if err != nil {
			return l, nil, err
		}
		l.half[i].file = f
		found, err := l.scan(i, floor, !readOnly)
		if err != nil {
			return l, nil, fmt.Errorf("%s: %w", name, err)
		}
		entries = append(entries, found...)
	}
	if l.half[1].last > l.half[0].last {
		l.at = 1
	}
	return l, entries, nil
}

// scan reads a half, finds its end, and returns its records above floor. With
// settle they are on disk when it returns.
func (l *journalLog) scan(half int, floor uint64, settle bool) ([]logEntry, error) {
	h := &l.half[half]
	b, err := io.ReadAll(h.file)
	if err != nil {
		return nil, err
	}
	if len(b) < logHeader || !bytes.Equal(b[:logHeader], l.header(half)) {
		return nil, corruptf("its head is not that of this store's journal")
	}
	whole := len(b) - len(b)%logGrow // a crash may have broken off the growing of the rest
	if whole == 0 {
		return nil, corruptf("%d bytes of at least %d: the file was cut short", len(b), logGrow)
	}
	var entries []logEntry
	at, last := logHeader, logHeader
	for {
		e, size := l.record(b[at:], h.last)
		if size == 0 {
			break
		}
		h.last = e.seq
		if e.seq > floor {
			entries = append(entries, e)
		}
		last, at = at, at+size
	}
	if at+logSlack > whole {
		return nil, corruptf("%d bytes are too few behind record %d: the file was cut short", len(b), h.last)
	}
	for off := at + 8; off+logHead <= len(b); off += 8 {
		if off%logSector == 0 && isZero(b[off:min(off+logSector, len(b))]) {
			off += logSector - 8
			continue
		}
		if e, size := l.record(b[off:], max(h.last, floor)); size > 0 {
			return nil, corruptf("the record at byte %d is damaged: record %d stands behind it", at, e.seq)
		}
	}
	if !l.torn(b, at) {
		return nil, corruptf("the record at byte %d, the last one, is damaged", at)
	}
	h.size, h.end = int64(len(b)), int64(at)
	if settle {
		err = h.settle(b[:at], int64(last))
	}
	for _, e := range entries {
		mask(e.payload)
	}
	return entries, err
}

// settle sees that records that were read are on disk: what is read here others
// will be told is. A killed process may have left a record that was not synced yet;
// and after a sync that failed the system has it as if it was, so it is written
// again.
func (h *logHalf) settle(b []byte, last int64) error {
	if _, err := h.file.WriteAt(b[last:], last); err != nil {
		return boltError(err)
	}
	return h.file.Datasync()
}

// record returns the record that p begins with, and the bytes it takes: 0 where
// none holds that has a higher number than above. Its payload is masked.
func (l *journalLog) record(p []byte, above uint64) (e logEntry, size int) {
	seq, n, ok := l.head(p)
	if !ok || seq <= above || framed(n) > len(p) {
		return e, 0
	}
	e = logEntry{seq, p[logHead : logHead+n]}
	if binary.LittleEndian.Uint32(p[16:]) != l.checksum(seq, e.payload) {
		return e, 0
	}
	return e, framed(n)
}

// head returns the number and the length of the payload of the record that p begins
// with, if its head holds.
func (l *journalLog) head(p []byte) (seq uint64, n int, ok bool) {
	if len(p) < logHead {
		return 0, 0, false
	}
	length := binary.LittleEndian.Uint32(p)
	if length == 0 || length > logRecord {
		return 0, 0, false
	}
	seq = binary.LittleEndian.Uint64(p[8:])
	return seq, int(length), binary.LittleEndian.Uint32(p[4:]) == l.checksum(seq, p[:4])
}

// torn reports whether what stands at at, where no record holds, is none, or one that
// a crash broke off.
func (l *journalLog) torn(b []byte, at int) bool {
	if isZero(b[at:nextSector(at)]) {
		return true
	}
	_, n, ok := l.head(b[at:])
	if !ok {
		return b[at+logHead] == 0 // the first byte of a payload is not
	}
	end := at + framed(n)
	if end > len(b) {
		return false // it was as long as this before the record was written
	}
	if b[end-1] == 0 {
		return true
	}
	for from := at; from < end; from = nextSector(from) {
		if isZero(b[from:min(nextSector(from), end)]) {
			return true
		}
	}
	return false
}

func nextSector(at int) int { return at - at%logSector + logSector }

func isZero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }
