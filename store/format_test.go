package store

import (
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store/internal/hll"

	"github.com/RoaringBitmap/roaring/v2"
)

// The bytes of every kind of value, as format 1 has them for ever. Should one of
// these tests fail, the format has changed: files in use would not open, or,
// worse, would open as something else.

func TestFormatBytes(t *testing.T) {
	if formatVersion != 1 {
		t.Fatalf("format %d has no golden bytes", formatVersion)
	}
	usr := placement.Brand([]byte("USR"))
	day := Date(2026, time.January, 30)
	k := makeDayKey(0x01020304, day)
	var rec record
	rec.add(opMark, k, usr, idEntry{placement.Join(0x11121314, 0x21222324), 0x41424344, "é"})
	rec.add(opMark, k, usr, idEntry{mixed: placement.Join(1, 2)})
	rec.add(opUnmark, k, usr, idEntry{mixed: placement.Join(1, 2)})
	ids := []idEntry{
		{placement.Join(5<<22|0x010203, 0x0a0b0c0d), 7, "one"},
		{placement.Join(5<<22|0x010203, 0x0a0b0c0e), 0x31323334, ""},
		{placement.Join(6<<22-1, 0), 0, "three"},
	}
	branded, text := testSettings(placement.Branded, Hashed), testSettings(placement.String, Hashed)
	dense, denseText := testSettings(placement.Branded, Dense), testSettings(placement.String, Dense)
	counts := brandCounts{pair{0x0102030405060708, 0x1112131415161718}, 0x2122232425262728}
	plain := []idEntry{{mixed: ids[0].mixed}, {mixed: ids[1].mixed}, {mixed: ids[2].mixed}}
	runs := roaring.New()
	runs.AddRange(2<<24+10, 2<<24+1000)
	pair := pair{0x0102030405060708, 0x1112131415161718}
	var visits record
	visits.add(opVisit, k, usr, idEntry{mixed: 0x0102030405060708, id: "not kept"})
	var block blockWriter
	block.add(blockEntry{page: 0x01020304, estimate: 300, data: []byte{1, 2, 3}})
	block.add(blockEntry{page: 0x01020306, estimate: 70000, large: true})
	for _, c := range []struct {
		name string
		got  []byte
		want string
	}{
		{"key of a day", k.bytes(), "01020304 80005003"},
		{"key of a day before 1970", makeDayKey(1, -1).bytes(), "00000001 7fffffff"},
		{"key of a chunk", chunkKey(0x0102), "0102"},
		{"key of a journal record", journalKey(0x0102030405060708), "0102030405060708"},
		{"format", sealFormat(1), "61b9f4d5 01000000"},
		{"settings", branded.seal(), "3c502fc8 010101001816555443"},
		{"settings of dropped strings", settings{placement.String, Hashed, Sunday, true, "Europe/Berlin"}.seal(), "325da861 0201020118164575726f70652f4265726c696e"},
		{"settings of numbers", testSettings(placement.Number, 0).seal(), "73aa8d0e 030101001313555443"},
		{"event", eventRecord{0x01020304, usr}.seal([]byte("active")), "addb492e 04030201555352"},
		{"event of no brand", eventRecord{1, placement.Brand{}}.seal([]byte("active")), "817202b2 01000000000000"},
		{"total", pair.seal(tagTotal, k.bytes()), "820d87f7 08070605040302011817161514131211"},
		{"counts of a brand", pair.seal(tagBrand, brandBucketKey(usr)), "a720cb23 08070605040302011817161514131211"},
		{"fold mark", sealFolded(k.bytes(), 0x0102030405060708), "a7862db9 0807060504030201"},
		{"set", setRecord{usr, 0x0102030405060708, 0x1112131415161718}.seal([]byte("bots")), "e5da04f6 55535208070605040302011817161514131211"},
		{"chunk of a set", mustSealSet(t, "bots", 2, roaring.BitmapOf(2<<24, 2<<24+300)), "b87fc2f2 010200000000ac02"},
		{"list", mustSeal(t, k, 2, hashedChunkBits, roaring.BitmapOf(2<<24, 2<<24+1, 2<<24+300, 3<<24-1)), "cd2055f6 01040000000001ab02d3fdff07"},
		{"list of numbers", mustSeal(t, k, 8191, packedChunkBits, roaring.BitmapOf(1<<32-1)), "99bb6343 0101000000ffff1f"},
		{"roaring", mustSeal(t, k, 2, hashedChunkBits, runs), "e012f317 02de0300003b300000010002dd0301000a00dd03"},
		{"registry", sealIDs(branded, usr, 5, plain), "f851ea2c 0103000000030201030201ffff3f0d0c0b0a0e0c0b0a00000000"},
		{"registry with strings", sealIDs(text, placement.Brand{}, 5, ids), "80bf1cc7 0203000000030201030201ffff3f0d0c0b0a0e0c0b0a000000000300000003000000080000006f6e657468726565"},
		{"journal", rec.seal(branded, 1), "444ba129 0104030201035000005553520200000014131211242322210100000002000000020403020103500000555352010000000100000002000000"},
		{"journal with strings", rec.seal(text, 1), "b6733e14 810403020103500000555352020000001413121124232221010000000200000002c3a90082040302010350000055535201000000010000000200000000"},
		{"settings of a dense store", dense.seal(), "306c3f9e 010201001316555443"},
		{"counts of a brand of a dense store", counts.seal(brandBucketKey(usr), true), "be8a870a 080706050403020118171615141312112827262524232221"},
		{"registry of a dense store", sealIDs(dense, usr, 5, ids), "5a1f7e84 0503000000030201030201ffff3f0d0c0b0a0e0c0b0a00000000070000003433323100000000"},
		{"registry of a dense store with strings", sealIDs(denseText, placement.Brand{}, 5, ids), "5cb53f0a 0603000000030201030201ffff3f0d0c0b0a0e0c0b0a000000000700000034333231000000000300000003000000080000006f6e657468726565"},
		{"ordinals", ordinalsValue{1, []byte{1, 2, 3, 4}, []byte{0, 0}}.seal(usr, 0x0102, []uint32{0x11121314, 5}), "0dba0184 0103000000010000000102030414131211050000000000"},
		{"journal of a dense store", rec.seal(dense, 1), "e75012a4 4104030201035000005553520200000014131211242322210100000002000000444342410000000042040302010350000055535201000000010000000200000000000000"},
		{"journal of a dense store with strings", rec.seal(denseText, 1), "b8a94178 c104030201035000005553520200000014131211242322210100000002000000444342410000000002c3a900c204030201035000005553520100000001000000020000000000000000"},
		{"visits of the journal", visits.seal(text, 1), "7e96c14a 030403020103500000555352010000000807060504030201"},
		{"precision", sealNumber(tagPrecision, keySketches, 14), "51cf7f29 0e000000"},
		{"page", sealNumber(tagPage, pageNameKey("/home", usr), 0x01020304), "d6fb1ba5 04030201"},
		{"key of a page", pageNameKey("/home", usr), "2f686f6d65 00 555352"},
		{"sketches of a day", pair.seal(tagSketchDay, sketchDayKey(day)), "5203eecd 08070605040302011817161514131211"},
		{"key of a block", blockKey(blockOf(0x01020304)), "010203"},
		{"block", block.seal(day, 0x010203), "03e7d564 04ac020406f0a204000000010203"},
		{"large sketch", sealSketch(tagSketch, daySealKey(day, pageKey(0x01020304)), sketchOf(t, 2, 0x7f)), "1b56ea09 01027f"},
		{"site sketch", sealSketch(tagSite, siteKey(usr, siteWeek, day), sketchOf(t, 2)), "ec429cb3 0102"},
		{"key of a site sketch", siteKey(usr, siteMonth, day), "555352 03 80005003"},
	} {
		want := strings.ReplaceAll(c.want, " ", "")
		if got := hex.EncodeToString(c.got); got != want {
			t.Errorf("%s: got\n%s, want\n%s", c.name, got, want)
		}
	}
}

func testSettings(ids placement.Kind, p Positions) settings {
	return settings{ids: ids, positions: p, weekStart: Monday, zone: "UTC"}
}

// sketchOf decodes a sparse sketch.
func sketchOf(t *testing.T, data ...byte) *hll.Sketch {
	t.Helper()
	s, ok := hll.Decode(10, hll.Sparse, data)
	if !ok {
		t.Fatalf("% x is no sketch", data)
	}
	return s
}

func mustSeal(t *testing.T, k dayKey, number uint32, bits uint, b *roaring.Bitmap) []byte {
	t.Helper()
	v, err := sealChunk(k, number, bits, b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func mustSealSet(t *testing.T, name string, number uint32, b *roaring.Bitmap) []byte {
	t.Helper()
	v, err := sealChunkAs(tagSetChunk, setChunkSealKey(name, number), number, hashedChunkBits, b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestAppliedOps compares operations applied to a list with the same applied to a
// bitmap: a fold takes the one or the other way.
func TestAppliedOps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		base := roaring.New()
		for range rng.IntN(40) {
			base.Add(rng.Uint32N(60))
		}
		c := new(chunkOps)
		for range rng.IntN(40) { // some replace an earlier one
			pos := rng.Uint32N(60)
			c.ops.put(op{pos: pos, set: rng.IntN(2) == 0, base: base.Contains(pos)}, compareOps)
		}
		got := c.applied(base.ToArray())
		c.apply(base)
		if want := base.ToArray(); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
