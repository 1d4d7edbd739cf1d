package store

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
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
// and then records:
//
//	length of payload u32 | seal of the head u32 | sequence number u64 |
//	seal of the payload u32 | payload | 1 to 8 zeros
//
// each a multiple of 8 bytes long. Payload and zeros are written with logMask over
// them, so that what was written of a record is not zeros and its last byte is
// never 0. The id is drawn when the files are made and stands in the store's file
// too: a record of any other log does not hold.
//
// # What a crash leaves
//
// A record is written when the one before is on disk, so a crash leaves at the most
// the last one torn. Where it goes, and for logSlack bytes behind, there are zeros on
// disk before it is written: a torn record has zeros where it was not written, since
// disks write sectors whole, and memory is copied from front to back. So a record
// that does not hold, without such zeros, was on disk and is damaged; one with them
// was never acknowledged. Damage is also anything that holds behind what does not,
// and a file shorter than it was made.
type journalLog struct {
	path  string
	open  openFunc
	id    uint64
	half  [2]logHalf
	at    int // the half that is written
	frame []byte
}

type logHalf struct {
	file  logFile
	size  int64  // of the file
	zeros int64  // up to where there are zeros on disk, from end on; 0 if that is not known
	end   int64  // where the next record goes
	last  uint64 // sequence number of the last record, 0 without one
}

const (
	logMagic   = "cohort.j"
	logVersion = 1
	logHeader  = 40
	logHead    = 20        // before a record's payload
	logGrow    = 1 << 20   // what a half's size, and what is zeroed in it, is a multiple of
	logSector  = 512       // what a disk writes whole, or not at all
	logSlack   = logSector // zeros behind the last record, by which its end is known
	logRecord  = 64 << 20  // the longest payload
	logMask    = 0xa5
)

// A logEntry is a record of the log, and where it stands.
type logEntry struct {
	seq     uint64
	payload []byte
}

func logPath(path string, half int) string { return fmt.Sprintf("%s.journal%d", path, half) }

// createLog makes the files of a new log, on disk when it returns. What stood
// there before is not needed any more.
func createLog(path string, open openFunc) (l *journalLog, err error) {
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	l = &journalLog{path: path, open: open, id: binary.LittleEndian.Uint64(id[:])}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.remove())
		}
	}()
	for i := range l.half {
		f, err := open(logPath(path, i), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return l, err
		}
		h := &l.half[i]
		*h = logHalf{file: f, end: logHeader}
		if _, err := f.WriteAt(l.header(i), 0); err != nil {
			return l, err
		}
		if err := h.makeRoom(0); err != nil {
			return l, err
		}
	}
	return l, syncFile(filepath.Dir(path))
}

func (l *journalLog) header(half int) []byte {
	h := append(make([]byte, 0, logHeader), logMagic...)
	v := binary.LittleEndian.AppendUint32(make([]byte, sealSize), logVersion)
	v = append(binary.LittleEndian.AppendUint64(v, l.id), byte(half))
	h = append(h, seal(tagLogHeader, []byte(logMagic), v)...)
	return h[:logHeader]
}

// mask puts logMask over bytes, or takes it away.
func mask(b []byte) {
	for i := range b {
		b[i] ^= logMask
	}
}

// framed is what a record of n bytes takes.
func framed(n int) int { return (logHead + n + 8) &^ 7 }

// checksum seals a part of a record.
func (l *journalLog) checksum(seq uint64, part []byte) uint32 {
	key := binary.BigEndian.AppendUint64(make([]byte, 0, 16), l.id)
	return checksum(tagLog, binary.BigEndian.AppendUint64(key, seq), part)
}

// errUnsettled marks the error of an append that may or may not be on disk.
var errUnsettled = errors.New("it cannot be known whether the commit will survive")

// append writes the records of a commit as one, and returns when it is on disk.
// After an error it is not in the log, unless the error is errUnsettled.
func (l *journalLog) append(seq uint64, rs records, s settings) error {
	h := &l.half[l.at]
	l.frame = append(l.frame[:0], make([]byte, logHead)...)
	for _, r := range rs {
		l.frame = r.encode(l.frame, s)
	}
	n := len(l.frame) - logHead
	if n > logRecord {
		return fmt.Errorf("journal: a record of %d bytes", n)
	}
	l.frame = append(l.frame, make([]byte, framed(n)-len(l.frame))...)
	mask(l.frame[logHead:])
	binary.LittleEndian.PutUint32(l.frame, uint32(n))
	binary.LittleEndian.PutUint32(l.frame[4:], l.checksum(seq, l.frame[:4]))
	binary.LittleEndian.PutUint64(l.frame[8:], seq)
	binary.LittleEndian.PutUint32(l.frame[16:], l.checksum(seq, l.frame[logHead:logHead+n]))
	if err := h.makeRoom(int64(len(l.frame))); err != nil {
		return boltError(err)
	}
	if _, err := h.file.WriteAt(l.frame, h.end); err != nil {
		return h.takeBack(len(l.frame), boltError(err))
	}
	if err := h.file.Datasync(); err != nil {
		return fmt.Errorf("%w: %w", errUnsettled, err)
	}
	h.end += int64(len(l.frame))
	h.last = seq
	return nil
}

// takeBack wipes a record that could not be written whole, lest it be found
// after a crash.
func (h *logHalf) takeBack(n int, cause error) error {
	_, err := h.file.WriteAt(make([]byte, n), h.end)
	if err == nil {
		err = h.file.Datasync()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsettled, errors.Join(cause, err))
	}
	return cause
}

// makeRoom sees that there are zeros on disk where the next n bytes go, and for
// logSlack behind. It writes them up to a multiple of logGrow, so that one commit in
// tens or thousands syncs twice. After an error the file is as long as before, or a
// part longer that is not used.
func (h *logHalf) makeRoom(n int64) error {
	n += h.end + logSlack
	if n <= h.zeros {
		return nil
	}
	to := (n + logGrow - 1) / logGrow * logGrow
	err := h.writeZeros(max(h.end, h.zeros), to)
	if err == nil {
		err = h.file.Datasync()
	}
	if err != nil {
		if to > h.size {
			err = errors.Join(err, h.file.Truncate(h.size))
		}
		return err
	}
	h.zeros, h.size = to, max(to, h.size)
	return nil
}

// writeZeros writes in pages: what was written at once Linux keeps as one folio, and
// a record's page makes all of it dirty.
func (h *logHalf) writeZeros(from, to int64) error {
	page := make([]byte, 4096)
	for from < to {
		n := min(to, from-from%int64(len(page))+int64(len(page))) - from
		if _, err := h.file.WriteAt(page[:n], from); err != nil {
			return err
		}
		from += n
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
	if other.end > logHeader { // it was not wiped
		other.end, other.zeros = logHeader, 0
	}
	l.at = 1 - l.at
}

// logWipe is how much is wiped between two syncs.
const logWipe = 256 << 10

// wiped returns the half as it is when its records are wiped: there are zeros on disk in
// their place, and the half is empty. None of them must be needed.
func (h logHalf) wiped() (logHalf, error) {
	to := h.end
	if h.zeros == 0 {
		h.zeros = (h.end + logSlack + logGrow - 1) / logGrow * logGrow
		h.size, to = max(h.size, h.zeros), h.zeros
	}
	for from := int64(logHeader); from < to; from += logWipe {
		if err := h.writeZeros(from, min(from+logWipe, to)); err != nil {
			return h, err
		}
		if err := h.file.Datasync(); err != nil {
			return h, err
		}
	}
	h.end = logHeader
	return h, nil
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
