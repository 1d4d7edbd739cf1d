package store_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
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

	"github.com/RoaringBitmap/roaring/v2"
	bolt "go.etcd.io/bbolt"
)

// damaged is the store that the tests here damage: small, with everything in it
// that a file can have. It was closed, or left as a process leaves it that dies.
// The journal of the open one holds marks, unmarks and new ids.
func damaged(t testing.TB, path string, closed bool) {
	t.Helper()
	dir := t.TempDir()
	db := mustOpen(t, filepath.Join(dir, "db"), options(placement.Branded))
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

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, mustRead(t, from), 0o600); err != nil {
		t.Fatal(err)
	}
}

// answer is what a store says to one question.
type answer struct {
	question, value string
	err             error
}

// ask asks a store what it holds, all of it in one digest; and, where each is
// set, every question by itself.
func ask(db *store.DB, each bool) (answers []answer) {
	s, err := db.Snapshot()
	if err != nil {
		return []answer{{"snapshot", "", err}}
	}
	defer s.Close()
	add := func(question string, value any, err error) {
		answers = append(answers, answer{question, fmt.Sprint(value), err})
	}
	digest, err := s.Digest()
	add("digest", digest, err)
	if !each {
		return answers
	}
	events, err := s.Events("")
	for i := range events {
		events[i] = store.Event{Name: events[i].Name, Brand: events[i].Brand, First: events[i].First, Last: events[i].Last, Days: events[i].Days, Marks: events[i].Marks, Bytes: events[i].Bytes}
	}
	add("events", events, err)
	brands, err := s.Brands()
	add("brands", brands, err)
	_, err = s.Stats()
	add("stats", "", err)
	biggest, err := s.Biggest(5)
	add("biggest", biggest, err)
	all := store.Period{First: store.MinDay, Last: store.MaxDay}
	for _, name := range []string{"daily", "recent", "large", "other brand", "shared", "journal", "new"} {
		askEvent(s, name, all, add)
	}
	for _, b := range []string{"USR", "PLR"} {
		numbers, err := s.SeenChunkNumbers(placement.Brand([]byte(b)))
		seen := roaring.New()
		for _, n := range numbers {
			var part *roaring.Bitmap
			if part, err = s.SeenChunk(placement.Brand([]byte(b)), n); err != nil {
				break
			}
			seen.Or(part)
		}
		add("seen "+b, seen, err)
	}
	for _, id := range probes {
		known, sharing, err := s.Known(id)
		add("known "+id, fmt.Sprint(known, sharing), err)
	}
	return answers
}

// probes are ids in the damaged store, and some that are not.
var probes = []string{
	branded("USR", 0), branded("USR", 5), branded("USR", 1000), branded("USR", 1399), branded("USR", 90_001), branded("USR", 90_049),
	branded("USR", 95_010), branded("USR", 1<<40), branded("USR", 1<<41+77), branded("PLR", 7), branded("PLR", 1000),
	"USR0G1qBS430hZ", "USR06ltY8okQpi",
}

func askEvent(s *store.Snapshot, name string, all store.Period, add func(string, any, error)) {
	e, ok, err := s.Event(name)
	add("event "+name, fmt.Sprint(ok, e.Brand, e.Period(), e.Marks, e.Days, e.Bytes), err)
	if err != nil || !ok {
		return
	}
	days, err := s.Days(e, all)
	add("days "+name, days, err)
	week, err := s.Days(e, store.Period{First: today - 60, Last: today - 50})
	add("days of a week "+name, week, err)
	b, err := s.Bitmap(name, all)
	h := fnv.New64a()
	if err == nil {
		_, err = b.WriteTo(h)
	}
	add("bitmap "+name, h.Sum64(), err)
	if b != nil {
		h := fnv.New64a()
		var err error
		for id, memberErr := range s.Members(e.Brand, b) {
			_, _ = h.Write([]byte(id)) // a hash never fails
			err = memberErr
		}
		add("members "+name, h.Sum64(), err)
	}
	for i, id := range probes {
		if id[:3] != e.Brand.String() || (i+len(name))%3 > 0 {
			continue
		}
		for _, p := range []store.Period{all, {First: today - 2, Last: today - 2}, {First: today, Last: today}} {
			at, err := s.Has(name, id, p)
			add("has "+name+" "+id+" "+p.String(), at, err)
		}
	}
}

// wrong returns the questions to which a damaged store gives another answer
// than the whole one.
func wrong(got, want []answer) (questions []string) {
	value := make(map[string]string)
	for _, a := range want {
		value[a.question] = a.value
	}
	for _, a := range got {
		if a.err == nil && a.value != value[a.question] {
			questions = append(questions, fmt.Sprintf("%s: %.60s, want %.60s", a.question, a.value, value[a.question]))
		}
	}
	return questions
}

// write changes the store in every way; false where something was refused.
func write(db *store.DB) (ok bool, questions []string) {
	ok = true
	expect := func(what string, got, want any, err error) {
		if err != nil {
			ok = false
		} else if got != want {
			questions = append(questions, fmt.Sprintf("%s: %v, want %v", what, got, want))
		}
	}
	r, err := db.Mark(ctx, "daily", branded("USR", 1<<41+77), today)
	expect("mark", r, store.New, err)
	r, err = db.Mark(ctx, "recent", branded("USR", 90_010), today)
	expect("mark again", r, store.Already, err)
	r, err = db.Unmark(ctx, "recent", branded("USR", 90_020), today)
	expect("unmark", r, store.Cleared, err)
	r, err = db.Mark(ctx, "shared", "USR06ltY8okQpi", today)
	expect("mark shared", r, store.Shared, err)
	r, err = db.Mark(ctx, "new", branded("USR", 1000), today)
	expect("mark new", r, store.New, err)
	tally, err := loadRows(db, slices.Collect(someMarks("large", 10, 1395)), 10)
	expect("load", tally, store.Tally{New: 5, Already: 5}, err)
	expect("fold", nil, nil, db.Fold(ctx))
	expect("delete", nil, nil, db.DeleteDay(ctx, "other brand", today))
	return ok, questions
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

// prober knows what a whole store answers.
type prober struct {
	path           string
	file           []byte
	whole, written []answer
	heads          []string // digests with either of the file's two heads broken
}

func (p *prober) prepare() error {
	for head := range 2 {
		broken := slices.Clone(p.file)
		broken[4096*head+79] ^= 1
		digest, err := p.digest(broken)
		if err != nil {
			return err
		}
		p.heads = append(p.heads, digest)
	}
	if err := os.WriteFile(p.path, p.file, 0o600); err != nil {
		return err
	}
	db, err := store.Open(p.path, options(0))
	if err != nil {
		return err
	}
	p.whole = ask(db, true)
	if ok, questions := write(db); !ok || len(questions) > 0 {
		return fmt.Errorf("the whole store cannot be written: %v", questions)
	}
	p.written = ask(db, true)
	for _, a := range append(p.whole, p.written...) {
		if a.err != nil {
			return a.err
		}
	}
	return db.Close()
}

func (p *prober) digest(file []byte) (string, error) {
	if err := os.WriteFile(p.path, file, 0o600); err != nil {
		return "", err
	}
	db, err := store.Open(p.path, options(0))
	if err != nil {
		return "", err
	}
	answers := ask(db, false)
	return answers[0].value, errors.Join(answers[0].err, db.Close())
}

// probeHead opens a file one of whose heads is damaged. There are two, of the
// last commit and of the one before, and bbolt takes the newer that is whole: a
// head that was being written when the machine stopped looks the same. So a
// damaged head can take the last commit back, but nothing else.
func (p *prober) probeHead(file []byte) []string {
	digest, err := p.digest(file)
	if err != nil {
		if isDamage(err) {
			return nil
		}
		return []string{err.Error()}
	}
	if digest != p.whole[0].value && !slices.Contains(p.heads, digest) {
		return []string{"digest: " + digest}
	}
	return nil
}

// probe opens a damaged file in both ways, and returns what it answers wrongly.
func (p *prober) probe(file []byte) (questions []string) {
	add := func(how string, found []string) {
		for _, q := range found {
			questions = append(questions, how+": "+q)
		}
	}
	if err := os.WriteFile(p.path, file, 0o600); err != nil {
		return []string{err.Error()}
	}
	opts := options(0)
	opts.ReadOnly = true
	if db, err := store.Open(p.path, opts); err == nil {
		add("reading", wrong(ask(db, false), p.whole))
		_ = db.Close() // it may find the damage
	} else if !isDamage(err) {
		add("reading", []string{err.Error()})
	}
	db, err := store.Open(p.path, options(0))
	if err != nil {
		if !isDamage(err) {
			add("writing", []string{err.Error()})
		}
		return questions
	}
	add("writing", wrong(ask(db, true), p.whole))
	ok, found := write(db)
	add("writing", found)
	if ok {
		add("written", wrong(ask(db, false), p.written))
	}
	if db.Close() != nil || !ok {
		return questions
	}
	if db, err = store.Open(p.path, options(0)); err == nil {
		add("reopened", wrong(ask(db, false), p.written))
		_ = db.Close() // it may find the damage
	}
	return questions
}

// isDamage: a flipped bit may also make a file another one: not a store, or one
// of a newer format.
func isDamage(err error) bool {
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNewerFormat) || strings.Contains(err.Error(), "not a cohort store")
}

// TestDamage damages small stores in all ways. A damaged store refuses to open,
// or refuses to answer, or answers as if it were whole. It never answers
// wrongly, panics or hangs.
func TestDamage(t *testing.T) {
	for _, closed := range []bool{true, false} {
		t.Run(map[bool]string{true: "closed", false: "open"}[closed], func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(workDir(t), "db")
			damaged(t, path, closed)
			seed := time.Now().UnixNano()
			t.Logf("seed %d, %d bytes", seed, len(mustRead(t, path)))
			c := startChild(t, "damage", path, fmt.Sprint(seed, " ", long(500, 20_000)))
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
	damaged(t, path, false)
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	c := startChild(t, "walk", path, fmt.Sprint(seed, " ", long(2000, 200_000)))
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
		damaged(t, path, closed)
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
