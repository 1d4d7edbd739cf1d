package store_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cohort/placement"
	"cohort/store"
)

// goldens are stores of format 1, kept in testdata as they were written. Every
// version must open them and answer as below. None is ever written again: a
// new kind of content gets a new file.
var goldens = []struct {
	name   string
	opts   store.Options
	rows   func(t testing.TB) []store.Mark
	facts  bool // it has a field, visits and a set as well
	open   bool // it was not closed: half of it is in the journal
	digest string
	events []string
	ids    []string // of the first event, the first three
}{
	{
		name:   "branded", // closed
		opts:   store.Options{IDs: placement.Branded, TimeZone: "America/New_York", WeekStart: store.Sunday},
		rows:   goldenBranded,
		digest: "854980ea3d07626b7a5913f55e7156ab699fef125ef4c1d05478bbfe6cbc64bd",
		events: []string{
			`active|USR|2026-01-29..2026-03-09|40 days|99 marks`,
			`players|PLR|1970-01-02..1970-01-01|0 days|0 marks`,
			`zwei [x]|USR|2026-03-09..2026-03-09|1 days|2 marks`,
			`brand "PLR"|1 ids|1 placements`,
			`brand "USR"|104 ids|102 placements`,
		},
		ids: []string{"USR0KHTOWnGLut", "USR0KHTOWnGLvT", "USR0KHTOWnGLuV"},
	},
	{
		name:   "strings",
		opts:   store.Options{IDs: placement.String},
		rows:   goldenStrings,
		open:   true,
		digest: "10210e909499e855000450b6aad7227c6fded0c5d553b437cd65c86d8e8b7693",
		events: []string{
			`aktivní||2026-03-03..2026-03-09|7 days|59 marks`,
			`shared||2026-03-09..2026-03-09|1 days|1 marks`,
			`brand ""|52 ids|51 placements`,
		},
		ids: []string{"uživatel-5", "uživatel-34", "uživatel-37"},
	},
	{
		name:   "dropped",
		opts:   store.Options{IDs: placement.String, DropStrings: true},
		rows:   goldenStrings,
		digest: "98d6f1bae2f5c184874f267e6c5dc03bc6ab245394998f6cc9c5140edd225880",
		events: []string{
			`aktivní||2026-03-03..2026-03-09|7 days|59 marks`,
			`shared||2026-03-09..2026-03-09|1 days|1 marks`,
			`brand ""|52 ids|51 placements`,
		},
		ids: []string{"the store was created without keeping strings: its members cannot be listed"},
	},
	{
		name:   "numbers", // chunks of every kind
		opts:   store.Options{IDs: placement.Number},
		rows:   goldenNumbers,
		digest: "ccc2f628236ca1aa5c31e0f1c4e84b81909cbb63091dd7392fa72f0e40e9b531",
		events: []string{
			`arrays||1969-12-31..1969-12-31|1 days|800 marks`,
			`bits||2026-03-09..2026-03-09|1 days|5999 marks`,
			`runs||2026-03-08..2026-03-08|1 days|3000 marks`,
			`brand ""|9769 ids|9769 placements`,
		},
		ids: []string{"0", "3", "12"},
	},
	{
		name:   "dense",
		opts:   store.Options{IDs: placement.Branded, Positions: store.Dense},
		rows:   goldenBranded,
		digest: "fc8187a8b5c3a3fb434c10def04f0e8f0fb6c359944b4f192d11db8047c0d2f2",
		events: []string{
			`active|USR|2026-01-29..2026-03-09|40 days|99 marks`,
			`players|PLR|1970-01-02..1970-01-01|0 days|0 marks`,
			`zwei [x]|USR|2026-03-09..2026-03-09|1 days|4 marks`,
			`brand "PLR"|1 ids|1 placements`,
			`brand "USR"|104 ids|102 placements`,
		},
		ids: []string{"USR0KHTOWnGLut", "USR0KHTOWnGLvT", "USR0KHTOWnGLuV"},
	},
	{
		name:   "facts",
		opts:   store.Options{IDs: placement.Branded, Positions: store.Hashed, SketchPrecision: 10},
		rows:   goldenBranded,
		facts:  true,
		digest: "0a47f4d1762a3afbc3ca8a9a6107b9e81e8ac5b3e5a168be3f3dd31235cf6f95",
		events: []string{
			`active|USR|2026-01-29..2026-03-09|40 days|99 marks`,
			`players|PLR|1970-01-02..1970-01-01|0 days|0 marks`,
			`zwei [x]|USR|2026-03-09..2026-03-09|1 days|2 marks`,
			`brand "PLR"|1 ids|1 placements`,
			`brand "USR"|104 ids|102 placements`,
		},
		ids: []string{"USR0KHTOWnGLut", "USR0KHTOWnGLvT", "USR0KHTOWnGLuV"},
	},
	{
		name:   "dense-facts",
		opts:   store.Options{IDs: placement.String, Positions: store.Dense, SketchPrecision: 10},
		rows:   goldenStrings,
		facts:  true,
		open:   true,
		digest: "25ecbf6a5e8834bb13129b2386c2801ea619234bd892123e4a96ef31d2ec1244",
		events: []string{
			`aktivní||2026-03-03..2026-03-09|7 days|59 marks`,
			`shared||2026-03-09..2026-03-09|1 days|1 marks`,
			`brand ""|52 ids|51 placements`,
		},
		ids: []string{"uživatel-5", "uživatel-34", "uživatel-37"},
	},
}

func goldenBranded(t testing.TB) (rows []store.Mark) {
	rows = slices.Collect(someMarks("active", 100, 274557032793636864))
	for i := range rows {
		rows[i].Day -= store.Day(i % 40)
	}
	for _, pair := range collidingPairs(t)[:2] {
		rows = append(rows, marksOf("zwei [x]", today, pair[:])...)
	}
	return append(rows, store.Mark{Event: "players", ID: "PLR0KHTOWnGLuC", Day: store.MinDay})
}

func goldenStrings(testing.TB) (rows []store.Mark) {
	for i := range 60 {
		rows = append(rows, store.Mark{Event: "aktivní", ID: fmt.Sprintf("uživatel-%d", i%50), Day: today - store.Day(i%7)})
	}
	return append(rows, marksOf("shared", today, []string{"visitor-140199", "visitor-147363"})...)
}

func goldenNumbers(testing.TB) (rows []store.Mark) {
	for i := range 6000 {
		rows = append(rows, store.Mark{Event: "bits", ID: strconv.Itoa(i * 2), Day: today})
		if i < 3000 {
			rows = append(rows, store.Mark{Event: "runs", ID: strconv.Itoa(1<<31 + i), Day: today - 1})
		}
		if i < 800 {
			rows = append(rows, store.Mark{Event: "arrays", ID: strconv.Itoa(i * i * 3), Day: -1})
		}
	}
	return append(rows, store.Mark{Event: "arrays", ID: "4294967295", Day: today})
}

// goldenFacts adds a field, visits and a set of the ids of some marks.
func goldenFacts(t testing.TB, db *store.DB, rows []store.Mark) {
	t.Helper()
	if _, err := db.DefineField(ctx, "level", store.FieldOptions{Bits: 20, Signed: true}); err != nil {
		t.Fatal(err)
	}
	var ids []string
	var visits []store.Visit
	for i, r := range rows[:40] {
		ids = append(ids, r.ID)
		for page := range 1 + i%3 {
			visits = append(visits, store.Visit{Page: fmt.Sprint("/page/", page), ID: r.ID, Day: r.Day})
		}
		if err := db.SetField(ctx, "level", r.ID, int64(i*i*100-50_000)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.ObserveMany(ctx, slices.Values(visits)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.SaveIDs(ctx, "group", noErrors(ids[:20])); err != nil {
		t.Fatal(err)
	}
}

// compareFacts compares what goldenFacts added, as far as the digest does not tell.
func compareFacts(t *testing.T, s *store.Snapshot, rows []store.Mark) {
	t.Helper()
	for _, i := range []int{10, 39} {
		if v, has, err := s.FieldValue("level", rows[i].ID); err != nil || !has || v != int64(i*i*100-50_000) {
			t.Errorf("level of %s: %d, %t, %v", rows[i].ID, v, has, err)
		}
	}
	top, err := s.TopPages(3, store.Period{First: store.MinDay, Last: store.MaxDay})
	var got []string
	for _, p := range top {
		got = append(got, fmt.Sprint(p.Page.Name, " ", p.Count))
	}
	if want := []string{"/page/0 40", "/page/1 26", "/page/2 13"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("pages %q, %v, want %q", got, err, want)
	}
}

func goldenFile(name string) string { return filepath.Join("testdata", "golden-1-"+name+".db.gz") }

// writeGolden writes a golden file that does not exist yet.
func writeGolden(t *testing.T, name string, opts store.Options, rows []store.Mark, facts, leaveOpen bool) {
	t.Helper()
	opts.Now, opts.FoldAge = noon, -1
	opts.SetLogAfter(1 << 30) // all in one file
	dir := t.TempDir()
	path := filepath.Join(dir, "db")
	db := mustOpen(t, path, &opts)
	half := len(rows) / 2
	if _, err := loadRows(db, rows[:half], len(rows)); err != nil {
		t.Fatal(err)
	}
	if facts {
		goldenFacts(t, db, rows)
		if err := errors.Join(db.Fold(ctx), db.Remember(ctx)); err != nil {
			t.Fatal(err)
		}
		goldenFacts(t, db, rows) // again, in the journal
	}
	if _, err := db.MarkMany(ctx, slices.Values(rows[half:])); err != nil {
		t.Fatal(err)
	}
	for _, r := range []store.Mark{rows[0], rows[len(rows)-1]} { // one folded, one not
		if _, err := db.Unmark(ctx, r.Event, r.ID, r.Day); err != nil {
			t.Fatal(err)
		}
	}
	if leaveOpen {
		open := filepath.Join(dir, "open")
		if err := db.CopyFile(open); err != nil {
			t.Fatal(err)
		}
		path = open
	}
	mustClose(t, db)
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = zip.Write(mustRead(t, path))
	}
	if err = errors.Join(err, zip.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(goldenFile(name), out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGolden(t *testing.T) {
	for _, g := range goldens {
		t.Run(g.name, func(t *testing.T) {
			if _, err := os.Stat(goldenFile(g.name)); err != nil && os.Getenv("COHORT_GOLDEN") == "write" {
				writeGolden(t, g.name, g.opts, g.rows(t), g.facts, g.open)
			}
			f, err := os.Open(goldenFile(g.name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			zip, err := gzip.NewReader(f)
			if err != nil {
				t.Fatal(err)
			}
			file, err := io.ReadAll(zip)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "db")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, readOnly := range []bool{true, false, false} {
				opts := g.opts
				opts.ReadOnly, opts.Now = readOnly, noon
				db := mustOpen(t, path, &opts)
				compareGolden(t, db, g.digest, g.events, g.ids)
				if faults, _ := verify(t, db); len(faults) > 0 {
					t.Error(faults)
				}
				if g.facts {
					s, err := db.Snapshot()
					if err != nil {
						t.Fatal(err)
					}
					compareFacts(t, s, g.rows(t))
					mustClose(t, s)
				}
				mustClose(t, db)
			}
			compareFresh(t, g.opts, g.rows(t), g.facts, g.digest)
		})
	}
}

func compareGolden(t *testing.T, db *store.DB, digest string, events, ids []string) {
	t.Helper()
	if got := digestOf(t, db); got != digest {
		t.Errorf("digest %s, want %s", got, digest)
	}
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	list, err := s.Events("")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, fmt.Sprintf("%s|%s|%s|%d days|%d marks", e.Name, e.Brand, e.Period(), e.Days, e.Marks))
	}
	brands, err := s.Brands()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range brands {
		got = append(got, fmt.Sprintf("brand %q|%d ids|%d placements", b.Brand, b.IDs, b.Placements))
	}
	if !slices.Equal(got, events) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(events, "\n"))
	}
	if len(list) == 0 {
		return
	}
	b, err := s.Bitmap(list[0].Name, list[0].Period())
	if err != nil {
		t.Fatal(err)
	}
	var members []string
	for id, err := range s.MembersAt(list[0].Brand, b) {
		if err != nil {
			members = []string{err.Error()}
		} else {
			members = append(members, id)
		}
	}
	if got := members[:min(3, len(members))]; !slices.Equal(got, ids) {
		t.Errorf("the first members are %q, want %q", got, ids)
	}
}

// compareFresh makes the store again: the same facts have the same digest in
// every version.
func compareFresh(t *testing.T, opts store.Options, rows []store.Mark, facts bool, digest string) {
	t.Helper()
	opts.Now = noon
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), &opts)
	defer mustClose(t, db)
	if facts {
		goldenFacts(t, db, rows)
	}
	if _, err := db.MarkMany(ctx, slices.Values(rows)); err != nil {
		t.Fatal(err)
	}
	for _, r := range []store.Mark{rows[0], rows[len(rows)-1]} {
		if _, err := db.Unmark(ctx, r.Event, r.ID, r.Day); err != nil {
			t.Fatal(err)
		}
	}
	if got := digestOf(t, db); got != digest {
		t.Errorf("digest of a new store %s, want %s", got, digest)
	}
}
