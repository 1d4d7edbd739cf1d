package store_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

var ctx = context.Background()

// someMarks yields n marks of as many ids of brand USR, today.
func someMarks(event string, n int, from uint64) iter.Seq[store.Mark] {
	return func(yield func(store.Mark) bool) {
		for i := range uint64(n) {
			if !yield(store.Mark{Event: event, ID: branded("USR", from+i), Day: today}) {
				return
			}
		}
	}
}

const (
	crashWorkers = 8
	crashIDs     = 8 // of each worker
)

// childMarks changes a store from many goroutines until it is killed. Each
// says what it is about to do (">"), and what came of it ("<").
func childMarks(path, seed string) error {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	opts := options(decimals())
	opts.FoldMarks = 1 << (n % 8)
	db, err := store.Open(path, opts)
	if err != nil {
		return err
	}
	say("open")
	var all sync.WaitGroup
	for w := range crashWorkers {
		rng := rand.New(rand.NewPCG(n, uint64(w)))
		all.Go(func() { toggle(db, w, rng) })
	}
	all.Go(func() { bulk(db, "load", rand.New(rand.NewPCG(n, 100))) })
	all.Go(func() { bulk(db, "many", rand.New(rand.NewPCG(n, 101))) })
	all.Go(func() {
		for db.Fold(ctx) == nil {
			time.Sleep(time.Millisecond)
		}
	})
	rng := rand.New(rand.NewPCG(n, 102))
	if rng.IntN(3) == 0 {
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		if err := db.Close(); err != nil {
			return err
		}
		say("closed")
	}
	all.Wait()
	return nil
}

// toggle marks and unmarks the worker's own ids.
func toggle(db *store.DB, worker int, rng *rand.Rand) {
	for {
		id := strconv.Itoa(worker*crashIDs + rng.IntN(crashIDs))
		if rng.IntN(30) == 0 {
			say("> erase %s 0 0", id)
			if _, err := db.Erase(ctx, id); err != nil {
				say("! %q", err)
				return
			}
			say("< erase %s 0 0 done", id)
			continue
		}
		event, day := "event-"+strconv.Itoa(rng.IntN(3)), today-store.Day(rng.IntN(3))
		act, bit := db.Unmark, rng.IntN(2)
		if bit == 1 {
			act = db.Mark
		}
		say("> %s %s %d %d", event, id, day, bit)
		result, err := act(ctx, event, id, day)
		if err != nil {
			say("! %q", err)
			return
		}
		say("< %s %s %d %d %s", event, id, day, bit, result)
	}
}

// bulk makes marks in commits that must be there whole or not at all, each on a
// day of its own and on two events, and deletes some of them.
func bulk(db *store.DB, event string, rng *rand.Rand) {
	for {
		n, day := 1+rng.IntN(300), today-store.Day(rng.IntN(100))
		say("> %s all %d %d", event, day, n)
		var err error
		if event == "load" {
			_, err = loadRows(db, bulkRows(event, n, day), 2*n)
		} else {
			_, err = db.MarkMany(ctx, slices.Values(bulkRows(event, n, day)))
		}
		if err != nil {
			say("! %q", err)
			return
		}
		say("< %s all %d %d done", event, day, n)
		if rng.IntN(2) == 0 {
			say("> %s all %d 0", event, day)
			if err := db.DeleteDay(ctx, event, day); err != nil {
				say("! %q", err)
				return
			}
			say("< %s all %d 0 done", event, day)
		}
	}
}

func bulkRows(event string, n int, day store.Day) []store.Mark {
	rows := make([]store.Mark, 0, 2*n)
	for i := range n {
		id := strconv.Itoa(1000 + i*5000) // none that is toggled or erased
		rows = append(rows, store.Mark{Event: event, ID: id, Day: day}, store.Mark{Event: event + "-too", ID: id, Day: day})
	}
	return rows
}

// crashState is what a killed child's lines say about the store: of each id and
// of each day of bulk marks (id "all"), how many bits are set. What was being
// changed when the child died may be either way.
type crashState struct {
	bits    map[crashFact]int
	pending map[crashFact]int // what it would become
}

type crashFact struct {
	event, id string
	day       store.Day
}

// read takes the child's lines until it is dead.
func (s *crashState) read(t *testing.T, c *child) {
	t.Helper()
	for c.lines.Scan() {
		line := c.lines.Text()
		if line == "open" || line == "closed" {
			continue
		}
		if line[0] == '!' {
			if !strings.Contains(line, store.ErrClosed.Error()) {
				t.Fatalf("%s", line)
			}
			continue
		}
		var way, result string
		var f crashFact
		var n int
		if got, err := fmt.Sscan(line, &way, &f.event, &f.id, &f.day, &n, &result); got < 5 {
			t.Fatalf("line %q: %v", line, err)
		}
		if f.id == "all" && n > 0 {
			n = max(n, s.bits[f])
		}
		if way == ">" {
			s.pending[f] = n
			continue
		}
		if f.event == "erase" {
			delete(s.pending, f)
			s.erased(f.id)
			continue
		}
		if want := resultOf(s.bits[f], n); f.id != "all" && result != want {
			t.Fatalf("%s, want %s", line, want)
		}
		delete(s.pending, f)
		s.bits[f] = n
	}
}

// erased: an id has no bit any more.
func (s *crashState) erased(id string) {
	for f := range s.bits {
		if f.id == id {
			s.bits[f] = 0
		}
	}
}

// settleErase decides whether an id was erased: from all days and the registry, or
// from none.
func (s *crashState) settleErase(t *testing.T, snap *store.Snapshot, id string) {
	t.Helper()
	known, _, err := snap.Known(id)
	if err != nil {
		t.Fatal(err)
	}
	if !known {
		s.erased(id)
	}
	for f, n := range s.bits {
		if f.id != id {
			continue
		}
		at, err := snap.Has(f.event, id, store.Period{First: f.day, Last: f.day})
		if err != nil || at.Has != (n == 1) {
			t.Fatalf("half an erasure: %s is known: %v; %v: %v, %v, want %d", id, known, f, at, err, n)
		}
	}
}

func resultOf(before, after int) string {
	switch {
	case after == 1 && before == 1:
		return "already"
	case after == 1:
		return "new"
	case before == 1:
		return "cleared"
	}
	return "absent"
}

// settle looks at the store and decides what was pending.
func (s *crashState) settle(t *testing.T, db *store.DB) {
	t.Helper()
	snap, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, snap)
	for f, n := range s.pending {
		if f.event == "erase" {
			s.settleErase(t, snap, f.id)
			continue
		}
		b, err := snap.Bitmap(f.event, store.Period{First: f.day, Last: f.day})
		if err != nil {
			t.Fatal(err)
		}
		got := int(b.GetCardinality())
		if f.id != "all" {
			if got = 0; b.Contains(number(t, f.id)) {
				got = 1
			}
		}
		if got != n && got != s.bits[f] {
			t.Fatalf("half a commit: %v has %d marks, before %d, then %d", f, got, s.bits[f], n)
		}
		s.bits[f] = got
	}
	clear(s.pending)
	days := make(map[crashFact]*roaring.Bitmap)
	for f, n := range s.bits {
		day := crashFact{f.event, "", f.day}
		if days[day] == nil {
			days[day] = roaring.New()
		}
		switch {
		case f.id == "all":
			for i := range uint32(n) {
				days[day].Add(placed(1000 + i*5000))
			}
			// The other event of the same commits; nothing is deleted from it.
			b, err := snap.Bitmap(f.event+"-too", store.Period{First: f.day, Last: f.day})
			if err != nil || b.GetCardinality() < uint64(n) {
				t.Fatalf("half a commit: %v has %d marks, want %d: %v", f, b.GetCardinality(), n, err)
			}
		case n == 1:
			days[day].Add(number(t, f.id))
		}
	}
	for day, want := range days {
		s.compareDay(t, snap, day, want)
	}
}

// number is the placement of an id that is a number.
func number(t testing.TB, id string) uint32 {
	t.Helper()
	n, err := strconv.Atoi(id)
	if err != nil {
		t.Fatal(err)
	}
	return placed(n)
}

func (s *crashState) compareDay(t *testing.T, snap *store.Snapshot, day crashFact, want *roaring.Bitmap) {
	t.Helper()
	p := store.Period{First: day.day, Last: day.day}
	got, err := snap.Bitmap(day.event, p)
	if err != nil || !got.Equals(want) {
		t.Fatalf("%q on day %d: %v, %v, want %v", day.event, day.day, got, err, want)
	}
	e, ok, err := snap.Event(day.event)
	if err != nil || !ok && want.GetCardinality() > 0 {
		t.Fatalf("%q: %v, %v", day.event, ok, err)
	}
	counts, err := snap.Days(e, p)
	if err != nil {
		t.Fatal(err)
	}
	var n uint64
	for _, c := range counts {
		n += c.Count
	}
	if ok && n != want.GetCardinality() {
		t.Fatalf("%q on day %d: count %d, want %d", day.event, day.day, n, want.GetCardinality())
	}
}

// TestKill kills a process that marks, unmarks, erases, loads, deletes and folds at
// random moments, opening included. What it had acknowledged must be there, and
// what it had not must be there whole or not at all. The same file goes on
// through all rounds.
func TestKill(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(t.TempDir(), "db")
	mustClose(t, mustOpen(t, path, options(decimals())))
	state := crashState{bits: make(map[crashFact]int), pending: make(map[crashFact]int)}
	for round := range long(10, 150) {
		c := startChild(t, "marks", path, seed+uint64(round))
		wait := time.Duration(rng.IntN(150)) * time.Millisecond
		if round%5 != 4 {
			c.await(t, "open")
		} else {
			wait *= 4 // from its start
		}
		timer := time.AfterFunc(wait, func() { c.kill(t) })
		state.read(t, c)
		timer.Stop()
		_ = c.Wait() // it was killed, or had closed the store and was done
		if c.stderr.Len() > 0 {
			t.Fatalf("round %d: %s", round, c.stderr.String())
		}
		db := mustOpen(t, path, nil)
		state.settle(t, db)
		before := digestOf(t, db)
		mustClose(t, db)
		if round%3 == 0 {
			db := mustOpen(t, path, nil)
			state.settle(t, db)
			if after := digestOf(t, db); after != before {
				t.Fatalf("round %d: digest %s, before it was closed %s", round, after, before)
			}
			mustClose(t, db)
		}
	}
	if len(state.bits) == 0 {
		t.Fatal("the children did nothing")
	}
	t.Logf("%d facts", len(state.bits))
}

const (
	loadRowsTotal = 20_000
	loadBatch     = 500
)

// loadFile is what childLoad loads: a file's rows, always the same.
func loadFile() []store.Mark {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := make([]store.Mark, loadRowsTotal)
	for i := range rows {
		rows[i] = store.Mark{
			Event: "event " + strconv.Itoa(rng.IntN(2)),
			ID:    "user-" + strconv.Itoa(rng.IntN(loadRowsTotal)),
			Day:   today - store.Day(rng.IntN(4)),
		}
	}
	return rows
}

func childLoad(path, seed string) error {
	opts := options(placement.String)
	var err error
	if opts.Positions, err = store.ParsePositions(seed); err != nil {
		return err
	}
	db, err := store.Open(path, opts)
	if err != nil {
		return err
	}
	l, err := db.Load(ctx)
	if err != nil {
		return err
	}
	l.SetBatch(loadBatch)
	say("open")
	for i, r := range loadFile() {
		if err := l.Add(r.Event, r.ID, r.Day); err != nil {
			return err
		}
		if (i+1)%loadBatch == 0 {
			t := l.Committed()
			say("%d", t.New+t.Already+t.Shared)
		}
	}
	t, err := l.Close()
	if err != nil {
		return err
	}
	say("%d", t.New+t.Already+t.Shared)
	return db.Close()
}

// TestKillLoad kills a load at random moments. The rows on disk must be those of
// whole batches, and loading the file again must end where one load ends, whatever
// the kind of the store.
func TestKillLoad(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	rows := loadFile()
	dir := workDir(t)
	whole := mustOpen(t, filepath.Join(dir, "whole"), options(placement.String))
	total, err := loadRows(whole, rows, loadRowsTotal)
	if err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, whole)
	mustClose(t, whole)
	for round := range long(5, 75) {
		path := filepath.Join(dir, "killed")
		c := startChild(t, "load", path, kindOf(round))
		c.await(t, "open")
		time.AfterFunc(time.Duration(rng.IntN(150))*time.Millisecond, func() { c.kill(t) })
		said := 0
		for c.lines.Scan() {
			if said, err = strconv.Atoi(c.lines.Text()); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Wait() // it was killed, or was done
		db := mustOpen(t, path, nil)
		compareLoaded(t, db, rows, said)
		tally, err := loadRows(db, rows, loadRowsTotal)
		if err != nil || tally.Marks() != total.Marks() {
			t.Fatalf("round %d: loaded again %+v, %v, the first time %+v", round, tally, err, total)
		}
		if got := digestOf(t, db); got != want {
			t.Fatalf("round %d: digest %s, of one load %s", round, got, want)
		}
		again, err := loadRows(db, rows, 3*loadBatch)
		if err != nil || again.New != 0 {
			t.Fatalf("round %d: loaded a third time: %+v, %v", round, again, err)
		}
		if got := digestOf(t, db); got != want {
			t.Fatalf("round %d: digest %s, of one load %s", round, got, want)
		}
		mustClose(t, db)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// compareLoaded sees that the first batches are there and nothing else, at least
// those of the first said rows.
func compareLoaded(t *testing.T, db *store.DB, rows []store.Mark, said int) {
	t.Helper()
	snap, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, snap)
	events, err := snap.Events("")
	if err != nil {
		t.Fatal(err)
	}
	var got uint64
	for _, e := range events {
		got += e.Marks
	}
	m, n := newModel(placement.String, db.Config().Positions == store.Dense, false), 0
	for want := uint64(0); want < got || n < said; n += loadBatch {
		if n == len(rows) {
			t.Fatalf("%d marks, more than there are rows", got)
		}
		tally, _ := m.tally(rows[n:n+loadBatch], true)
		want += tally.New
	}
	m.compare(t, snap, nil)
}
