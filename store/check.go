package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// Checks of bbolt's file structure that must come before bbolt trusts it: it
// follows page numbers and lengths as it finds them, into faults, panics (some
// in a goroutine where nobody can recover them) and endless loops. They read
// the file with plain reads and believe nothing. The layout is bbolt's version 2, all
// little-endian on the machines it is checked on:
//
//	page:   id u64 | flags u16 | count u16 | overflow u32 | elements
//	meta:   magic u32 | version u32 | page size u32 | flags u32 | root u64 |
//	        sequence u64 | freelist u64 | used pages u64 | txid u64 | FNV-1a u64
//	branch: n × (pos u32 | key size u32 | page u64), then the keys
//	leaf:   n × (flags u32 | pos u32 | key size u32 | value size u32), then
//	        keys and values; a bucket's value is root u64 | sequence u64, and
//	        with root 0 a page follows it in the value
const (
	boltMagic      = 0xED0CDAED
	boltVersion    = 2
	boltNoFreelist = 1<<64 - 1

	pageHeader    = 16
	metaSize      = 64
	elementSize   = 16
	bucketHeader  = 16
	pageBranch    = 1
	pageLeaf      = 2
	pageFreelist  = 0x10
	leafIsBucket  = 1
	maxBucketDeep = 8  // this store nests two
	maxTreeDeep   = 32 // branch levels of one bucket
)

// checkPages walks the trees of the file and returns what does not hold
// together: page numbers, types and counts, lengths, the order of keys, a page
// met twice. With all false it leaves out the leaves of the chunks of days and
// saved sets, and of sketches, nearly all of a large file, so that it takes a moment:
// what they hold is
// checksummed, and no page number stands in them.
func checkPages(path string, all bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := readHead(f)
	if err != nil {
		return err
	}
	c := pageCheck{file: f, meta: m, seen: make([]uint64, m.used/64+1), all: all}
	if err := c.freelist(); err != nil {
		return err
	}
	return c.bucket(m.root, nil, 0)
}

type pageCheck struct {
	file *os.File
	meta boltMeta
	seen []uint64 // one bit a page
	all  bool

	// fault, where it is set, is told what is wrong in a bucket, and the walk goes
	// on behind the bucket.
	fault func(path [][]byte, err error)
}

// page is a page with its overflow pages' share of elements.
type page struct {
	id    uint64
	flags uint16
	count int
	size  int // bytes, overflow pages included
	data  []byte
}

// take marks the pages of a page as met.
func (c *pageCheck) take(id uint64, overflow uint32) error {
	if id < 2 || id >= c.meta.used || uint64(overflow) >= c.meta.used-id {
		return corruptf("page %d with %d overflow pages lies outside the file's %d pages", id, overflow, c.meta.used)
	}
	for p := id; p <= id+uint64(overflow); p++ {
		if c.seen[p/64]>>(p%64)&1 == 1 {
			return corruptf("page %d is in use twice", p)
		}
		c.seen[p/64] |= 1 << (p % 64)
	}
	return nil
}

// read reads a page: its header, and as much of the rest as holds elements and
// keys. Values behind the first page are not read unless whole is set.
func (c *pageCheck) read(id uint64, whole bool) (page, error) {
	if id < 2 || id >= c.meta.used {
		return page{}, corruptf("page %d lies outside the file's %d pages", id, c.meta.used)
	}
	at := int64(id) * int64(c.meta.pageSize)
	b := make([]byte, c.meta.pageSize)
	if _, err := c.file.ReadAt(b, at); err != nil {
		return page{}, fmt.Errorf("page %d: %w", id, err)
	}
	overflow := binary.LittleEndian.Uint32(b[12:])
	p := page{
		id:    id,
		flags: binary.LittleEndian.Uint16(b[8:]),
		count: int(binary.LittleEndian.Uint16(b[10:])),
		size:  (int(overflow) + 1) * c.meta.pageSize,
		data:  b,
	}
	if binary.LittleEndian.Uint64(b) != id {
		return p, corruptf("page %d says it is page %d", id, binary.LittleEndian.Uint64(b))
	}
	if err := c.take(id, overflow); err != nil {
		return p, err
	}
	if p.flags != pageFreelist && pageHeader+elementSize*p.count > p.size {
		return p, corruptf("page %d: %d elements in %d bytes", id, p.count, p.size)
	}
	if need := pageHeader + elementSize*p.count; whole || need > len(b) {
		p.data = make([]byte, p.size)
		if _, err := c.file.ReadAt(p.data, at); err != nil && !errors.Is(err, io.EOF) {
			return p, fmt.Errorf("page %d: %w", id, err)
		}
	}
	return p, nil
}

// freelist checks the list of free pages, where the file has one.
func (c *pageCheck) freelist() error {
	id := c.meta.freelist
	if id == boltNoFreelist {
		return nil
	}
	p, err := c.read(id, true)
	if err != nil {
		return fmt.Errorf("free list: %w", err)
	}
	if p.flags != pageFreelist {
		return corruptf("free list: page %d is of another type", id)
	}
	n, at := p.count, pageHeader
	if n == 0xffff { // the count stands in the first element
		if len(p.data) < at+8 {
			return corruptf("free list: page %d ends early", id)
		}
		n, at = int(binary.LittleEndian.Uint64(p.data[at:])), at+8
	}
	if n < 0 || n > (len(p.data)-at)/8 {
		return corruptf("free list: %d pages do not fit into page %d", n, id)
	}
	for ; n > 0; n, at = n-1, at+8 {
		if err := c.take(binary.LittleEndian.Uint64(p.data[at:]), 0); err != nil {
			return fmt.Errorf("free list: %w", err)
		}
	}
	return nil
}

// bucket checks the tree of the bucket at a nesting depth.
func (c *pageCheck) bucket(root uint64, path [][]byte, deep int) error {
	if deep > maxBucketDeep {
		return corruptf("buckets nest deeper than %d", maxBucketDeep)
	}
	leavesAt := -1
	if !c.all && deep == 2 && holdsChunks(path[0]) {
		var err error
		if leavesAt, err = c.leafDepth(root); err != nil {
			return inBucket(path, err)
		}
	}
	err := c.tree(root, nil, nil, path, 0, leavesAt)
	if err != nil && c.fault != nil {
		c.fault(path, err)
		return nil
	}
	return inBucket(path, err)
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

func inBucket(path [][]byte, err error) error {
	if err == nil || len(path) != 1 {
		return err
	}
	return fmt.Errorf("bucket %q: %w", path[0], err)
}

// leafDepth follows the first branch of a tree to its leaves and returns at
// what depth they are. Nothing is marked as met.
func (c *pageCheck) leafDepth(id uint64) (int, error) {
	b := make([]byte, pageHeader+elementSize)
	for depth := range maxTreeDeep {
		if id < 2 || id >= c.meta.used {
			return 0, corruptf("page %d lies outside the file's %d pages", id, c.meta.used)
		}
		if _, err := c.file.ReadAt(b, int64(id)*int64(c.meta.pageSize)); err != nil {
			return 0, fmt.Errorf("page %d: %w", id, err)
		}
		if binary.LittleEndian.Uint16(b[8:]) != pageBranch {
			return depth, nil
		}
		id = binary.LittleEndian.Uint64(b[pageHeader+8:])
	}
	return 0, corruptf("page %d: branches nest deeper than %d", id, maxTreeDeep)
}

// tree checks a page and what is below it. Its keys must lie in [low, high),
// where nil has no bound. Leaves at depth leavesAt are not read.
func (c *pageCheck) tree(id uint64, low, high []byte, path [][]byte, depth, leavesAt int) error {
	if depth > maxTreeDeep {
		return corruptf("page %d: branches nest deeper than %d", id, maxTreeDeep)
	}
	if depth == leavesAt {
		return c.take(id, 0) // the overflow pages behind it stay unmarked
	}
	p, err := c.read(id, len(path) < 2)
	if err != nil {
		return err
	}
	switch p.flags {
	case pageBranch:
		return c.branch(p, low, high, path, depth, leavesAt)
	case pageLeaf:
		return c.leaf(p, low, high, path)
	}
	return corruptf("page %d: flags %#x are neither branch nor leaf", id, p.flags)
}

func (c *pageCheck) branch(p page, low, high []byte, path [][]byte, depth, leavesAt int) error {
	if p.count == 0 {
		return corruptf("branch page %d is empty", p.id)
	}
	if len(p.data) < p.size { // the keys may lie behind the first page
		p.data = make([]byte, p.size)
		if _, err := c.file.ReadAt(p.data, int64(p.id)*int64(c.meta.pageSize)); err != nil {
			return fmt.Errorf("page %d: %w", p.id, err)
		}
	}
	keys := make([][]byte, p.count)
	next := pageHeader + elementSize*p.count
	for i := range keys {
		at := pageHeader + elementSize*i
		pos, size := binary.LittleEndian.Uint32(p.data[at:]), binary.LittleEndian.Uint32(p.data[at+4:])
		end := uint64(next) + uint64(size)
		if uint64(at)+uint64(pos) != uint64(next) || end > uint64(len(p.data)) {
			return corruptf("branch page %d: key %d does not follow its predecessor", p.id, i)
		}
		keys[i], next = p.data[next:end], int(end)
		if i > 0 && bytes.Compare(keys[i-1], keys[i]) >= 0 {
			return corruptf("branch page %d: keys are out of order", p.id)
		}
	}
	if bytes.Compare(keys[0], low) < 0 || (high != nil && bytes.Compare(keys[p.count-1], high) >= 0) {
		return corruptf("branch page %d: keys lie outside its parent's", p.id)
	}
	for i := range keys {
		child := binary.LittleEndian.Uint64(p.data[pageHeader+elementSize*i+8:])
		from, to := keys[i], high
		if i+1 < len(keys) {
			to = keys[i+1]
		}
		if err := c.tree(child, from, to, path, depth+1, leavesAt); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks a leaf page and the buckets in it. Keys and values stand in the
// order of the elements, without gaps.
func (c *pageCheck) leaf(p page, low, high []byte, path [][]byte) error {
	return c.elements(p, low, high, func(key, value []byte) error {
		if len(value) < bucketHeader {
			return corruptf("page %d: bucket %q has %d bytes", p.id, key, len(value))
		}
		inner := append(append([][]byte(nil), path...), bytes.Clone(key))
		root := binary.LittleEndian.Uint64(value)
		if root != 0 {
			return c.bucket(root, inner, len(inner))
		}
		return c.inline(p.id, value[bucketHeader:])
	})
}

// inline checks the page of a bucket that is small enough to stand in its
// parent's value.
func (c *pageCheck) inline(id uint64, b []byte) error {
	if len(b) < pageHeader || binary.LittleEndian.Uint16(b[8:]) != pageLeaf {
		return corruptf("page %d: a bucket inside it is no leaf", id)
	}
	p := page{id: id, count: int(binary.LittleEndian.Uint16(b[10:])), size: len(b), data: b}
	return c.elements(p, nil, nil, func(key, _ []byte) error {
		return corruptf("page %d: bucket %q inside a bucket inside a page", id, key)
	})
}

// elements checks the elements of a leaf and calls bucket for those that are
// one. Where a key lies behind what was read of a large page, it is read by
// itself.
func (c *pageCheck) elements(p page, low, high []byte, bucket func(key, value []byte) error) error {
	if pageHeader+elementSize*p.count > len(p.data) {
		return corruptf("page %d: %d elements in %d bytes", p.id, p.count, len(p.data))
	}
	next := pageHeader + elementSize*p.count
	previous := low
	for i := range p.count {
		at := pageHeader + elementSize*i
		flags := binary.LittleEndian.Uint32(p.data[at:])
		pos, ksize, vsize := binary.LittleEndian.Uint32(p.data[at+4:]), binary.LittleEndian.Uint32(p.data[at+8:]), binary.LittleEndian.Uint32(p.data[at+12:])
		if at+int(pos) != next || flags > leafIsBucket {
			return corruptf("page %d: element %d does not follow its predecessor", p.id, i)
		}
		end := uint64(next) + uint64(ksize) + uint64(vsize)
		if end > uint64(p.size) {
			return corruptf("page %d: element %d lies outside", p.id, i)
		}
		key, err := c.bytes(p, next, int(ksize))
		if err != nil {
			return err
		}
		if order := bytes.Compare(previous, key); order > 0 || (order == 0 && i > 0) || (high != nil && bytes.Compare(key, high) >= 0) {
			return corruptf("page %d: key %d is out of order", p.id, i)
		}
		previous = key
		if flags == leafIsBucket {
			value, err := c.bytes(p, next+int(ksize), int(vsize))
			if err != nil {
				return err
			}
			if err := bucket(key, value); err != nil {
				return err
			}
		}
		next = int(end)
	}
	return nil
}

// bytes returns bytes of a page that may lie behind what was read of it.
func (c *pageCheck) bytes(p page, at, size int) ([]byte, error) {
	if at+size <= len(p.data) {
		return p.data[at : at+size], nil
	}
	b := make([]byte, size)
	if _, err := c.file.ReadAt(b, int64(p.id)*int64(c.meta.pageSize)+int64(at)); err != nil {
		return nil, fmt.Errorf("page %d: %w", p.id, err)
	}
	return b, nil
}
