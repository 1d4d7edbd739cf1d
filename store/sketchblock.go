package store

import (
	"cohort/store/internal/hll"

	bolt "go.etcd.io/bbolt"
)

// blockChange is what visits make of one block. mergeBlock may run beside that of
// other blocks; only the rest needs the transaction.
type blockChange struct {
	day   Day
	block uint32
	add   []pageVisits // ascending by page

	old    []byte            // the sealed block, or nil
	larges map[uint32][]byte // sealed large sketches of the pages: before, then after

	value           []byte // the new sealed block
	sketches, bytes int64
	changed         uint64 // visits that changed a sketch
	err             *sketchFault
}

// sketchFault says that a sketch could not be read.
type sketchFault struct {
	day    Day
	page   uint32
	reason string
}

func (f *sketchFault) Error() string { return f.reason }

// fault names a sketch that could not be read by its page and day.
func (r *reader) fault(f *sketchFault) error {
	return corruptf("the sketch of page %s on %s: %s", r.pageName(f.page), f.day, f.reason)
}

// Why a sketch cannot be read.
const (
	blockChecksum  = "the checksum of its block does not hold"
	blockLengths   = "the lengths of its block do not hold together"
	sketchMissing  = "it is missing"
	sketchChecksum = "its checksum does not hold"
	sketchState    = "it is no state of a sketch"
)

// newBlockChange reads what a change of a block starts from.
func (w *writer) newBlockChange(d *sketchDay, add []pageVisits) (*blockChange, error) {
	c := &blockChange{day: d.day, block: blockOf(add[0].page), add: add, larges: make(map[uint32][]byte)}
	var err error
	if c.old, err = w.sketchEntry(d.bucket, d.day, blockKey(c.block)); err != nil || c.old == nil {
		return c, err
	}
	payload, ok := w.verified.unseal(tagSketchBlock, daySealKey(d.day, blockKey(c.block)), c.old)
	if !ok {
		return nil, w.fault(&sketchFault{d.day, add[0].page, blockChecksum})
	}
	entries := openBlock(c.block, payload)
	for e, ok := entries.next(); ok && len(add) > 0; e, ok = entries.next() {
		for len(add) > 0 && add[0].page < e.page {
			add = add[1:]
		}
		if !e.large || len(add) == 0 || add[0].page != e.page {
			continue
		}
		if c.larges[e.page], err = w.sketchEntry(d.bucket, d.day, pageKey(e.page)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// sketchEntry returns a sealed value from a day's bucket, or nil.
func (r *reader) sketchEntry(b *bolt.Bucket, day Day, key []byte) ([]byte, error) {
	return lookup(b, key, func(key, value []byte) bool {
		t := tagSketchBlock
		if len(key) == 4 {
			t = tagSketch
		}
		_, ok := r.verified.unseal(t, daySealKey(day, key), value)
		return ok
	})
}

// mergeBlock computes the new block and its large sketches.
func (r *reader) mergeBlock(c *blockChange) error {
	old := blockEntries{last: -1, list: []byte{0, 0}} // none
	if c.old != nil {
		old = openBlock(c.block, c.old[sealSize:])
	}
	before := c.larges
	c.larges = make(map[uint32][]byte)
	c.bytes = -int64(len(c.old))
	var out blockWriter
	e, more := old.next()
	for add := c.add; more || len(add) > 0; {
		switch {
		case len(add) == 0 || more && e.page < add[0].page:
			out.add(e)
			e, more = old.next()
			continue
		case more && e.page == add[0].page:
			if c.err = r.mergeEntry(c, &e, add[0], before[e.page]); c.err == nil {
				out.add(e)
			}
			e, more = old.next()
		default:
			fresh := blockEntry{page: add[0].page}
			if c.err = r.mergeEntry(c, &fresh, add[0], nil); c.err == nil {
				out.add(fresh)
			}
			c.sketches++
		}
		if c.err != nil {
			return c.err
		}
		add = add[1:]
	}
	if old.bad {
		c.err = &sketchFault{c.day, c.add[0].page, blockLengths}
		return c.err
	}
	c.value = out.seal(c.day, c.block)
	c.bytes += int64(len(c.value))
	return nil
}

// mergeEntry adds the visits of one page to its entry.
func (r *reader) mergeEntry(c *blockChange, e *blockEntry, v pageVisits, large []byte) *sketchFault {
	s := hll.New(r.precision)
	if e.estimate > 0 { // it was there
		kind, data, reason := r.sketchData(c.day, *e, large)
		if reason == "" {
			var ok bool
			if s, ok = hll.Decode(r.precision, kind, data); !ok {
				reason = sketchState
			}
		}
		if reason != "" {
			return &sketchFault{c.day, e.page, reason}
		}
	}
	changed := s.Add(v.hashes)
	if changed == 0 {
		return nil
	}
	c.changed += changed
	e.estimate = s.Estimate()
	kind, data := s.Encode()
	if e.large = kind == hll.Dense || len(data) > smallSketch; !e.large {
		e.data = data
		return nil
	}
	e.data = nil
	value := sealSketch(tagSketch, daySealKey(c.day, pageKey(e.page)), s)
	c.larges[e.page] = value
	c.bytes += int64(len(value) - len(large))
	return nil
}

// sketchData returns the kind and the data of an entry's sketch, or why there are
// none. Large is the sealed value of one that stands by itself.
func (r *reader) sketchData(day Day, e blockEntry, large []byte) (kind byte, data []byte, reason string) {
	if !e.large {
		return hll.Sparse, e.data, ""
	}
	if large == nil {
		return 0, nil, sketchMissing
	}
	p, ok := r.verified.unseal(tagSketch, daySealKey(day, pageKey(e.page)), large)
	if !ok || len(p) == 0 {
		return 0, nil, sketchChecksum
	}
	return p[0], p[1:], ""
}
