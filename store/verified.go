package store

import (
	"encoding/binary"
	"hash/maphash"
	"sync/atomic"
	"unsafe"

	"cohort/store/internal/kernel"
)

// verified remembers which values' checksums were found right since the store
// was opened, so that each is computed once: at 9 to 12 GB/s it would take
// longer than many a question. A value is known by its key, where it lies in
// the mapped file, its length and the checksum written in it. bbolt never
// writes over a page that someone may read, and a page used again carries
// another checksum, so nothing needs to be forgotten. Each value has one slot;
// another value may take it, and then both are computed again when they meet.
type verified struct {
	seed  maphash.Seed
	slots []atomic.Uint64
}

const (
	verifiedSlots = 1 << 16 // 512 KiB
	// verifiedMin is the size from which looking up is quicker than computing.
	verifiedMin = 512
)

func newVerified() *verified {
	return &verified{seed: maphash.MakeSeed(), slots: make([]atomic.Uint64, verifiedSlots)}
}

// unseal returns the payload of a sealed value as the function unseal does, and
// makes sure that it is sound.
func (v *verified) unseal(t tag, key, value []byte) ([]byte, bool) {
	if len(value) < verifiedMin {
		p, ok := unseal(t, key, value)
		return p, ok && sound(t, p)
	}
	slot, h := v.slot(t, key, uint64(uintptr(unsafe.Pointer(&value[0]))), binary.LittleEndian.Uint32(value), len(value))
	if slot.Load() == h {
		return value[sealSize:], true
	}
	p, ok := unseal(t, key, value)
	if ok = ok && sound(t, p); ok {
		slot.Store(h)
	}
	return p, ok
}

// once has a bucket with a root page checked, unless it was found right before. It has
// another root page after each change.
func (v *verified) once(t tag, key []byte, root uint64, check func() error) error {
	slot, h := v.slot(t, key, root, 0, 0)
	if slot.Load() == h {
		return nil
	}
	if err := check(); err != nil {
		return err
	}
	slot.Store(h)
	return nil
}

// slot returns the slot of a value, and what stands in it where the value was verified.
func (v *verified) slot(t tag, key []byte, at uint64, sum uint32, size int) (slot *atomic.Uint64, h uint64) {
	var mark [24]byte
	binary.LittleEndian.PutUint64(mark[:], maphash.Bytes(v.seed, key))
	binary.LittleEndian.PutUint64(mark[8:], at^uint64(t)<<56)
	binary.LittleEndian.PutUint32(mark[16:], sum)
	binary.LittleEndian.PutUint32(mark[20:], uint32(size))
	h = maphash.Bytes(v.seed, mark[:])
	return &v.slots[h%verifiedSlots], h
}

// sound reports whether a value whose checksum holds is what a writer may have
// written, as far as opening it does not tell.
func sound(t tag, payload []byte) bool {
	if t != tagChunk && t != tagRollup && t != tagSetChunk && t != tagFieldSlice || len(payload) < chunkHeader || payload[0] != chunkRoaring {
		return true
	}
	return kernel.Valid(payload[chunkHeader:], int(binary.LittleEndian.Uint32(payload[1:])))
}
