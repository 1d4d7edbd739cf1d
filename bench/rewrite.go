package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// rewriter is what a mark costs without a journal, the baseline: one day in a
// bbolt file of its own, in the store's 256 chunks of 2²⁴ positions, each as
// portable roaring bytes. A mark is one transaction that reads its chunk, adds
// the bit and puts the chunk back. It keeps no registry and no cardinality, and
// checks nothing, so it does less than a mark of the store does.
type rewriter struct{ bolt *bolt.DB }

const rewriterChunkBits = 24

var rewriterDay = []byte("day")

// openRewriter opens or creates the file, as the store opens its own: without
// syncing the list of free pages, growing by 1 MiB, in a map that never has to
// grow.
func openRewriter(path string) (*rewriter, error) {
	b, err := bolt.Open(path, 0o600, &bolt.Options{
		FreelistType:    bolt.FreelistMapType,
		NoFreelistSync:  true,
		InitialMmapSize: 64 << 30,
	})
	if err != nil {
		return nil, err
	}
	b.AllocSize = 1 << 20
	return &rewriter{b}, nil
}

func (r *rewriter) close() error { return r.bolt.Close() }

// fill makes the day out of placements, in one transaction.
func (r *rewriter) fill(at []uint32) error {
	at = slices.Clone(at)
	slices.Sort(at)
	return r.bolt.Update(func(tx *bolt.Tx) error {
		day, err := tx.CreateBucketIfNotExists(rewriterDay)
		if err != nil {
			return err
		}
		for len(at) > 0 {
			number := at[0] >> rewriterChunkBits
			n := 1
			for n < len(at) && at[n]>>rewriterChunkBits == number {
				n++
			}
			chunk := roaring.BitmapOf(at[:n]...)
			chunk.RunOptimize()
			value, err := chunk.ToBytes()
			if err != nil {
				return err
			}
			if err := day.Put(rewriterKey(number), value); err != nil {
				return err
			}
			at = at[n:]
		}
		return nil
	})
}

func rewriterKey(number uint32) []byte { return binary.BigEndian.AppendUint16(nil, uint16(number)) }

// mark adds an id to the day and reports whether its bit was new, when that is
// on disk.
func (r *rewriter) mark(id string) (added bool, err error) {
	_, m, err := placement.Branded.Parse(id)
	if err != nil {
		return false, err
	}
	err = r.bolt.Update(func(tx *bolt.Tx) error {
		day := tx.Bucket(rewriterDay)
		key := rewriterKey(m.Placement() >> rewriterChunkBits)
		chunk := roaring.New()
		if old := day.Get(key); old != nil {
			// It aliases the page, copying a container before it changes it.
			if _, err := chunk.FromBuffer(old); err != nil {
				return err
			}
		}
		added = chunk.CheckedAdd(m.Placement())
		value := bytes.NewBuffer(make([]byte, 0, chunk.GetSerializedSizeInBytes()))
		if _, err := chunk.WriteTo(value); err != nil {
			return err
		}
		return day.Put(key, value.Bytes())
	})
	return added, err
}

// count returns how many bits the day has.
func (r *rewriter) count() (n int, err error) {
	err = r.bolt.View(func(tx *bolt.Tx) error {
		return tx.Bucket(rewriterDay).ForEach(func(_, v []byte) error {
			chunk := roaring.New()
			if _, err := chunk.FromBuffer(v); err != nil {
				return err
			}
			n += int(chunk.GetCardinality())
			return nil
		})
	})
	return n, err
}

// copyFile copies a file and returns when the copy is on disk, so that writing
// it back does not disturb what is timed next.
func copyFile(to, from string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = dst.ReadFrom(src)
	return errors.Join(err, dst.Sync(), dst.Close())
}
