package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"cohort/placement"
	"cohort/store/internal/boltfile"

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// SetLogAfter has a store start a log after so many commits.
func (o *Options) SetLogAfter(commits int) { o.logAfter = cmp.Or(commits, -1) }

// SetMapped sets how much address space the file has at first.
func (o *Options) SetMapped(bytes int) { o.mapped = bytes }

// A LogFile is what a log writes to.
type LogFile = logFile

// SetOpenLog has a store open the files of its log, and its own to settle it, with open.
func (o *Options) SetOpenLog(open func(name string, flag int, perm fs.FileMode) (LogFile, error)) {
	o.openLog = open
}

// SetCommit has fn commit the transactions of the file. Where it commits and returns an
// error, that is a commit whose last sync failed.
func (db *DB) SetCommit(fn func(commit func() error) error) {
	db.writeMu.Lock()
	defer db.writeMu.Unlock()
	db.commit = func(tx *bolt.Tx) error { return fn(tx.Commit) }
}

// Logging tells whether there is a log beside the file.
func (db *DB) Logging() bool { return db.logging.Load() }

// LookerKnows tells whether marks find an event without the committer's help.
func (db *DB) LookerKnows(event string) (ok bool, err error) {
	err = db.look("looker", func(r *reader) (err error) {
		_, ok, err = r.event(event)
		return err
	})
	return ok, err
}

// LogPath is where a half of a store's log stands.
func LogPath(path string, half int) string { return logPath(path, half) }

// SetBatch makes a loader commit after so many rows.
func (l *Loader) SetBatch(rows int) { l.batch = rows }

// RememberByChunk makes Remember write every chunk by itself.
func (db *DB) RememberByChunk() { db.passRead = 1 }

// Remembers tells in which first days or union of any event a position is kept,
// "" where in none.
func (db *DB) Remembers(pos uint32) (where string, err error) {
	err = db.read("remembers", func(r *reader) error {
		live, err := r.eventNumbers()
		if err != nil {
			return err
		}
		number := pos >> r.set.chunkBits()
		for event := range live {
			t, err := r.timeline(event)
			if err != nil {
				return err
			}
			for _, k := range t.kept {
				var chunks []chunk
				if k.key.kind == keptFirsts {
					days, err := r.keptFirsts(event, number, Period{MinDay, MaxDay})
					if err != nil {
						return err
					}
					for _, d := range days {
						chunks = append(chunks, d.chunk)
					}
				} else if v, err := r.rollupValue(k.key, number); err != nil {
					return err
				} else if v != nil && v[sealSize] != chunkDropped {
					c, err := parseChunk(number<<r.set.chunkBits(), v[sealSize:])
					if err != nil {
						return err
					}
					chunks = append(chunks, c)
				}
				for _, c := range chunks {
					if has, err := c.contains(pos); err != nil || has {
						where = fmt.Sprintf("event %d, %+v", event, k)
						return err
					}
				}
			}
		}
		return nil
	})
	return where, err
}

// CopyFile copies the file as it stands at one commit, as a machine that stops
// there would leave it. No commit runs meanwhile.
func (db *DB) CopyFile(to string) (err error) {
	db.writeMu.Lock()
	defer db.writeMu.Unlock()
	db.viewMu.Lock()
	defer db.viewMu.Unlock()
	for half := range 2 {
		if err := copyLog(logPath(to, half), logPath(db.logPath, half)); err != nil {
			return err
		}
	}
	src, err := os.Open(db.cfg.Path)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

// copyLog copies a file of the log; where there is none, there will be none.
func copyLog(to, from string) error {
	b, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		if err = os.Remove(to); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
		return err
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}

// Commits returns the number of the last commit.
func (db *DB) Commits() int { return db.view.Load().txid }

// Unfolded returns how many operations and journal records are not folded.
func (db *DB) Unfolded() (ops, records int) {
	v := db.view.Load()
	return v.ops, int(v.records())
}

// UsedPages returns how many pages of the file its newest head uses, and their
// size.
func UsedPages(path string) (pages, size int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	m, err := boltfile.ReadHead(f)
	return int(m.Used), m.PageSize, err
}

// Sums compares what is kept twice in the file: the totals of the days and the
// counts of the brands, with what their chunks add up to.
func (db *DB) Sums() error {
	return db.read("sums", func(r *reader) error {
		days := 0
		c := r.totals().Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			t, ok := unsealPair(tagTotal, k, v)
			bucket := r.days().Bucket(k)
			if !ok || bucket == nil {
				return corruptf("total %x: seal %v, chunks %v", k, ok, bucket)
			}
			_, card, err := listChunks(bucket, nil)
			var bytes uint64
			if err == nil {
				err = bucket.ForEach(func(_, v []byte) error {
					bytes += uint64(len(v))
					return nil
				})
			}
			if err != nil || t != (pair{card, bytes}) || card == 0 {
				return corruptf("total %x: %+v, chunks have %d bits in %d bytes, %v", k, t, card, bytes, err)
			}
			days++
		}
		if n := r.days().Stats().BucketN - 1; n != days {
			return corruptf("%d days have chunks, %d totals", n, days)
		}
		brands := 0
		c = r.brands().Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			n, ok := unsealBrand(k, v)
			bucket := r.registry().Bucket(k)
			if ok && bucket == nil && n.first == 0 && n.ordinals > 0 {
				continue // all ids were erased
			}
			if !ok || bucket == nil {
				return corruptf("brand %q: seal %v, registry %v", k, ok, bucket)
			}
			if _, sum, err := listChunks(bucket, nil); err != nil || sum != n.first || n.second > sum {
				return corruptf("brand %q: %+v, registry has %d ids, %v", k, n, sum, err)
			}
			if err := r.sumOrdinals(placement.Brand(k), n); err != nil {
				return err
			}
			brands++
		}
		if n := r.registry().Stats().BucketN - 1; n != brands {
			return corruptf("%d brands have a registry, %d counts", n, brands)
		}
		live, err := r.eventNumbers()
		if err != nil {
			return err
		}
		for n := range live {
			if err := r.checkKept(context.Background(), n); err != nil {
				return err
			}
		}
		return nil
	})
}

// sumOrdinals compares the registry of a dense store with its table of ordinals:
// each leads to the other.
func (r *reader) sumOrdinals(b placement.Brand, n brandCounts) error {
	if !r.set.dense() {
		return nil
	}
	bucket := r.ordinalsBucket(b)
	if bucket == nil {
		if n.ordinals > 0 {
			return corruptf("brand %q: %d ordinals without a table", b, n.ordinals)
		}
		return nil
	}
	_, sum, err := listChunks(bucket, nil)
	if err != nil || sum != n.ordinals {
		return corruptf("brand %q: %d ordinals counted, the table has %d, %v", b, n.ordinals, sum, err)
	}
	numbers, _, err := listChunks(r.registry().Bucket(b[:]), nil)
	if err != nil {
		return err
	}
	for _, number := range numbers {
		value, err := r.idsValue(b, number)
		if err != nil {
			return err
		}
		ids, err := r.foldedIDs(b, number, value)
		if err != nil {
			return err
		}
		for _, e := range ids {
			at, err := r.placementsOf(b, roaring.BitmapOf(e.pos))
			if err != nil || at[0] != e.mixed.Placement() {
				return corruptf("brand %q: ordinal %d is of placement %d, the table has %v, %v", b, e.pos, e.mixed.Placement(), at, err)
			}
		}
	}
	return nil
}

// CheckPages walks the file as Open does after a crash.
func CheckPages(path string) error { return checkPages(path, true) }

// What TestVerify seals.

func DayKey(event uint32, d Day) []byte { return makeDayKey(event, d).bytes() }

func SealTotal(key []byte, cardinality, bytes uint64) []byte {
	return pair{cardinality, bytes}.seal(tagTotal, key)
}

func SealBrand(key []byte, ids, placements uint64) []byte {
	return pair{ids, placements}.seal(tagBrand, key)
}

func SealFolded(key []byte, seq uint64) []byte { return sealFolded(key, seq) }

func SealDay(key []byte, number uint32, kind placement.Kind, positions ...uint32) []byte {
	k, _ := parseDayKey(key)
	v, err := sealChunk(k, number, settings{ids: kind}.chunkBits(), roaring.BitmapOf(positions...))
	if err != nil {
		panic(err)
	}
	return v
}

// SetSize makes a loader commit after so many rows.
func (l *FieldLoader) SetSize(rows int) { l.size = rows }

// Reading is how many read transactions are open.
func (db *DB) Reading() int { return db.bolt.Stats().OpenTxN }
