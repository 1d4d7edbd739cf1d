package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"cohort/placement"

	"github.com/RoaringBitmap/roaring/v2"
)

// Whatever passes a checksum must be decoded without a panic: these targets
// give the decoders any payload at all.

var (
	fuzzKey   = makeDayKey(7, Date(2026, 1, 30))
	fuzzBrand = placement.Brand([]byte("USR"))
)

// samples are bitmaps of one chunk with every kind of container.
func samples() []*roaring.Bitmap {
	list, array, bitset, runs, mixed := roaring.New(), roaring.New(), roaring.New(), roaring.New(), roaring.New()
	for i := range uint32(300) {
		list.Add(i * 50_000)
	}
	for i := range uint32(4096) {
		array.Add(i * 4000)
	}
	for i := range uint32(20_000) {
		bitset.Add(i * 3)
	}
	runs.AddRange(100, 200_000)
	runs.AddRange(1<<20, 1<<20+5000)
	runs.AddRange(1<<24-3, 1<<24)
	mixed.AddRange(1<<16-1, 1<<17+1)
	mixed.Or(bitset)
	mixed.Or(array)
	return []*roaring.Bitmap{roaring.BitmapOf(0), list, array, bitset, runs, mixed}
}

func FuzzChunk(f *testing.F) {
	for _, b := range samples() {
		v, err := sealChunk(fuzzKey, 0, hashedChunkBits, b)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(v[sealSize:], b.Maximum())
		f.Add(v[sealSize:len(v)-1], b.Minimum())
	}
	f.Fuzz(func(t *testing.T, payload []byte, pos uint32) {
		c, err := parseChunk(0, payload)
		if err != nil {
			return
		}
		_, _ = c.contains(pos) // only that they return
		_, _ = c.list(nil)
		b, err := c.bitmap()
		if err != nil || c.kind != chunkList {
			return
		}
		for _, p := range append(b.ToArray(), pos) {
			if got, err := c.contains(p); err != nil || got != b.Contains(p) {
				t.Fatalf("contains %d: got %v, %v, want %v", p, got, err, b.Contains(p))
			}
		}
	})
}

// FuzzChunkOf seals a bitmap and compares what the chunk says of it with what
// the bitmap does.
func FuzzChunkOf(f *testing.F) {
	f.Add([]byte{0}, uint16(0), false)
	f.Add([]byte("\x00\x00\x00\x01\xff\xff\x03\x00\x10\x02\x00\x04"), uint16(255), true)
	f.Add(bytes.Repeat([]byte("\x11\x01\x37\x00\x02"), 400), uint16(3), true)
	f.Fuzz(func(t *testing.T, program []byte, number uint16, hashed bool) {
		bits := uint(packedChunkBits)
		if hashed {
			bits, number = hashedChunkBits, number%256
		} else {
			number %= 1 << (32 - packedChunkBits)
		}
		b := build(program, uint32(number)<<bits, bits)
		want := b.Clone()
		v, err := sealChunk(fuzzKey, uint32(number), bits, b)
		if err != nil {
			t.Fatal(err)
		}
		if want.IsEmpty() {
			if v != nil {
				t.Fatalf("an empty chunk is % x", v)
			}
			return
		}
		p, ok := unseal(tagChunk, chunkSealKey(fuzzKey, uint32(number)), v)
		if !ok {
			t.Fatal("the checksum does not hold")
		}
		c, err := parseChunk(uint32(number)<<bits, p)
		if err != nil || uint64(c.card) != want.GetCardinality() {
			t.Fatalf("cardinality %d, %v, want %d", c.card, err, want.GetCardinality())
		}
		if got, err := c.bitmap(); err != nil || !got.Equals(want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
		if got, err := c.list(nil); err != nil || !slices.Equal(got, want.ToArray()) {
			t.Fatalf("list %v, %v, want %v", got, err, want)
		}
		compareContains(t, c, want)
	})
}

// FuzzMergeChunk merges positions into a chunk and compares the new one with the
// union of both.
func FuzzMergeChunk(f *testing.F) {
	many := bytes.Repeat([]byte("\x03\x01\x00\x00\x1f\x00\x00\x42\x00\x09"), 3)
	f.Add([]byte{}, many, false)
	f.Add(many, []byte("\x00\x01\x00\x00\x1f"), true)
	f.Add([]byte("\x02\x00\x10\x00\x17"), many, true)
	f.Fuzz(func(t *testing.T, old, add []byte, hashed bool) {
		r := &reader{set: settings{ids: placement.Number}, verified: newVerified()}
		if hashed {
			r.set.ids = placement.Branded
		}
		const number = 5
		bits := r.set.chunkBits()
		before, more := build(old, number<<bits, bits), build(add, number<<bits, bits)
		if more.GetCardinality() > 1<<20 {
			return
		}
		value, err := sealChunk(fuzzKey, number, bits, before.Clone())
		if err != nil {
			t.Fatal(err)
		}
		rows := more.ToArray()
		slices.Reverse(rows)
		c := chunkChange{key: fuzzKey, number: number, old: value, add: append(rows, rows[:len(rows)/2]...)}
		if err := r.mergeChunk(&c); err != nil {
			t.Fatal(err)
		}
		want := roaring.Or(before, more)
		if c.before != before.GetCardinality() || c.after != want.GetCardinality() || c.added != c.after-c.before {
			t.Fatalf("before %d, after %d, added %d, want %d, %d", c.before, c.after, c.added, before.GetCardinality(), want.GetCardinality())
		}
		if want.IsEmpty() {
			return
		}
		merged, err := r.openChunk(fuzzKey, number, c.value)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := merged.bitmap(); err != nil || !got.Equals(want) {
			t.Fatalf("got %v, %v, want %v", got, err, want)
		}
		compareContains(t, merged, want)
	})
}

// compareContains looks up the bounds of every run, and their neighbours.
func compareContains(t *testing.T, c chunk, want *roaring.Bitmap) {
	look := func(p uint32) {
		if got, err := c.contains(p); err != nil || got != want.Contains(p) {
			t.Fatalf("contains %d: got %v, %v, want %v", p, got, err, want.Contains(p))
		}
	}
	last := uint32(0)
	for i, p := range want.ToArray() {
		if i == 0 || p != last+1 {
			look(last)
			look(last + 1)
			look(p - 1)
			look(p)
		}
		last = p
	}
	look(last)
	look(last + 1)
	look(1<<32 - 1)
}

// build runs a program of five-byte steps on an empty bitmap: add one position,
// add a range, remove a range.
func build(program []byte, base uint32, bits uint) *roaring.Bitmap {
	b := roaring.New()
	limit := uint64(1) << bits
	for ; len(program) >= 5; program = program[5:] {
		at := uint64(binary.LittleEndian.Uint32(program)) >> 2 % limit
		n := uint64(program[4]) * uint64(program[4])
		from, to := uint64(base)+at, uint64(base)+min(at+n+1, limit)
		switch program[0] % 4 {
		case 0:
			b.Add(uint32(from))
		case 1:
			b.RemoveRange(from, to)
		case 2:
			b.AddRange(from, to)
		default:
			for p := from; p < to; p += 2 {
				b.Add(uint32(p))
			}
		}
	}
	return b
}

func FuzzOpenRecord(f *testing.F) {
	var r record
	r.add(opMark, fuzzKey, fuzzBrand, idEntry{1, 9, "one"})
	r.add(opMark, fuzzKey+1, fuzzBrand, idEntry{mixed: 2})
	r.add(opUnmark, fuzzKey, fuzzBrand, idEntry{mixed: 1})
	g := r.add(opField, fieldKey(3), fuzzBrand, idEntry{4, 5, "four"})
	g.values = append(g.values, -7)
	r.add(opFieldClear, fieldKey(3), fuzzBrand, idEntry{mixed: 4})
	for _, p := range []Positions{Hashed, Dense} {
		f.Add(r.seal(testSettings(placement.String, p), 1)[sealSize:], p == Dense)
		f.Add(r.seal(testSettings(placement.Branded, p), 1)[sealSize:], p == Dense)
	}
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, payload []byte, dense bool) {
		s := testSettings(placement.String, Hashed)
		if dense {
			s.positions = Dense
		}
		groups, err := openRecord(s, 1, payload)
		if err != nil {
			return
		}
		var again record
		for _, g := range groups {
			again.groups = append(again.groups, &g)
		}
		got, err := openRecord(s, 1, again.encode(nil, s))
		if err != nil || !reflect.DeepEqual(got, groups) {
			t.Fatalf("written again: %+v, %v, want %+v", got, err, groups)
		}
	})
}

func FuzzOpenIDs(f *testing.F) {
	entries := []idEntry{{placement.Join(3, 1), 2, "a"}, {placement.Join(3, 2), 0, "bb"}, {placement.Join(1<<22-1, 0), 1, ""}}
	for _, p := range []Positions{Hashed, Dense} {
		branded, text := testSettings(placement.Branded, p), testSettings(placement.String, p)
		f.Add(sealIDs(text, fuzzBrand, 0, entries)[sealSize:], uint32(3), "x")
		f.Add(sealIDs(branded, fuzzBrand, 0, entries)[sealSize:], uint32(1<<22-1), "")
		f.Add(sealIDs(branded, fuzzBrand, 0, nil)[sealSize:], uint32(0), "")
	}
	f.Fuzz(func(t *testing.T, payload []byte, at uint32, id string) {
		v, ok := parseIDs(0, payload)
		if !ok {
			return
		}
		at %= 1 << registryChunkBits
		i := v.find(at)
		if i < 0 || i > v.n {
			t.Fatalf("find %d of %d entries: %d", at, v.n, i)
		}
		v.count(i, at)
		_, _ = v.entries() // only that they return
		s := testSettings(placement.Branded, Hashed)
		if v.ends != nil {
			s.ids = placement.String
		}
		if v.positions != nil {
			s.positions = Dense
		}
		add := []idEntry{{placement.Join(at, 9), 4, id}}
		_, _ = v.insert(s, fuzzBrand, 0, add, v.points(add))
	})
}

// FuzzInsertIDs compares entries inserted into a sealed chunk with the chunk of
// all of them, and looks every one up.
func FuzzInsertIDs(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"), true, false)
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x00\x02\x01\x00\x00\x00\x00\x03\xff\xff\xff\xff\x04"), false, true)
	f.Fuzz(func(t *testing.T, data []byte, keep, dense bool) {
		const number = 5
		s := testSettings(placement.Branded, Hashed)
		if keep {
			s.ids = placement.String
		}
		if dense {
			s.positions = Dense
		}
		var all, old, add []idEntry
		for ; len(data) >= 5; data = data[5:] {
			offset := (uint32(data[1]) | uint32(data[2])<<8 | uint32(data[3])<<16) % (1 << registryChunkBits)
			e := idEntry{mixed: placement.Join(number<<registryChunkBits+offset, uint32(data[4]))}
			e.pos = e.mixed.Placement()
			if dense {
				e.pos = uint32(len(all))
			}
			if keep {
				e.id = fmt.Sprintf("%*d", data[0]%7, offset)
			}
			if slices.ContainsFunc(all, func(x idEntry) bool { return x.mixed == e.mixed }) {
				continue
			}
			all = append(all, e)
			if data[0]%2 == 0 {
				old = append(old, e)
			} else {
				add = append(add, e)
			}
		}
		slices.SortFunc(all, idEntry.compare)
		slices.SortFunc(old, idEntry.compare)
		slices.SortFunc(add, idEntry.compare)
		v, ok := parseIDs(number<<registryChunkBits, sealIDs(s, fuzzBrand, number, old)[sealSize:])
		if !ok {
			t.Fatal("what was sealed does not open")
		}
		want := sealIDs(s, fuzzBrand, number, all)
		got, err := v.insert(s, fuzzBrand, number, add, v.points(add))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("insert %v into %v: % x, %v, want % x", add, old, got, err, want)
		}
		v, ok = parseIDs(number<<registryChunkBits, want[sealSize:])
		if !ok {
			t.Fatal("what was inserted does not open")
		}
		for _, e := range all {
			p := e.mixed.Placement()
			i, _ := slices.BinarySearchFunc(all, p, func(x idEntry, p uint32) int { return cmp.Compare(x.mixed.Placement(), p) })
			if got := v.find(p); got != i {
				t.Fatalf("find %d: entry %d, want %d", p, got, i)
			}
		}
		if entries, err := v.entries(); err != nil || !slices.Equal(entries, all) {
			t.Fatalf("entries %v, %v, want %v", entries, err, all)
		}
	})
}

func FuzzUnsealSettings(f *testing.F) {
	for _, s := range []settings{
		{placement.Branded, Dense, Monday, false, "UTC"},
		{placement.String, Hashed, Sunday, true, "America/New_York"},
		{placement.Number, 0, Monday, false, ""},
	} {
		f.Add(s.seal()[sealSize:])
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		s, err := unsealSettings(seal(tagSettings, keyStore, append(make([]byte, sealSize), payload...)))
		if err != nil {
			return
		}
		if again, err := unsealSettings(s.seal()); err != nil || again != s {
			t.Fatalf("written again: %+v, %v, want %+v", again, err, s)
		}
	})
}

// FuzzCheckPages gives the walk over the file's pages any pages at all, behind
// heads that are right: what it passes, bbolt will follow.
func FuzzCheckPages(f *testing.F) {
	path := filepath.Join(f.TempDir(), "store")
	if err := writeEmpty(path, testSettings(placement.Branded, Hashed)); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file, true)
	f.Add(file, false)
	f.Fuzz(func(t *testing.T, file []byte, all bool) {
		if len(file) < 8192 {
			return
		}
		for at := 0; at <= 4096; at += 4096 {
			meta := file[at+16:] // behind the page's header
			h := fnv.New64a()
			_, _ = h.Write(meta[:56]) // a hash never fails
			binary.LittleEndian.PutUint64(meta[56:], h.Sum64())
		}
		path := filepath.Join(t.TempDir(), "store")
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = checkPages(path, all) // only that it returns
	})
}

// FuzzFieldValues reads the records of fields and batches, and the keys of slices.
func FuzzFieldValues(f *testing.F) {
	name := []byte("level")
	for _, field := range []Field{{Name: "level", Bits: 8, number: 1}, {Name: "level", Bits: 63, Signed: true, Brand: fuzzBrand, Count: 9, Bytes: 77, number: 1 << 31}} {
		f.Add(sealField(field)[sealSize:], []byte{0, 1, 2})
	}
	f.Add(batchRecord{rows: 3, done: true}.seal(batchKey(1, "b"))[sealSize:], []byte{255, 255, 64})
	f.Fuzz(func(t *testing.T, payload, key []byte) {
		v := append(make([]byte, sealSize), payload...)
		if field, err := unsealField(name, seal(tagField, name, v)); err == nil {
			if !bytes.Equal(sealField(field), v) {
				t.Fatalf("field %+v is written otherwise", field)
			}
			if low, high := field.Limits(); low > 0 || high < 0 || low == 0 && field.Signed {
				t.Fatalf("field %+v has the limits %d, %d", field, low, high)
			}
		}
		if b, err := unsealBatch(batchKey(1, "b"), seal(tagFieldBatch, batchKey(1, "b"), v)); err == nil && !bytes.Equal(b.seal(batchKey(1, "b")), v) {
			t.Fatalf("batch %+v is written otherwise", b)
		}
		if chunk, slice, ok := parseSliceKey(key); ok && !bytes.Equal(sliceKey(chunk, slice), key) {
			t.Fatalf("slice %d of chunk %d is written otherwise", slice, chunk)
		}
	})
}
