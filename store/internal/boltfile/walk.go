package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"

	"cohort/store/internal/damage"
)

// Walk checks the structure of a file's pages: numbers, types and counts, lengths,
// the order of keys, a page met twice. It believes nothing and reads with plain reads.
// It is for one goroutine.
type Walk struct {
	// Skip, where it is set, names the buckets of which the leaves of the buckets inside
	// are not read. No page number stands in those; what they hold is not checked.
	Skip func(bucket []byte) bool

	// Fault, where it is set, is told what is wrong in a bucket, and the walk goes
	// on behind the bucket. The path is the names of the buckets from the file's down.
	Fault func(path [][]byte, err error)

	file *os.File
	head Head
	seen []uint64 // one bit a page
}

// NewWalk returns a walk over the pages of a head's commit.
func NewWalk(file *os.File, head Head) *Walk {
	return &Walk{file: file, head: head, seen: make([]uint64, head.Used/64+1)}
}

// Met returns how many pages were met.
func (w *Walk) Met() (n uint64) {
	for _, word := range w.seen {
		n += uint64(bits.OnesCount64(word))
	}
	return n
}

// Buckets checks all buckets of the file. Errors: of damage, with the bucket, or the
// system's.
func (w *Walk) Buckets() error { return w.bucket(w.head.Root, nil, 0) }

// page is a page with its overflow pages' share of elements.
type page struct {
	id    uint64
	flags uint16
	count int
	size  int // bytes, overflow pages included
	data  []byte
}

// take marks the pages of a page as met.
func (w *Walk) take(id uint64, overflow uint32) error {
	if id < 2 || id >= w.head.Used || uint64(overflow) >= w.head.Used-id {
		return damage.Errorf("page %d with %d overflow pages lies outside the file's %d pages", id, overflow, w.head.Used)
	}
	for p := id; p <= id+uint64(overflow); p++ {
		if w.seen[p/64]>>(p%64)&1 == 1 {
			return damage.Errorf("page %d is in use twice", p)
		}
		w.seen[p/64] |= 1 << (p % 64)
	}
	return nil
}

// read reads a page: its header, and as much of the rest as holds elements and
// keys. Values behind the first page are not read unless whole is set.
func (w *Walk) read(id uint64, whole bool) (page, error) {
	if id < 2 || id >= w.head.Used {
		return page{}, damage.Errorf("page %d lies outside the file's %d pages", id, w.head.Used)
	}
	at := int64(id) * int64(w.head.PageSize)
	b := make([]byte, w.head.PageSize)
	if _, err := w.file.ReadAt(b, at); err != nil {
		return page{}, fmt.Errorf("page %d: %w", id, err)
	}
	overflow := binary.LittleEndian.Uint32(b[12:])
	p := page{
		id:    id,
		flags: binary.LittleEndian.Uint16(b[8:]),
		count: int(binary.LittleEndian.Uint16(b[10:])),
		size:  (int(overflow) + 1) * w.head.PageSize,
		data:  b,
	}
	if binary.LittleEndian.Uint64(b) != id {
		return p, damage.Errorf("page %d says it is page %d", id, binary.LittleEndian.Uint64(b))
	}
	if err := w.take(id, overflow); err != nil {
		return p, err
	}
	if p.flags != pageFreelist && pageHeader+elementSize*p.count > p.size {
		return p, damage.Errorf("page %d: %d elements in %d bytes", id, p.count, p.size)
	}
	if need := pageHeader + elementSize*p.count; whole || need > len(b) {
		p.data = make([]byte, p.size)
		if _, err := w.file.ReadAt(p.data, at); err != nil && !errors.Is(err, io.EOF) {
			return p, fmt.Errorf("page %d: %w", id, err)
		}
	}
	return p, nil
}

// Freelist checks the list of free pages, where the file has one.
func (w *Walk) Freelist() error {
	id := w.head.freelist
	if id == noFreelist {
		return nil
	}
	p, err := w.read(id, true)
	if err != nil {
		return fmt.Errorf("free list: %w", err)
	}
	if p.flags != pageFreelist {
		return damage.Errorf("free list: page %d is of another type", id)
	}
	n, at := p.count, pageHeader
	if n == 0xffff { // the count stands in the first element
		if len(p.data) < at+8 {
			return damage.Errorf("free list: page %d ends early", id)
		}
		n, at = int(binary.LittleEndian.Uint64(p.data[at:])), at+8
	}
	if n < 0 || n > (len(p.data)-at)/8 {
		return damage.Errorf("free list: %d pages do not fit into page %d", n, id)
	}
	for ; n > 0; n, at = n-1, at+8 {
		if err := w.take(binary.LittleEndian.Uint64(p.data[at:]), 0); err != nil {
			return fmt.Errorf("free list: %w", err)
		}
	}
	return nil
}

// bucket checks the tree of the bucket at a nesting depth.
func (w *Walk) bucket(root uint64, path [][]byte, deep int) error {
	if deep > maxBucketDeep {
		return damage.Errorf("buckets nest deeper than %d", maxBucketDeep)
	}
	leavesAt := -1
	if w.Skip != nil && deep == 2 && w.Skip(path[0]) {
		var err error
		if leavesAt, err = w.leafDepth(root); err != nil {
			return inBucket(path, err)
		}
	}
	err := w.tree(root, nil, nil, path, 0, leavesAt)
	if err != nil && w.Fault != nil {
		w.Fault(path, err)
		return nil
	}
	return inBucket(path, err)
}

func inBucket(path [][]byte, err error) error {
	if err == nil || len(path) != 1 {
		return err
	}
	return fmt.Errorf("bucket %q: %w", path[0], err)
}

// leafDepth follows the first branch of a tree to its leaves and returns at
// what depth they are. Nothing is marked as met.
func (w *Walk) leafDepth(id uint64) (int, error) {
	b := make([]byte, pageHeader+elementSize)
	for depth := range maxTreeDeep {
		if id < 2 || id >= w.head.Used {
			return 0, damage.Errorf("page %d lies outside the file's %d pages", id, w.head.Used)
		}
		if _, err := w.file.ReadAt(b, int64(id)*int64(w.head.PageSize)); err != nil {
			return 0, fmt.Errorf("page %d: %w", id, err)
		}
		if binary.LittleEndian.Uint16(b[8:]) != pageBranch {
			return depth, nil
		}
		id = binary.LittleEndian.Uint64(b[pageHeader+8:])
	}
	return 0, damage.Errorf("page %d: branches nest deeper than %d", id, maxTreeDeep)
}

// tree checks a page and what is below it. Its keys must lie in [low, high),
// where nil has no bound. Leaves at depth leavesAt are not read.
func (w *Walk) tree(id uint64, low, high []byte, path [][]byte, depth, leavesAt int) error {
	if depth > maxTreeDeep {
		return damage.Errorf("page %d: branches nest deeper than %d", id, maxTreeDeep)
	}
	if depth == leavesAt {
		return w.take(id, 0) // the overflow pages behind it stay unmarked
	}
	p, err := w.read(id, len(path) < 2)
	if err != nil {
		return err
	}
	switch p.flags {
	case pageBranch:
		return w.branch(p, low, high, path, depth, leavesAt)
	case pageLeaf:
		return w.leaf(p, low, high, path)
	}
	return damage.Errorf("page %d: flags %#x are neither branch nor leaf", id, p.flags)
}

func (w *Walk) branch(p page, low, high []byte, path [][]byte, depth, leavesAt int) error {
	if p.count == 0 {
		return damage.Errorf("branch page %d is empty", p.id)
	}
	if len(p.data) < p.size { // the keys may lie behind the first page
		p.data = make([]byte, p.size)
		if _, err := w.file.ReadAt(p.data, int64(p.id)*int64(w.head.PageSize)); err != nil {
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
			return damage.Errorf("branch page %d: key %d does not follow its predecessor", p.id, i)
		}
		keys[i], next = p.data[next:end], int(end)
		if i > 0 && bytes.Compare(keys[i-1], keys[i]) >= 0 {
			return damage.Errorf("branch page %d: keys are out of order", p.id)
		}
	}
	if bytes.Compare(keys[0], low) < 0 || (high != nil && bytes.Compare(keys[p.count-1], high) >= 0) {
		return damage.Errorf("branch page %d: keys lie outside its parent's", p.id)
	}
	for i := range keys {
		child := binary.LittleEndian.Uint64(p.data[pageHeader+elementSize*i+8:])
		from, to := keys[i], high
		if i+1 < len(keys) {
			to = keys[i+1]
		}
		if err := w.tree(child, from, to, path, depth+1, leavesAt); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks a leaf page and the buckets in it. Keys and values stand in the
// order of the elements, without gaps.
func (w *Walk) leaf(p page, low, high []byte, path [][]byte) error {
	return w.elements(p, low, high, func(key, value []byte) error {
		if len(value) < bucketHeader {
			return damage.Errorf("page %d: bucket %q has %d bytes", p.id, key, len(value))
		}
		inner := append(append([][]byte(nil), path...), bytes.Clone(key))
		root := binary.LittleEndian.Uint64(value)
		if root != 0 {
			return w.bucket(root, inner, len(inner))
		}
		return w.inline(p.id, value[bucketHeader:])
	})
}

// inline checks the page of a bucket that is small enough to stand in its
// parent's value.
func (w *Walk) inline(id uint64, b []byte) error {
	if len(b) < pageHeader || binary.LittleEndian.Uint16(b[8:]) != pageLeaf {
		return damage.Errorf("page %d: a bucket inside it is no leaf", id)
	}
	p := page{id: id, count: int(binary.LittleEndian.Uint16(b[10:])), size: len(b), data: b}
	return w.elements(p, nil, nil, func(key, _ []byte) error {
		return damage.Errorf("page %d: bucket %q inside a bucket inside a page", id, key)
	})
}

// elements checks the elements of a leaf and calls bucket for those that are
// one. Where a key lies behind what was read of a large page, it is read by
// itself.
func (w *Walk) elements(p page, low, high []byte, bucket func(key, value []byte) error) error {
	if pageHeader+elementSize*p.count > len(p.data) {
		return damage.Errorf("page %d: %d elements in %d bytes", p.id, p.count, len(p.data))
	}
	if p.count == 0 && p.size > pageHeader { // an empty bucket stands in its parent, without room
		return damage.Errorf("page %d: a leaf without elements", p.id)
	}
	next := pageHeader + elementSize*p.count
	previous := low
	for i := range p.count {
		at := pageHeader + elementSize*i
		flags := binary.LittleEndian.Uint32(p.data[at:])
		pos, ksize, vsize := binary.LittleEndian.Uint32(p.data[at+4:]), binary.LittleEndian.Uint32(p.data[at+8:]), binary.LittleEndian.Uint32(p.data[at+12:])
		if at+int(pos) != next || flags > leafIsBucket {
			return damage.Errorf("page %d: element %d does not follow its predecessor", p.id, i)
		}
		end := uint64(next) + uint64(ksize) + uint64(vsize)
		if end > uint64(p.size) {
			return damage.Errorf("page %d: element %d lies outside", p.id, i)
		}
		key, err := w.bytes(p, next, int(ksize))
		if err != nil {
			return err
		}
		if order := bytes.Compare(previous, key); order > 0 || (order == 0 && i > 0) || (high != nil && bytes.Compare(key, high) >= 0) {
			return damage.Errorf("page %d: key %d is out of order", p.id, i)
		}
		previous = key
		if flags == leafIsBucket {
			value, err := w.bytes(p, next+int(ksize), int(vsize))
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
func (w *Walk) bytes(p page, at, size int) ([]byte, error) {
	if at+size <= len(p.data) {
		return p.data[at : at+size], nil
	}
	b := make([]byte, size)
	if _, err := w.file.ReadAt(b, int64(p.id)*int64(w.head.PageSize)+int64(at)); err != nil {
		return nil, fmt.Errorf("page %d: %w", p.id, err)
	}
	return b, nil
}
