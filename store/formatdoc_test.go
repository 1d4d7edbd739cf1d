package store

import (
	"bytes"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store/internal/hll"

	"github.com/RoaringBitmap/roaring/v2"
)

// TestFormatExample compares the worked examples of docs/format.md, blocks of
// hexadecimal fenced as "hex NAME", with what the code writes.
func TestFormatExample(t *testing.T) {
	id, err := placement.ParseBranded("USR0KHTOWnGLuC")
	if err != nil {
		t.Fatal(err)
	}
	m, entry := id.Mixed(), idEntry{mixed: id.Mixed()}
	k := makeDayKey(1, Date(2026, time.January, 30))
	number := m.Placement() >> hashedChunkBits
	chunk, err := sealChunk(k, number, hashedChunkBits, roaring.BitmapOf(m.Placement()))
	if err != nil {
		t.Fatal(err)
	}
	var rec record
	rec.add(opMark, k, id.Brand, entry)
	visit := hll.New(hll.DefaultPrecision)
	visit.Add([]uint64{m.Hash()})
	_, visitData := visit.Encode()
	var ofDay blockWriter
	ofDay.add(blockEntry{page: 1, estimate: 1, data: visitData})
	key := k.bytes()
	want := map[string][]byte{
		"event":    eventRecord{1, id.Brand}.seal([]byte("active")),
		"chunk":    chunk,
		"total":    pair{1, uint64(len(chunk))}.seal(tagTotal, key),
		"registry": sealIDs(testSettings(placement.Branded, Hashed), id.Brand, m.Placement()>>registryChunkBits, []idEntry{entry}),
		"journal":  rec.seal(testSettings(placement.Branded, Hashed), 1),
		"ordinals": ordinalsValue{}.seal(id.Brand, 0, []uint32{m.Placement()}),
		"daykey":   key,
		"page":     sealNumber(tagPage, pageNameKey("home", id.Brand), 1),
		"block":    ofDay.seal(k.day(), blockOf(1)),
		"set":      setRecord{id.Brand, 1, uint64(len(chunk))}.seal([]byte("bots")),
	}
	doc, err := os.ReadFile("../docs/format.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```hex ([a-z]+)\n(.*?)```")
	comment := regexp.MustCompile("(?m)[|;].*$")
	for _, found := range block.FindAllSubmatch(doc, -1) {
		name := string(found[1])
		text := comment.ReplaceAllString(string(found[2]), "")
		got, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(got, want[name]) {
			t.Errorf("%s: docs/format.md has % x, the code writes % x", name, got, want[name])
		}
		delete(want, name)
	}
	for name, b := range want {
		t.Errorf("docs/format.md has no example %q: % x", name, b)
	}
}
