package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"cohort/store/internal/boltfile"
)

// Fault is one thing that is wrong in a store.
type Fault struct {
	Where string // such as: event "active", 2026-01-30, chunk 13
	Err   error  // what; it matches ErrCorrupt, or is the system's
}

// String returns the fault in a line.
func (f Fault) String() string { return f.Where + ": " + f.Err.Error() }

// Verified says how much Verify has looked at.
type Verified struct {
	Pages   uint64 // of the file that are in use
	Events  int
	Days    int
	Sets    int
	Fields  int
	Chunks  int    // of days and saved sets
	Marks   uint64 // bits in the chunks of days
	IDs     uint64 // in the registry
	Records int    // of the journal
	Faults  int
}

// VerifyOptions say who is told what. Either may be nil.
type VerifyOptions struct {
	// Fault is called with each fault as it is found.
	Fault func(Fault)
	// Progress is called with the bytes of chunks that are done, and all of them.
	Progress func(done, total uint64)
}

// Verify looks at all that the store holds, as of the last commit, and reports every
// fault found: in the structure of the file's pages; checksums that do not hold;
// totals, cardinalities and counts that differ from what they count; ids out of
// order or in the wrong place; bits at which no id is known; what is remembered of
// days and differs from them; what belongs to nothing.
// Faults are not an error; they are counted. A fault in the pages of a bucket keeps
// what is in the bucket from being looked at.
//
// The functions of the options run inside a snapshot: they must not wait for a write
// to this store. Marks go on meanwhile; nothing is changed. It works on a store that
// is open for reading. Memory is some 30 MB, 24 bytes a stored day, and a sketch of
// all pages for each day, week and month. Errors: the context's, ErrClosed, or the
// system's where the file cannot be read at all. Cost: every page is read, every chunk
// decoded.
func (db *DB) Verify(ctx context.Context, opts VerifyOptions) (Verified, error) {
	if err := db.enter(); err != nil {
		return Verified{}, err
	}
	defer db.leave()
	v := verifier{opts: opts, broken: make(map[string]bool)}
	file, err := os.Open(db.logPath)
	if err != nil {
		return Verified{}, err
	}
	defer file.Close()
	head, err := v.begin(db, file)
	if err != nil {
		return Verified{}, fmt.Errorf("verify: %w", err)
	}
	defer func() { _ = v.tx.Rollback() }() // a read transaction has nothing to lose
	if head.TxID == uint64(v.tx.ID()) {
		v.pages(file, head)
	}
	for _, part := range []func(*verifier, context.Context) error{
		(*verifier).events,
		(*verifier).days,
		(*verifier).sets,
		(*verifier).chunks,
		(*verifier).ids,
		(*verifier).kept,
		(*verifier).visits,
		(*verifier).checkFields,
		(*verifier).records,
	} {
		if v.unreadable {
			break
		}
		if err := cmp.Or(part(&v, ctx), ctx.Err()); err != nil {
			return v.done, fmt.Errorf("verify: %w", err)
		}
	}
	return v.done, nil
}

// verifier is one run of Verify. Its parts return an error only where the run is to
// end; what they find is a fault.
type verifier struct {
	reader
	db   *DB
	opts VerifyOptions
	done Verified

	broken     map[string]bool // buckets inside others whose pages do not hold together
	unreadable bool            // so it is with a bucket of the file

	names  map[uint32]verifiedEvent // events, by number
	listed []verifiedDay            // days whose totals hold
	bytes  uint64                   // of chunks that are done
	total  uint64
}

// begin takes a view of the store, and the file's head that goes with it: no commit
// is made in between. Checksums are computed anew.
func (v *verifier) begin(db *DB, file *os.File) (head boltfile.Head, err error) {
	db.writeMu.Lock()
	defer db.writeMu.Unlock()
	err = guarded(func() error {
		if v.reader, err = db.beginAlone(); err != nil {
			return err
		}
		v.db, v.verified = db, newVerified()
		return nil
	})
	if err != nil {
		return head, err
	}
	if head, err = boltfile.ReadHead(file); err != nil {
		v.fault("heads of the file", err)
		return head, nil
	}
	if head.Valid < 2 || head.TxID != uint64(v.tx.ID()) {
		v.fault("heads of the file", corruptf("one of the two is damaged"))
	}
	return head, nil
}

// fault counts and reports one.
func (v *verifier) fault(where string, err error) {
	v.done.Faults++
	if v.opts.Fault != nil {
		v.opts.Fault(Fault{where, err})
	}
}

// check runs fn, whose error, or panic, is a fault; but where its context has ended it
// is Verify that ends.
func (v *verifier) check(where string, fn func() error) {
	err := guarded(fn)
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	v.fault(where, err)
}

// VerifyPages reports every fault in the structure of a file's pages, and no more: it
// is for a file that Open refuses as damaged. Nobody may be writing to it. Errors:
// the system's where the file cannot be read at all.
func VerifyPages(path string, fault func(Fault)) (Verified, error) {
	file, err := os.Open(path)
	if err != nil {
		return Verified{}, err
	}
	defer file.Close()
	v := verifier{opts: VerifyOptions{Fault: fault}, broken: make(map[string]bool)}
	head, err := boltfile.ReadHead(file)
	if err != nil {
		v.fault("heads of the file", err)
		return v.done, nil
	}
	v.pages(file, head)
	return v.done, nil
}

// pages checks the structure of the file's pages, those of the head's commit.
func (v *verifier) pages(file *os.File, head boltfile.Head) {
	w := boltfile.NewWalk(file, head)
	w.Fault = func(path [][]byte, err error) {
		v.fault(pathName(path), err)
		if len(path) < 2 {
			v.unreadable = true
		} else {
			v.broken[brokenKey(path[0], path[1])] = true
		}
	}
	v.check("free pages", w.Freelist)
	free := w.Met()
	v.check("pages", w.Buckets)
	v.done.Pages = w.Met() - free
}

func brokenKey(bucket, key []byte) string { return string(bucket) + "/" + string(key) }

func (v *verifier) isBroken(bucket, key []byte) bool { return v.broken[brokenKey(bucket, key)] }

// pathName tells where a bucket stands.
func pathName(path [][]byte) string {
	switch {
	case len(path) == 0:
		return "the file's buckets"
	case len(path) == 1:
		return fmt.Sprintf("bucket %q", path[0])
	case bytes.Equal(path[0], bucketSetChunks):
		return fmt.Sprintf("set %q", path[1])
	case bytes.Equal(path[0], bucketRegistry):
		return "registry of " + brandName(path[1])
	}
	return fmt.Sprintf("bucket %q, key %x", path[0], path[1])
}

// progress counts bytes of chunks as done.
func (v *verifier) progress(bytes int) {
	v.bytes += uint64(bytes)
	if v.opts.Progress != nil {
		v.opts.Progress(min(v.bytes, v.total), v.total)
	}
}
