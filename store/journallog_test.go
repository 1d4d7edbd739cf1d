package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"
)

// logged makes a store whose journal is in a log, and leaves it as a process
// that died would. After each of its commits there is a digest.
func logged(t *testing.T, path string, commits int) (digests []string) {
	t.Helper()
	opts := options(placement.Branded)
	opts.SetLogAfter(0)
	db := mustOpen(t, path+".open", opts)
	defer mustClose(t, db)
	for m := range someMarks("active", commits, 0) {
		if _, err := db.Mark(ctx, m.Event, m.ID, m.Day); err != nil {
			t.Fatal(err)
		}
		digests = append(digests, digestOf(t, db))
	}
	if err := db.CopyFile(path); err != nil {
		t.Fatal(err)
	}
	return digests
}

const logHeader = 40

// logPayload is where the payload of a record ends, of logRecord bytes: the first
// commit names a new event and is in the file; each other one is a record of one mark,
// with an ordinal in a dense store, and 1 to 8 zeros behind it.
func logPayload() int {
	if dense() {
		return 20 + 16 + 8 + 4
	}
	return 20 + 16 + 8
}

func logRecord() int { return (logPayload() + 8) &^ 7 }

// A record that did not come to disk whole was never acknowledged: memory is copied
// from front to back, and a disk writes sectors.
func TestLogTorn(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "db")
	const commits = 9
	digests := logged(t, path, commits)
	whole := mustRead(t, path)
	log, other := mustRead(t, store.LogPath(path, 0)), mustRead(t, store.LogPath(path, 1))
	for range long(12, 300) {
		torn := slices.Clone(log)
		last := logHeader + (commits-2)*logRecord()
		from := last + rng.IntN(logRecord())
		clear(torn[from : last+logRecord()])
		want := digests[commits-2]
		if from >= last+logPayload() { // behind the payload
			want = digests[commits-1]
		}
		writeFile(t, path, whole)
		writeFile(t, store.LogPath(path, 0), torn)
		writeFile(t, store.LogPath(path, 1), other)
		db := mustOpen(t, path, nil)
		if got := digestOf(t, db); got != want {
			t.Fatalf("from byte %d of the last record: digest %s, want %s", from-last, got, want)
		}
		// It goes on where the last whole record ends.
		if _, err := db.Mark(ctx, "active", branded("USR", 1000), today); err != nil {
			t.Fatal(err)
		}
		want = digestOf(t, db)
		if err := db.CopyFile(path + ".again"); err != nil {
			t.Fatal(err)
		}
		mustClose(t, db)
		for _, p := range []string{path, path + ".again"} {
			db = mustOpen(t, p, nil)
			if got := digestOf(t, db); got != want {
				t.Fatalf("%s: digest %s, before %s", p, got, want)
			}
			mustClose(t, db)
		}
	}
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Damage to a record, the last one too, to a head, or to a whole file is named, whether
// the store is opened for reading or for writing.
func TestLogDamage(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	logged(t, path, 9)
	logged(t, filepath.Join(dir, "other"), 9)
	whole := mustRead(t, path)
	halves := [2][]byte{mustRead(t, store.LogPath(path, 0)), mustRead(t, store.LogPath(path, 1))}
	refused := func(what string, half int, damaged []byte) {
		t.Helper()
		for i, b := range halves {
			writeFile(t, store.LogPath(path, i), b)
		}
		writeFile(t, path, whole)
		name := store.LogPath(path, half)
		writeFile(t, name, damaged)
		if damaged == nil {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		for _, readOnly := range []bool{true, false} {
			db, err := store.Open(path, &store.Options{ReadOnly: readOnly})
			if err == nil {
				mustClose(t, db)
			}
			if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), filepath.Base(name)) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	for half, b := range halves {
		refused("missing", half, nil)
		refused("empty", half, []byte{})
		refused("cut", half, b[:logHeader-1])
		refused("cut behind the head", half, b[:logHeader])
		refused("cut in the zeros", half, b[:len(b)-1])
		refused("cut in the records", half, b[:logHeader+rng.IntN(8*logRecord())])
		refused("of another store", half, mustRead(t, store.LogPath(filepath.Join(dir, "other"), half)))
		refused("the other half", half, halves[1-half])
		for range long(5, 200) {
			b := slices.Clone(b)
			at := rng.IntN(logHeader)
			b[at] ^= 1 << rng.IntN(8)
			refused("head", half, b)
		}
	}
	for i := range long(24, 1000) {
		b := slices.Clone(halves[0])
		at := rng.IntN(logPayload()) // behind are the zeros
		record := rng.IntN(8)
		if i%2 == 0 {
			record = 7
		}
		b[logHeader+record*logRecord()+at] ^= 1 << rng.IntN(8)
		refused(fmt.Sprintf("byte %d of record %d", at, record), 0, b)
	}
}

// TestVerifyLog damages the log of a store in use: Verify names what is not there any
// more, the last record too, whatever its bytes are.
func TestVerifyLog(t *testing.T) {
	opts := options(placement.Branded)
	opts.SetLogAfter(0)
	path := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, path, opts)
	for m := range someMarks("active", 9, 0) {
		if _, err := db.Mark(ctx, m.Event, m.ID, m.Day); err != nil {
			t.Fatal(err)
		}
	}
	must(t, verifyFaults(db))
	log := mustRead(t, store.LogPath(path, 0))
	damaged := slices.Clone(log)
	clear(damaged[logHeader+7*logRecord():][:logRecord()])
	writeFile(t, store.LogPath(path, 0), damaged)
	if err := verifyFaults(db); err == nil || !strings.Contains(err.Error(), "1 of 9 records that are not folded are missing") {
		t.Errorf("the last record is zeros: %v", err)
	}
	damaged = slices.Clone(log)
	damaged[logHeader+7*logRecord()+30] ^= 1
	writeFile(t, store.LogPath(path, 0), damaged)
	if err := verifyFaults(db); err == nil || !strings.Contains(err.Error(), "the last one, is damaged") {
		t.Errorf("a bit of the last record: %v", err)
	}
	writeFile(t, store.LogPath(path, 0), log)
	must(t, verifyFaults(db))
	mustClose(t, db)
}

// A half that a crash broke off while it grew opens, and is whole again before
// more than the record it grew for stands in the part begun; where more records
// do, it was cut.
func TestLogBrokenGrowth(t *testing.T) {
	opts := options(placement.String)
	opts.SetLogAfter(0)
	path := filepath.Join(t.TempDir(), "db")
	db := mustOpen(t, path+".open", opts)
	mark := func(from, n int) {
		t.Helper()
		for i := range n { // about 80 KB each
			ids := make([]string, 1024)
			for j := range ids {
				ids[j] = fmt.Sprintf("%064d", (from+i)*1024+j)
			}
			if _, err := db.MarkMany(ctx, slices.Values(marksOf("active", today, ids))); err != nil {
				t.Fatal(err)
			}
		}
	}
	mark(0, 18)
	if err := db.CopyFile(path); err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, db)
	mustClose(t, db)
	file, log, other := mustRead(t, path), mustRead(t, store.LogPath(path, 0)), mustRead(t, store.LogPath(path, 1))
	records := len(bytes.TrimRight(log, "\x00"))
	if len(log) != 2<<20 || records < 1<<20 {
		t.Fatalf("the log has %d bytes, records up to %d; it should have grown once", len(log), records)
	}
	grown := append(slices.Clone(log), make([]byte, 12345)...)
	writeFile(t, store.LogPath(path, 0), grown)
	db = mustOpen(t, path, opts)
	if got := digestOf(t, db); got != want {
		t.Errorf("broken off while it grew: digest %s, want %s", got, want)
	}
	mark(18, 18)
	want = digestOf(t, db)
	if err := db.CopyFile(path + ".again"); err != nil {
		t.Fatal(err)
	}
	mustClose(t, db)
	if again := mustRead(t, store.LogPath(path+".again", 0)); len(again)%(1<<20) != 0 || len(again) <= len(grown) {
		t.Errorf("the log has %d bytes after it grew on", len(again))
	}
	db = mustOpen(t, path+".again", nil)
	if got := digestOf(t, db); got != want {
		t.Errorf("grown on: digest %s, want %s", got, want)
	}
	mustClose(t, db)
	writeFile(t, path, file)
	writeFile(t, store.LogPath(path, 0), log[:records-1])
	writeFile(t, store.LogPath(path, 1), other)
	if db, err := store.Open(path, nil); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("cut within its last record: %v, %v", db, err)
	}
}

// The two halves take turns, and what is in neither is in the file: whenever the
// process dies, everything is there.
func TestLogTurns(t *testing.T) {
	dir := t.TempDir()
	opts := options(placement.String)
	opts.SetLogAfter(2)
	db := mustOpen(t, filepath.Join(dir, "db"), opts)
	var kept string
	opts.Logger = nil
	turns := map[string]bool{}
	for i := range 40 {
		for m := range someMarks("event", 3, uint64(i)) {
			if _, err := db.Mark(ctx, m.Event, "id "+m.ID, m.Day-store.Day(i%3)); err != nil {
				t.Fatal(err)
			}
		}
		switch i % 7 {
		case 2, 5:
			if err := db.Fold(ctx); err != nil {
				t.Fatal(err)
			}
		case 3:
			if _, err := db.Unmark(ctx, "event", "id "+branded("USR", uint64(i)), today); err != nil {
				t.Fatal(err)
			}
		case 4:
			if err := db.DeleteDay(ctx, "event", today-1); err != nil {
				t.Fatal(err)
			}
		case 6:
			if _, err := loadRows(db, marksOf("event", today-2, []string{"loaded", "id 1"}), 2); err != nil {
				t.Fatal(err)
			}
		}
		want := digestOf(t, db)
		kept = filepath.Join(dir, "killed")
		if err := db.CopyFile(kept); err != nil {
			t.Fatal(err)
		}
		for half := range 2 {
			if b, err := os.ReadFile(store.LogPath(kept, half)); err == nil && binary.LittleEndian.Uint32(b[logHeader:]) > 0 {
				turns[store.LogPath("", half)] = true
			}
		}
		killed := mustOpen(t, kept, opts)
		if got := digestOf(t, killed); got != want {
			t.Fatalf("step %d: digest %s, before %s", i, got, want)
		}
		if i%2 == 0 { // and dies again, at once
			if err := killed.CopyFile(kept + ".again"); err != nil {
				t.Fatal(err)
			}
			again := mustOpen(t, kept+".again", opts)
			if got := digestOf(t, again); got != want {
				t.Fatalf("step %d: digest %s, before %s", i, got, want)
			}
			mustClose(t, again)
		}
		mustClose(t, killed)
	}
	if len(turns) != 2 {
		t.Errorf("written: %v", turns)
	}
	mustClose(t, db)
	for half := range 2 {
		if _, err := os.Stat(store.LogPath(filepath.Join(dir, "db"), half)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("half %d after Close: %v", half, err)
		}
	}
}

// The log stands beside the file, not beside a link to it, nor in the working
// directory of the moment.
func TestLogPath(t *testing.T) {
	dir, links := t.TempDir(), t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "db"), filepath.Join(links, "link")); err != nil {
		t.Skip(err)
	}
	mustClose(t, mustOpen(t, filepath.Join(dir, "db"), options(placement.Branded)))
	t.Chdir(links)
	opts := options(placement.Branded)
	opts.SetLogAfter(0)
	db := mustOpen(t, "link", opts)
	t.Chdir(dir)
	for m := range someMarks("active", 3, 0) {
		if _, err := db.Mark(ctx, m.Event, m.ID, m.Day); err != nil {
			t.Fatal(err)
		}
	}
	for half := range 2 {
		if info, err := os.Stat(store.LogPath(filepath.Join(dir, "db"), half)); err != nil || info.Mode() != 0o600 {
			t.Errorf("half %d: %v, %v", half, info, err)
		}
	}
	mustClose(t, db)
}
