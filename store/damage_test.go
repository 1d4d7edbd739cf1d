package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"

	bolt "go.etcd.io/bbolt"
)

// damaged is the store that the tests here damage: small, with everything in it
// that a file can have. It was closed, or left as a process leaves it that dies.
// The journal of the open one holds marks, unmarks, new ids and values.
func damaged(t testing.TB, path string, closed, dense bool) {
	t.Helper()
	dir := t.TempDir()
	opts := inHashed(options(placement.Branded))
	opts.SketchPrecision = 10
	opts.SetLogAfter(1 << 30) // the file is all there is of it
	if dense {
		opts = inDense(opts)
	}
	db := mustOpen(t, filepath.Join(dir, "db"), opts)
	var rows []store.Mark
	for day := range store.Day(90) { // the totals fill more than a page
		rows = append(rows, slices.Collect(someMarks("daily", 3, uint64(day%4)))...)
		for i := range rows[len(rows)-3:] {
			rows[len(rows)-3+i].Day -= day
		}
	}
	rows = slices.AppendSeq(rows, someMarks("large", 400, 1000)) // chunks in pages of their own
	for i := range uint64(40) {
		rows = append(rows, store.Mark{Event: "other brand", ID: branded("PLR", i), Day: today - store.Day(i%3)})
	}
	for _, pair := range collidingPairs(t)[:3] {
		rows = append(rows, marksOf("shared", today, pair[:])...)
	}
	if _, err := loadRows(db, rows, len(rows)); err != nil {
		t.Fatal(err)
	}
	saveSomeSets(t, db)
	setSomeFields(t, db)
	if err := db.Remember(ctx); err != nil {
		t.Fatal(err)
	}
	var visits []store.Visit
	for i := range uint64(300) { // two blocks, a large sketch and a dense one
		visits = append(visits, store.Visit{Page: fmt.Sprintf("page %d", i), ID: branded("USR", i%7), Day: today - 1},
			store.Visit{Page: "large", ID: branded("USR", i), Day: today - 1})
	}
	for i := range uint64(600) {
		visits = append(visits, store.Visit{Page: "dense", ID: branded("USR", i), Day: today - 40})
	}
	if _, err := db.ObserveMany(ctx, slices.Values(visits)); err != nil {
		t.Fatal(err)
	}
	rows = slices.Collect(someMarks("recent", 50, 90_000))
	for range 2 {
		if err := db.Fold(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := db.MarkMany(ctx, slices.Values(rows)); err != nil {
			t.Fatal(err)
		}
		for i := range rows[:5] {
			if _, err := db.Unmark(ctx, rows[i].Event, rows[i].ID, today); err != nil {
				t.Fatal(err)
			}
		}
		rows = slices.Collect(someMarks("journal", 50, 95_000))
		for i := range uint64(6) { // new values, changed ones, and one taken away
			id := branded("USR", 1397+i)
			if _, err := db.UpdateFields(ctx, id, store.AddTo("score", -3, store.Wrap), store.ClearOf("level")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := db.Observe(ctx, "page 7", branded("PLR", 7), today); err != nil {
			t.Fatal(err)
		}
	}
	if closed {
		mustClose(t, db)
		copyFile(t, filepath.Join(dir, "db"), path)
	} else {
		if err := db.CopyFile(path); err != nil {
			t.Fatal(err)
		}
		mustClose(t, db)
	}
	// Without the tail that the file has grown by and not used yet.
	pages, size, err := store.UsedPages(path)
	if err == nil {
		err = os.Truncate(path, int64(pages*size))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// setSomeFields defines fields and gives values to ids of many chunks.
func setSomeFields(t testing.TB, db *store.DB) {
	t.Helper()
	for name, f := range map[string]struct {
		store.FieldOptions
		value func(i uint64) int64
	}{
		"level": {store.FieldOptions{Bits: 12}, func(i uint64) int64 { return int64(i * i % 4096) }},
		"score": {store.FieldOptions{Bits: 6, Signed: true}, func(i uint64) int64 { return int64(i%64) - 32 }},
		"unset": {store.FieldOptions{Bits: 63}, nil},
	} {
		if _, err := db.DefineField(ctx, name, f.FieldOptions); err != nil {
			t.Fatal(err)
		}
		values := func(yield func(string, int64) bool) {
			for i := range uint64(80) {
				if f.value == nil || !yield(branded("USR", 1000+i), f.value(i)) {
					return
				}
			}
		}
		if _, err := db.SetFieldMany(ctx, name, values); err != nil {
			t.Fatal(err)
		}
	}
}

// saveSomeSets saves sets of one chunk, of many, and an empty one.
func saveSomeSets(t testing.TB, db *store.DB) {
	t.Helper()
	for _, set := range []struct {
		name    string
		n, from uint64
	}{{"bots", 3, 0}, {"control", 250, 1000}, {"nobody", 0, 0}, {"staff", 2, 1 << 50}} {
		var ids []string
		for i := range set.n {
			ids = append(ids, branded("USR", set.from+i))
		}
		if _, err := db.SaveIDs(ctx, set.name, noErrors(ids)); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, mustRead(t, from), 0o600); err != nil {
		t.Fatal(err)
	}
}

// damage is a file with something wrong in it.
type damage struct {
	what string
	head bool // in one of the file's two heads
	file []byte
}

// damages yields n damaged files: three in four with one bit flipped, half of
// these in what bbolt follows without a checksum, the others with a page
// zeroed, or overwritten by another, or the file cut, or overwritten with
// garbage at some place.
func damages(file []byte, rng *rand.Rand, n int) iter.Seq[damage] {
	inside, names := structure(file)
	const page = 4096
	pages := len(file) / page
	return func(yield func(damage) bool) {
		for i := range n {
			d := damage{file: slices.Clone(file)}
			at := rng.IntN(len(file))
			to := at / page * page
			switch rng.IntN(16) {
			case 0:
				clear(d.file[to : to+page])
				d.what = fmt.Sprintf("page %d zeroed", to/page)
			case 1:
				from := rng.IntN(pages) * page
				copy(d.file[to:to+page], file[from:])
				d.what = fmt.Sprintf("page %d overwritten with page %d", to/page, from/page)
			case 2:
				d.file = d.file[:at]
				d.what = fmt.Sprintf("cut to %d bytes", at)
			case 3:
				size := min(1+rng.IntN(64), len(file)-at)
				for j := range size {
					d.file[at+j] = byte(rng.Uint32())
				}
				d.what = fmt.Sprintf("%d bytes of garbage at %d in page %d", size, at%page, at/page)
			default:
				if i%2 == 0 {
					at = inside[rng.IntN(len(inside))]
				}
				bit := rng.IntN(8)
				d.file[at] ^= 1 << bit
				d.what = fmt.Sprintf("bit %d of byte %d flipped, at %d in page %d (%s)", bit, at, at%page, at/page, names[at])
			}
			d.head = len(d.file) >= 2*page && !bytes.Equal(d.file[:2*page], file[:2*page])
			if !yield(d) {
				return
			}
		}
	}
}

// structure returns the offsets of all bytes that belong to heads, page headers,
// elements, keys and buckets, and what each of them is.
func structure(file []byte) (offsets []int, names map[int]string) {
	names = make(map[int]string)
	run := func(from, size int, name string) {
		for at := from; at < min(from+size, len(file)); at++ {
			offsets = append(offsets, at)
			names[at] = name
		}
	}
	run(0, 80, "head")
	run(4096, 80, "head")
	for page := 2 * 4096; page < len(file); {
		p := file[page:]
		u32 := func(at int) int { return int(binary.LittleEndian.Uint32(p[at:])) }
		flags, count := binary.LittleEndian.Uint16(p[8:]), int(binary.LittleEndian.Uint16(p[10:]))
		run(page, 16, fmt.Sprintf("header of a page with flags %#x", flags))
		for i := range count {
			at := 16 + 16*i
			switch flags {
			case 1:
				run(page+at, 16, "branch element")
				run(page+at+u32(at), u32(at+4), "branch key")
			case 2:
				run(page+at, 16, "leaf element")
				key := at + u32(at+4)
				run(page+key, u32(at+8), fmt.Sprintf("leaf key %q", p[key:key+u32(at+8)]))
				if u32(at) == 1 {
					run(page+key+u32(at+8), u32(at+12), fmt.Sprintf("bucket %q", p[key:key+u32(at+8)]))
				}
			default:
				run(page+16+8*i, 8, "free page")
			}
		}
		page += 4096 * (1 + u32(12))
	}
	return offsets, names
}

// childDamage opens the store at path as damaged in many ways, one after
// another, and says what goes wrong. The seed is that of the damages and how
// many there are.
func childDamage(path, seed string) error {
	var n, count int
	if _, err := fmt.Sscan(seed, &n, &count); err != nil {
		return err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p := prober{path: path + " damaged", file: file}
	if err := p.prepare(); err != nil {
		return err
	}
	say("open")
	i := 0
	for d := range damages(file, rand.New(rand.NewPCG(uint64(n), 0)), count) {
		say("damage %d: %s", i, d.what)
		i++
		watchdog := time.AfterFunc(5*time.Minute, func() {
			stacks := make([]byte, 1<<20)
			fmt.Fprintf(os.Stderr, "hangs\n%s", stacks[:runtime.Stack(stacks, true)])
			os.Exit(1)
		})
		probe := p.probe
		if d.head {
			probe = p.probeHead
		}
		if found := probe(d.file); len(found) > 0 {
			say("wrong %s", found[0])
		}
		watchdog.Stop()
	}
	say("done")
	return nil
}

// TestDamage damages small stores in all ways. A damaged store refuses to open,
// or refuses to answer, or answers as if it were whole. It never answers
// wrongly, panics or hangs.
func TestDamage(t *testing.T) {
	seed := time.Now().UnixNano()
	for i, closed := range []bool{true, false} {
		kind := kindOf(i + rand.IntN(2)) // now one, now the other
		t.Run(map[bool]string{true: "closed", false: "open"}[closed], func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(workDir(t), "db")
			damaged(t, path, closed, kind == store.Dense)
			t.Logf("seed %d, %s, %d bytes", seed, kind, len(mustRead(t, path)))
			c := startChild(t, "damage", path, fmt.Sprint(seed, " ", alone(long(300, 20_000))))
			last := c.await(t, "open")
			for c.lines.Scan() {
				line := c.lines.Text()
				if strings.HasPrefix(line, "wrong") {
					t.Errorf("%s\n%s", last, line)
				} else {
					last = line
				}
			}
			if err := c.Wait(); err != nil || last != "done" {
				t.Fatalf("%s: %v\n%s", last, err, c.stderr.String())
			}
		})
	}
}

// childWalk flips bits in what bbolt follows, and where the walk over the pages
// passes the file, has bbolt walk over it, as it does when it opens a file that
// was not closed.
func childWalk(path, seed string) error {
	var n uint64
	var count int
	if _, err := fmt.Sscan(seed, &n, &count); err != nil {
		return err
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	say("open")
	rng := rand.New(rand.NewPCG(n, 0))
	inside, names := structure(file)
	passed := 0
	for i := range count {
		at, bit := inside[rng.IntN(len(inside))], i%8
		file[at] ^= 1 << bit
		err := os.WriteFile(path, file, 0o600)
		if err == nil && store.CheckPages(path) == nil {
			say("flip %d: bit %d of byte %d, at %d in page %d (%s)", i, bit, at, at%4096, at/4096, names[at])
			passed++
			err = walk(path)
		}
		if err != nil {
			say("wrong %v", err)
		}
		file[at] ^= 1 << bit
	}
	say("%d passed", passed)
	return nil
}

func walk(path string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("bbolt panics: %v", p)
		}
	}()
	b, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, PreLoadFreelist: true})
	if err != nil {
		return err
	}
	return b.Close()
}

// TestWalk: bbolt finds nothing wrong in a file that the walk over its pages has
// passed. It would panic, in a goroutine where nobody can recover it.
func TestWalk(t *testing.T) {
	t.Parallel()
	path := filepath.Join(workDir(t), "db")
	damaged(t, path, false, false)
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	c := startChild(t, "walk", path, fmt.Sprint(seed, " ", alone(long(2000, 200_000))))
	last := c.await(t, "open")
	for c.lines.Scan() {
		line := c.lines.Text()
		if strings.HasPrefix(line, "wrong") {
			t.Errorf("%s\n%s", last, line)
		}
		last = line
	}
	if err := c.Wait(); err != nil || !strings.HasSuffix(last, "passed") {
		t.Fatalf("%s: %v\n%s", last, err, c.stderr.String())
	}
	t.Log(last)
}

// TestTruncated cuts a store at every page, and about.
func TestTruncated(t *testing.T) {
	for _, closed := range []bool{true, false} {
		dir := workDir(t)
		path := filepath.Join(dir, "db")
		damaged(t, path, closed, closed)
		file := mustRead(t, path)
		whole := mustOpen(t, path, options(0))
		want := digestOf(t, whole)
		mustClose(t, whole)
		lengths := []int{0, 1, 16, 79, 80, 81, len(file)}
		for at := 4096; at <= len(file); at += 4096 {
			lengths = append(lengths, at-1, at-4096/2)
			if at < len(file) {
				lengths = append(lengths, at, at+1)
			}
		}
		for _, n := range lengths {
			for _, readOnly := range []bool{true, false} {
				cut := filepath.Join(dir, "cut")
				if err := os.WriteFile(cut, file[:n], 0o600); err != nil {
					t.Fatal(err)
				}
				opts := options(0)
				opts.ReadOnly = readOnly
				db, err := store.Open(cut, opts)
				if n == len(file) && err != nil {
					t.Fatal(err)
				}
				if err == nil {
					if got := digestOf(t, db); got != want {
						t.Errorf("cut to %d bytes: digest %s, want %s", n, got, want)
					}
					mustClose(t, db)
				} else if !errors.Is(err, store.ErrCorrupt) {
					t.Errorf("cut to %d bytes: %v, want %v", n, err, store.ErrCorrupt)
				}
				if err == nil && n < len(file) {
					t.Errorf("cut to %d of %d bytes: it opens", n, len(file))
				}
			}
		}
	}
}

// TestGarbage opens what is no store, and sees that it is left as it was.
func TestGarbage(t *testing.T) {
	random := make([]byte, 64<<10)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	for name, content := range map[string][]byte{
		"empty":        nil,
		"text":         []byte("day,event,id\n2026-01-30,active,PLR0KHTOWnGLuC\n"),
		"one page":     make([]byte, 4096),
		"zeros":        make([]byte, 1<<20),
		"random":       random,
		"another kind": append([]byte("SQLite format 3\x00"), random...),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, opts := range []*store.Options{nil, {ReadOnly: true}, {Create: store.CreateNever}} {
				if _, err := store.Open(path, opts); !errors.Is(err, store.ErrCorrupt) {
					t.Errorf("%+v: %v, want %v", opts, err, store.ErrCorrupt)
				}
			}
			if _, err := store.Open(path, &store.Options{Create: store.CreateOnly}); !errors.Is(err, store.ErrExist) {
				t.Errorf("%v, want %v", err, store.ErrExist)
			}
			if !bytes.Equal(mustRead(t, path), content) {
				t.Error("the file was changed")
			}
		})
	}
}
