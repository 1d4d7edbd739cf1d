package store

import (
	"bytes"
	"errors"
	"os"

	"cohort/store/internal/boltfile"
)

// checkHead reads the file's head. clean says that the file was closed, so that
// bbolt finds the list of free pages in it; whole, that both heads are valid.
func checkHead(path string) (clean, whole bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	head, err := boltfile.ReadHead(f)
	return head.HasFreelist(), head.Valid >= 2, err
}

// checkPages walks the trees of the file and returns what does not hold together. With
// all false it leaves out the leaves of the chunks of days and saved sets, and of
// sketches, nearly all of a large file, so that it takes a moment: what they hold is
// checksummed.
func checkPages(path string, all bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	head, err := boltfile.ReadHead(f)
	if err != nil {
		return err
	}
	w := boltfile.NewWalk(f, head)
	if !all {
		w.Skip = holdsChunks
	}
	if err := w.Freelist(); err != nil {
		return err
	}
	return w.Buckets()
}

// holdsChunks reports whether a bucket is one of buckets of chunks.
func holdsChunks(name []byte) bool {
	for _, b := range [][]byte{bucketDays, bucketSetChunks, bucketSketches, bucketRollups, bucketFirsts, bucketFieldSlices} {
		if bytes.Equal(name, b) {
			return true
		}
	}
	return false
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
	head, err := boltfile.ReadHead(r)
	b := make([]byte, boltfile.HeadSize)
	if err == nil {
		_, err = r.ReadAt(b, head.At)
	}
	if err = errors.Join(err, r.Close()); err != nil || head.HasFreelist() {
		return err
	}
	f, err := open(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, head.At)
	if err == nil {
		err = f.Datasync()
	}
	return boltError(errors.Join(err, f.Close()))
}
