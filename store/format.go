package store

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"cohort/placement"
	"cohort/store/internal/damage"
)

// This file has the buckets, tags and seals, and the layouts of small records,
// keys.go those of keys; chunk.go, idsvalue.go, ordinals.go, journal.go,
// journallog.go, kept.go, fieldformat.go and sketchformat.go have the others.
// docs/format.md explains all of them with worked examples.
//
// The file is one bbolt database with these buckets:
//
//	meta      "format", "store", "sketches", "journal"
//	                                          -> formatVersion, settings, precision, where the journal stands
//	events    event name                      -> number, brand
//	days      event number | day              -> bucket: chunk number -> chunk
//	totals    event number | day              -> cardinality, bytes of chunks
//	registry  brand                           -> bucket: chunk number -> ids
//	brands    brand                           -> ids, placements, and ordinals of a dense store
//	ordinals  brand                           -> bucket: chunk number -> placements; of a dense store
//	journal   sequence number                 -> operations of a commit, or a part
//	folded    event number | day              -> last sequence number folded
//	sets      name of a saved set             -> brand, cardinality, bytes
//	setchunks name of a saved set             -> bucket: chunk number -> chunk
//	fields       name of a field              -> number, brand, width, sign, count, bytes
//	fieldslices  field number                 -> bucket: chunk number | slice -> chunk
//	fieldbatches field number | batch         -> rows added, and their SHA-256
//
// Those of sets and fields are there from the first of them on, ordinals from the
// first id of a dense store, and from the first visit on these; kept.go has those of
// what is remembered:
//
//	pages       page | 0 | brand              -> page number
//	sketchdays  day                           -> sketches, bytes of them
//	sketches    day                           -> bucket: block -> its sketches;
//	                                             page number -> one large sketch
//	sites       brand | step | day            -> sketch of all pages
//
// Keys are big-endian, so that they sort by number; everything in values is
// little-endian. Every value is sealed: four bytes of CRC32C over a tag, the
// key and the payload, then the payload. A value found under the wrong key, or
// in the wrong bucket, fails its checksum.

// formatVersion is what this library writes, and the newest it reads.
const formatVersion = 1

// Positions per chunk, as powers of two. Hashed days are uniform: 2^24
// positions make 256 chunks of about 10 kB at a million ids. Number days are
// packed, and so are dense ones: 2^19 positions are at most 64 KiB of bitset.
// Registry chunks of 2^22 positions are about 7 kB at a million ids and 70 kB at ten
// million.
const (
	hashedChunkBits   = 24
	packedChunkBits   = 19
	registryChunkBits = 22
)

var (
	bucketMeta     = []byte("meta")
	bucketEvents   = []byte("events")
	bucketDays     = []byte("days")
	bucketTotals   = []byte("totals")
	bucketRegistry = []byte("registry")
	bucketBrands   = []byte("brands")
	bucketJournal  = []byte("journal")
	bucketFolded   = []byte("folded")

	bucketOrdinals  = []byte("ordinals")
	bucketSets      = []byte("sets")
	bucketSetChunks = []byte("setchunks")

	bucketFields       = []byte("fields")
	bucketFieldSlices  = []byte("fieldslices")
	bucketFieldBatches = []byte("fieldbatches")

	// allBuckets are in every file.
	allBuckets = [][]byte{
		bucketMeta, bucketEvents, bucketDays, bucketTotals,
		bucketRegistry, bucketBrands, bucketJournal, bucketFolded,
	}

	// laterBuckets are made when there is something to put into them; one that is
	// not there is empty. A file has no others: a name that is neither was damaged.
	laterBuckets = slices.Concat([][]byte{bucketOrdinals, bucketSets, bucketSetChunks, bucketFields, bucketFieldSlices, bucketFieldBatches}, sketchBuckets, keptBuckets)

	bucketPages      = []byte("pages")
	bucketSketchDays = []byte("sketchdays")
	bucketSketches   = []byte("sketches")
	bucketSites      = []byte("sites")

	sketchBuckets = [][]byte{bucketPages, bucketSketchDays, bucketSketches, bucketSites}

	keyFormat   = []byte("format")
	keyStore    = []byte("store")
	keySketches = []byte("sketches")

	// keyJournal is in meta once a fold has trimmed the journal, or there was a
	// log beside the file.
	keyJournal = []byte("journal")

	metaKeys = [][]byte{keyFormat, keyStore, keySketches, keyJournal}
)

// tag distinguishes the kinds of sealed values. The numbers are part of the
// format.
type tag byte

const (
	tagFormat       tag = 1
	tagSettings     tag = 2
	tagEvent        tag = 3
	tagChunk        tag = 4
	tagTotal        tag = 5
	tagIDs          tag = 6
	tagBrand        tag = 7
	tagJournal      tag = 8
	tagFolded       tag = 9
	tagSet          tag = 10
	tagSetChunk     tag = 11
	tagJournalState tag = 12
	tagLogHeader    tag = 13
	tagLog          tag = 14
	tagOrdinals     tag = 15

	tagPrecision   tag = 20
	tagPage        tag = 21
	tagSketchDay   tag = 22
	tagSketchBlock tag = 23
	tagSketch      tag = 24
	tagSite        tag = 25

	tagField      tag = 40
	tagFieldSlice tag = 41
	tagFieldBatch tag = 42
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealSize is the room that a sealed value's checksum takes, at its front.
const sealSize = 4

// checksum covers the tag, the key and the payload.
func checksum(t tag, key, payload []byte) uint32 {
	var head [17]byte
	head[0] = byte(t)
	if len(key) < len(head) {
		n := copy(head[1:], key)
		return crc32.Update(crc32.Checksum(head[:1+n], castagnoli), castagnoli, payload)
	}
	c := crc32.Update(crc32.Checksum(head[:1], castagnoli), castagnoli, key)
	return crc32.Update(c, castagnoli, payload)
}

// seal writes the checksum into the first four bytes of value, whose payload
// follows them, and returns value.
func seal(t tag, key, value []byte) []byte {
	binary.LittleEndian.PutUint32(value, checksum(t, key, value[sealSize:]))
	return value
}

// unseal returns the payload of a sealed value, aliasing it, or false where it
// is too short or its checksum does not hold.
func unseal(t tag, key, value []byte) ([]byte, bool) {
	if len(value) < sealSize || binary.LittleEndian.Uint32(value) != checksum(t, key, value[sealSize:]) {
		return nil, false
	}
	return value[sealSize:], true
}

// settings are what a store is created with; they never change.
//
//	ids u8 | positions u8 (1 hashed or of numbers, 2 dense) | week start u8 | drop strings u8 |
//	day chunk bits u8 | registry chunk bits u8 | zone name (the rest)
type settings struct {
	ids         placement.Kind
	positions   Positions // 0 in a store of numbers
	weekStart   WeekStart
	dropStrings bool
	zone        string
}

func (s settings) chunkBits() uint {
	if s.ids == placement.Number || s.dense() {
		return packedChunkBits
	}
	return hashedChunkBits
}

func (s settings) seal() []byte {
	v := make([]byte, sealSize, sealSize+6+len(s.zone))
	v = append(v, byte(s.ids), byte(max(s.positions, Hashed)), byte(s.weekStart), 0, byte(s.chunkBits()), byte(s.registryBits()))
	if s.dropStrings {
		v[sealSize+3] = 1
	}
	return seal(tagSettings, keyStore, append(v, s.zone...))
}

func unsealSettings(v []byte) (settings, error) {
	p, ok := unseal(tagSettings, keyStore, v)
	if !ok || len(p) < 6 {
		return settings{}, corruptf("the store's settings: checksum does not hold")
	}
	s := settings{
		ids:         placement.Kind(p[0]),
		weekStart:   WeekStart(p[2]),
		dropStrings: p[3] == 1,
		zone:        string(p[6:]),
	}
	stands := Positions(p[1])
	if s.ids != placement.Number {
		s.positions = stands
	}
	if s.ids < placement.Branded || s.ids > placement.Number || stands < Hashed || stands > Dense ||
		(s.ids == placement.Number && stands != Hashed) ||
		(s.weekStart != Monday && s.weekStart != Sunday) ||
		uint(p[4]) != s.chunkBits() || uint(p[5]) != s.registryBits() {
		return settings{}, corruptf("the store's settings: % x is not a valid combination", p)
	}
	return s, nil
}

func sealFormat(version uint32) []byte {
	v := binary.LittleEndian.AppendUint32(make([]byte, sealSize), version)
	return seal(tagFormat, keyFormat, v)
}

func unsealFormat(v []byte) (uint32, error) {
	p, ok := unseal(tagFormat, keyFormat, v)
	if !ok || len(p) < 4 {
		return 0, corruptf("the format version: checksum does not hold")
	}
	return binary.LittleEndian.Uint32(p), nil
}

// eventRecord: number u32 | brand 3 bytes (zeros for the nameless brand).
type eventRecord struct {
	number uint32
	brand  placement.Brand
}

func (e eventRecord) seal(name []byte) []byte {
	v := binary.LittleEndian.AppendUint32(make([]byte, sealSize, sealSize+7), e.number)
	return seal(tagEvent, name, append(v, e.brand[:]...))
}

func unsealEvent(name, v []byte) (eventRecord, error) {
	p, ok := unseal(tagEvent, name, v)
	if !ok || len(p) != 7 {
		return eventRecord{}, corruptf("event %q: checksum does not hold", name)
	}
	return eventRecord{binary.LittleEndian.Uint32(p), placement.Brand(p[4:])}, nil
}

// pair is two counters: cardinality and bytes of a day, or ids and placements
// of a brand.
//
//	first u64 | second u64
type pair struct{ first, second uint64 }

// less returns the difference of the counters, modulo 2⁶⁴.
func (c pair) less(d pair) pair { return pair{c.first - d.first, c.second - d.second} }

func (c pair) seal(t tag, key []byte) []byte {
	v := binary.LittleEndian.AppendUint64(make([]byte, sealSize, sealSize+16), c.first)
	return seal(t, key, binary.LittleEndian.AppendUint64(v, c.second))
}

func unsealPair(t tag, key, v []byte) (pair, bool) {
	p, ok := unseal(t, key, v)
	if !ok || len(p) != 16 {
		return pair{}, false
	}
	return pair{binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])}, true
}

// setRecord: brand 3 bytes | cardinality u64 | bytes of chunks u64.
type setRecord struct {
	brand              placement.Brand // zeros also of an empty set that is of no brand
	cardinality, bytes uint64
}

func (r setRecord) seal(name []byte) []byte {
	v := append(make([]byte, sealSize, sealSize+19), r.brand[:]...)
	v = binary.LittleEndian.AppendUint64(v, r.cardinality)
	return seal(tagSet, name, binary.LittleEndian.AppendUint64(v, r.bytes))
}

func unsealSet(name, v []byte) (setRecord, error) {
	p, ok := unseal(tagSet, name, v)
	if !ok || len(p) != 19 {
		return setRecord{}, corruptf("set %q: checksum does not hold", name)
	}
	return setRecord{placement.Brand(p[:3]), binary.LittleEndian.Uint64(p[3:]), binary.LittleEndian.Uint64(p[11:])}, nil
}

// brandCounts are the ids and placements of a brand, and in a dense store, whose
// record is that much longer, the ordinals in its table.
//
//	ids u64 | placements u64 | ordinals u64
type brandCounts struct {
	pair
	ordinals uint64
}

func (c brandCounts) seal(key []byte, dense bool) []byte {
	v := c.pair.seal(tagBrand, key)
	if dense {
		v = seal(tagBrand, key, binary.LittleEndian.AppendUint64(v, c.ordinals))
	}
	return v
}

func unsealBrand(key, v []byte) (c brandCounts, ok bool) {
	if len(v) < sealSize+24 {
		c.pair, ok = unsealPair(tagBrand, key, v)
		return c, ok
	}
	p, ok := unseal(tagBrand, key, v)
	if !ok || len(p) != 24 {
		return c, false
	}
	c.first, c.second, c.ordinals = binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:]), binary.LittleEndian.Uint64(p[16:])
	return c, true
}

// A folded value is the sequence number u64 of the last journal record whose
// operations on the day are all in its chunks.
func sealFolded(key []byte, seq uint64) []byte {
	v := binary.LittleEndian.AppendUint64(make([]byte, sealSize, sealSize+8), seq)
	return seal(tagFolded, key, v)
}

func unsealFolded(key, v []byte) (uint64, error) {
	p, ok := unseal(tagFolded, key, v)
	if !ok || len(p) != 8 {
		return 0, corruptf("the fold mark of a day: checksum does not hold")
	}
	return binary.LittleEndian.Uint64(p), nil
}

func corruptf(format string, args ...any) error { return damage.Errorf(format, args...) }

// journalState says where the journal stands: the last record that is not
// needed any more, and the id of the log beside the file that holds records, 0
// without one.
//
//	floor u64 | log id u64
type journalState struct{ floor, log uint64 }

func (j journalState) seal() []byte {
	return pair{j.floor, j.log}.seal(tagJournalState, keyJournal)
}

func unsealJournalState(v []byte) (journalState, error) {
	p, ok := unsealPair(tagJournalState, keyJournal, v)
	if !ok {
		return journalState{}, corruptf("the state of the journal: checksum does not hold")
	}
	return journalState{p.first, p.second}, nil
}
