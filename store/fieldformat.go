package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"cohort/placement"

	bolt "go.etcd.io/bbolt"
)

// Layouts of fields; see format.go. A field's values stand bit-sliced (O'Neil and
// Quass, Improved Query Performance with Variant Indexes, SIGMOD 1997): one bitmap of
// the positions that have a value, one of those whose value is negative, and one for
// each bit of the magnitude. They are cut into chunks as days are. The slices of one
// chunk have keys that follow one another:
//
//	chunk number u16 | slice u8: 0 has a value, 1 negative, 2+i bit i of the magnitude
//
// An empty slice has no entry. No value is a negative zero.
const (
	sliceExists   = 0
	sliceNegative = 1
	sliceBits     = 2 // and those that follow

	maxFieldBits = 63
	maxSlices    = sliceBits + maxFieldBits
)

// Buckets of fields; nil before the first one.
func (r *reader) fields() *bolt.Bucket       { return r.tx.Bucket(bucketFields) }
func (r *reader) fieldSlices() *bolt.Bucket  { return r.tx.Bucket(bucketFieldSlices) }
func (r *reader) fieldBatches() *bolt.Bucket { return r.tx.Bucket(bucketFieldBatches) }

// fieldDay stands for the day in the keys of fields among fold marks and in the
// journal: it is none, so that no key of an event is the same.
const fieldDay = MaxDay + 1

// fieldKey names a field where days of events are named.
func fieldKey(number uint32) dayKey { return makeDayKey(number, fieldDay) }

// fieldBucketKey is the key of a field's slices.
func fieldBucketKey(number uint32) []byte { return binary.BigEndian.AppendUint32(nil, number) }

func sliceKey(chunk uint32, slice int) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(chunk)), byte(slice))
}

func parseSliceKey(b []byte) (chunk uint32, slice int, ok bool) {
	if len(b) != 3 || b[2] >= maxSlices {
		return 0, 0, false
	}
	return uint32(binary.BigEndian.Uint16(b)), int(b[2]), true
}

// sliceSealKey is what the checksum of a slice covers as its key: the field's number
// before its own.
func sliceSealKey(field uint32, key []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, 8), field), key...)
}

// sealField encodes a field's record:
//
//	number u32 | brand 3 bytes, zeros before the first write | bits u8 | signed u8 |
//	count u64 | bytes of slices u64
func sealField(f Field) []byte {
	v := binary.LittleEndian.AppendUint32(make([]byte, sealSize, sealSize+25), f.number)
	v = append(append(v, f.Brand[:]...), byte(f.Bits), 0)
	if f.Signed {
		v[len(v)-1] = 1
	}
	v = binary.LittleEndian.AppendUint64(v, f.Count)
	return seal(tagField, []byte(f.Name), binary.LittleEndian.AppendUint64(v, f.Bytes))
}

func unsealField(name, v []byte) (Field, error) {
	p, ok := unseal(tagField, name, v)
	if !ok || len(p) != 25 || p[7] < 1 || p[7] > maxFieldBits || p[8] > 1 {
		return Field{}, corruptf("field %q: checksum does not hold", name)
	}
	return Field{
		Name: string(name), number: binary.LittleEndian.Uint32(p), Brand: placement.Brand(p[4:7]), Bits: int(p[7]), Signed: p[8] == 1,
		Count: binary.LittleEndian.Uint64(p[9:]), Bytes: binary.LittleEndian.Uint64(p[17:]),
	}, nil
}

func fieldHolds(key, value []byte) bool {
	_, err := unsealField(key, value)
	return err == nil
}

// batchRecord says how far a batch of rows to be added to a field has come.
//
//	rows u64 | done u8 | SHA-256 of the rows
type batchRecord struct {
	rows uint64
	done bool
	sum  [32]byte
}

// batchKey is the field's number, then the batch's name.
func batchKey(field uint32, name string) []byte {
	return append(fieldBucketKey(field), name...)
}

func (b batchRecord) seal(key []byte) []byte {
	v := binary.LittleEndian.AppendUint64(make([]byte, sealSize, sealSize+41), b.rows)
	v = append(v, 0)
	if b.done {
		v[len(v)-1] = 1
	}
	return seal(tagFieldBatch, key, append(v, b.sum[:]...))
}

func unsealBatch(key, v []byte) (b batchRecord, err error) {
	p, ok := unseal(tagFieldBatch, key, v)
	if !ok || len(p) != 41 || len(key) < 5 || p[8] > 1 {
		return b, corruptf("batch %x: checksum does not hold", key)
	}
	return batchRecord{binary.LittleEndian.Uint64(p), p[8] == 1, [32]byte(p[9:])}, nil
}

func batchHolds(key, value []byte) bool {
	_, err := unsealBatch(key, value)
	return err == nil
}

// batch returns how far a batch has come; the zero record of one not begun.
func (r *reader) batch(field uint32, name string) (b batchRecord, err error) {
	key := batchKey(field, name)
	v, err := lookup(r.fieldBatches(), key, batchHolds)
	if v == nil || err != nil {
		return b, err
	}
	return unsealBatch(key, v)
}

func (w *writer) putBatch(field uint32, name string, b batchRecord) error {
	bucket, err := w.tx.CreateBucketIfNotExists(bucketFieldBatches)
	if err == nil {
		key := batchKey(field, name)
		err = bucket.Put(key, b.seal(key))
	}
	if err != nil {
		return fmt.Errorf("batch %q: %w", name, err)
	}
	return nil
}

// dropBatches forgets the batches of a field.
func (w *writer) dropBatches(field uint32) error {
	if w.fieldBatches() == nil {
		return nil
	}
	var keys [][]byte
	prefix := fieldBucketKey(field)
	c := w.fieldBatches().Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, bytes.Clone(k))
	}
	for _, k := range keys {
		if err := w.fieldBatches().Delete(k); err != nil {
			return err
		}
	}
	return nil
}
