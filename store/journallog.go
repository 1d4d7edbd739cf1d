package store

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A journalLog is where group commits put their records, a write and one sync
// each, without a transaction of the store's file, which takes two syncs and
// waits for a fold. It is two files beside the store, PATH.journal0 and
// PATH.journal1, whose space is written before it is used, so that a sync has
// no metadata to write. A fold begins by turning to the other one; when it is
// done, nothing in the first is needed any more, and the next fold turns back.
//
// A file has a header of logHeader bytes:
//
//	"cohort.j" | seal u32 | version u32 | id u64 | half u8 | zeros
//
// and then records, each padded with zeros to a multiple of 8 bytes:
//
//	length of payload u32 | seal u32 | sequence number u64 | payload
//
// The id is drawn when the files are made and stands in the store's file too: a
// record of any other log does not hold. A record is written when the one
// before is on disk, so a crash leaves at the most the last one torn. What
// follows it is zeros, or records from before the last turn, with lower
// numbers. Anything that holds behind one that does not is damage, and so is a
// file shorter than it was made.
type journalLog struct {
	path  string
	id    uint64
	half  [2]logHalf
	at    int // the half that is written
	frame []byte
}

type logHalf struct {
	file *os.File
	size int64  // bytes written so far, as zeros at least
	end  int64  // where the next record goes
	last uint64 // sequence number of the last record, 0 without one
}

const (
	logMagic   = "cohort.j"
	logVersion = 1
	logHeader  = 40
	logFrame   = 16      // before a record's payload
	logGrow    = 1 << 20 // bytes by which a half grows
	logRecord  = 64 << 20
)

// A logEntry is a record of the log, and where it stands.
type logEntry struct {
	seq     uint64
	payload []byte
}

func logPath(path string, half int) string { return fmt.Sprintf("%s.journal%d", path, half) }

// createLog makes the files of a new log, on disk when it returns. What stood
// there before is not needed any more.
func createLog(path string) (l *journalLog, err error) {
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	l = &journalLog{path: path, id: binary.LittleEndian.Uint64(id[:])}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.remove())
		}
	}()
	for i := range l.half {
		f, err := os.OpenFile(logPath(path, i), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return l, err
		}
		l.half[i] = logHalf{file: f, end: logHeader}
		if err := l.half[i].grow(1); err != nil {
			return l, err
		}
		if _, err := f.WriteAt(l.header(i), 0); err != nil {
			return l, err
		}
		if err := f.Sync(); err != nil {
			return l, err
		}
	}
	return l, syncFile(filepath.Dir(path))
}

// openLog opens the files of a log and reads its records above floor, in any
// order.
func openLog(path string, id, floor uint64, readOnly bool) (l *journalLog, entries []logEntry, err error) {
	l = &journalLog{path: path, id: id}
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
		f, err := os.OpenFile(name, flag, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return l, nil, corruptf("%s is missing; the store was not closed, and marks that are on disk are in it", name)
		}
		if err != nil {
			return l, nil, err
		}
		l.half[i].file = f
		found, err := l.scan(i, floor)
		if err == nil && !readOnly {
			// A killed process may have left records that are not on disk yet. What
			// is read here others will be told is.
			err = datasync(f)
		}
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

func (l *journalLog) header(half int) []byte {
	h := append(make([]byte, 0, logHeader), logMagic...)
	v := binary.LittleEndian.AppendUint32(make([]byte, sealSize), logVersion)
	v = append(binary.LittleEndian.AppendUint64(v, l.id), byte(half))
	h = append(h, seal(tagLogHeader, []byte(logMagic), v)...)
	return h[:logHeader]
}

// scan reads a half, finds its end, and returns its records above floor.
func (l *journalLog) scan(half int, floor uint64) ([]logEntry, error) {
	h := &l.half[half]
	b, err := io.ReadAll(h.file)
	if err != nil {
		return nil, err
	}
	if len(b) < logHeader || !bytes.Equal(b[:logHeader], l.header(half)) {
		return nil, corruptf("its head is not that of this store's journal")
	}
	if len(b) < logGrow {
		return nil, corruptf("%d bytes of at least %d: the file was cut short", len(b), logGrow)
	}
	var entries []logEntry
	outside := 0 // records that end in a part that was not grown whole
	at := logHeader
	for {
		e, size := l.record(b[at:], h.last)
		if size == 0 {
			break
		}
		h.last = e.seq
		if e.seq > floor {
			entries = append(entries, e)
		}
		if at += size; at > len(b)-len(b)%logGrow {
			outside++
		}
	}
	if outside > 1 {
		return nil, corruptf("%d bytes are not what it grows by: the file was cut short behind record %d", len(b), h.last)
	}
	h.size, h.end = int64(len(b)), int64(at)
	for off := at + 8; off+logFrame <= len(b); off += 8 {
		if e, size := l.record(b[off:], max(h.last, floor)); size > 0 {
			return nil, corruptf("the record at byte %d is damaged: record %d stands behind it", at, e.seq)
		}
	}
	return entries, nil
}

// record returns the record that p begins with, and the bytes it takes: 0 where
// none holds that has a higher number than above. The number is looked at first:
// behind the end of a half are many places where a checksum would be of megabytes.
func (l *journalLog) record(p []byte, above uint64) (e logEntry, size int) {
	if len(p) < logFrame {
		return e, 0
	}
	n := binary.LittleEndian.Uint32(p)
	if n == 0 || n > logRecord || uint64(n) > uint64(len(p)-logFrame) {
		return e, 0
	}
	e.seq = binary.LittleEndian.Uint64(p[8:])
	if e.seq <= above || above > 0 && e.seq-above > 1<<32 {
		return e, 0
	}
	e.payload = p[logFrame : logFrame+int(n)]
	if binary.LittleEndian.Uint32(p[4:]) != l.checksum(e) {
		return e, 0
	}
	return e, min(len(p), framed(int(n)))
}

// framed is what a record of n bytes takes.
func framed(n int) int { return (logFrame + n + 7) &^ 7 }

func (l *journalLog) checksum(e logEntry) uint32 {
	key := binary.BigEndian.AppendUint64(make([]byte, 0, 16), l.id)
	return checksum(tagLog, binary.BigEndian.AppendUint64(key, e.seq), e.payload)
}

// errUnsettled marks the error of an append that may or may not be on disk.
var errUnsettled = errors.New("it cannot be known whether the commit will survive")

// append writes the records of a commit as one, and returns when it is on disk.
// After an error it is not in the log, unless the error is errUnsettled.
func (l *journalLog) append(seq uint64, rs records, s settings) error {
	h := &l.half[l.at]
	l.frame = append(l.frame[:0], make([]byte, logFrame)...)
	for _, r := range rs {
		l.frame = r.encode(l.frame, s)
	}
	e := logEntry{seq, l.frame[logFrame:]}
	if len(e.payload) > logRecord {
		return fmt.Errorf("journal: a record of %d bytes", len(e.payload))
	}
	binary.LittleEndian.PutUint32(l.frame, uint32(len(e.payload)))
	binary.LittleEndian.PutUint32(l.frame[4:], l.checksum(e))
	binary.LittleEndian.PutUint64(l.frame[8:], seq)
	for len(l.frame)%8 != 0 {
		l.frame = append(l.frame, 0)
	}
	if err := h.grow(int64(len(l.frame))); err != nil {
		return boltError(err)
	}
	if _, err := h.file.WriteAt(l.frame, h.end); err != nil {
		return h.takeBack(boltError(err))
	}
	if err := datasync(h.file); err != nil {
		return fmt.Errorf("%w: %w", errUnsettled, err)
	}
	h.end += int64(len(l.frame))
	h.last = seq
	return nil
}

// takeBack wipes a record that could not be written whole, lest it be found
// after a crash.
func (h *logHalf) takeBack(cause error) error {
	_, err := h.file.WriteAt(make([]byte, logFrame), h.end)
	if err == nil {
		err = datasync(h.file)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsettled, errors.Join(cause, err))
	}
	return cause
}

// grow writes zeros where the next n bytes will go. They come to disk with the
// record. The size is a multiple of logGrow but where a crash broke this off,
// which leaves at the most the record that it was for in the part begun.
func (h *logHalf) grow(n int64) error {
	for h.end+n > h.size-h.size%logGrow {
		// In small writes: what was written at once Linux keeps as one folio, and a
		// record's page makes all of it dirty.
		from, zeros := h.size, make([]byte, 4096)
		for to := from - from%logGrow + logGrow; h.size < to; {
			w, err := h.file.WriteAt(zeros[:min(int64(len(zeros)), to-h.size)], h.size)
			if err != nil {
				if h.size += int64(w); h.size > from {
					err = errors.Join(err, h.file.Truncate(from))
				}
				h.size = from
				return err
			}
			h.size += int64(w)
		}
	}
	return nil
}

// turn has what follows go to the other half, where nothing in that is needed:
// all its records are up to floor.
func (l *journalLog) turn(floor uint64) {
	other := &l.half[1-l.at]
	if other.last > floor || l.half[l.at].last <= floor {
		return
	}
	other.end = logHeader
	l.at = 1 - l.at
}

// close closes the files.
func (l *journalLog) close() error {
	var errs []error
	for i := range l.half {
		if f := l.half[i].file; f != nil {
			errs = append(errs, f.Close())
			l.half[i].file = nil
		}
	}
	return errors.Join(errs...)
}

// remove closes and removes the files.
func (l *journalLog) remove() error {
	errs := []error{l.close()}
	for i := range l.half {
		if err := os.Remove(logPath(l.path, i)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
