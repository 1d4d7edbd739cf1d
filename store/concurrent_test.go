package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// worker is one of many goroutines that use a store together. It marks ids of
// its own, and knows what the store must say of them.
type worker struct {
	db    *store.DB
	n     int
	rng   *rand.Rand
	bits  map[crashFact]bool
	loads map[store.Day]uint64 // marks on the days of its own event
}

const workerIDs = 20

func newWorker(db *store.DB, n int, seed uint64) *worker {
	return &worker{db, n, rand.New(rand.NewPCG(seed, uint64(n))), make(map[crashFact]bool), make(map[store.Day]uint64)}
}

// step does one thing, and returns what was wrong with the answer.
func (w *worker) step() error {
	ctx, cancel := context.Background(), func() {}
	if w.rng.IntN(3) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(w.rng.IntN(2000))*time.Microsecond)
	}
	defer cancel()
	switch w.rng.IntN(20) {
	case 0:
		return ended(w.db.Fold(ctx))
	case 1, 2:
		return w.load(ctx)
	case 3:
		return w.deleteDay(ctx)
	case 4, 5:
		return w.look()
	case 6, 7, 8:
		f := w.fact()
		at, err := w.db.Has(f.event, f.id, f.day)
		if err == nil && at.Has != w.bits[f] {
			return fmt.Errorf("has %v: %v, want %v", f, at.Has, w.bits[f])
		}
		return err
	}
	f := w.fact()
	act, want, set := w.db.Mark, store.New, true
	switch set = w.rng.IntN(3) > 0; {
	case set && w.bits[f]:
		want = store.Already
	case !set && w.bits[f]:
		act, want = w.db.Unmark, store.Cleared
	case !set:
		act, want = w.db.Unmark, store.Absent
	}
	got, err := act(ctx, f.event, f.id, f.day)
	if err != nil {
		return ended(err)
	}
	w.bits[f] = set
	if got != want {
		return fmt.Errorf("%v: %s, want %s", f, got, want)
	}
	return nil
}

// ended passes over the errors of contexts: what they ended was not done.
func ended(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

func (w *worker) fact() crashFact {
	id := strconv.Itoa(w.n*workerIDs + w.rng.IntN(workerIDs))
	return crashFact{"event-" + strconv.Itoa(w.rng.IntN(2)), id, today - store.Day(w.rng.IntN(3))}
}

func (w *worker) event() string { return "load-" + strconv.Itoa(w.n) }

// load loads some rows. Where it is cancelled, the tally must say what is on
// disk.
func (w *worker) load(ctx context.Context) error {
	day, n := today-store.Day(w.rng.IntN(5)), 1+w.rng.IntN(200)
	l, err := w.db.Load(ctx)
	if err != nil {
		return err
	}
	l.SetBatch(1 + w.rng.IntN(100))
	for i := range n {
		if err := l.Add(w.event(), strconv.Itoa(i*1000), day); err != nil {
			break // Close says why
		}
	}
	tally, err := l.Close()
	if tally.New > 0 {
		w.loads[day] += tally.New
	}
	if err != nil {
		return ended(err)
	}
	if tally.Marks() != uint64(n) || w.loads[day] < uint64(n) {
		return fmt.Errorf("loaded %+v of %d rows; %d marks", tally, n, w.loads[day])
	}
	return nil
}

func (w *worker) deleteDay(ctx context.Context) error {
	day := today - store.Day(w.rng.IntN(5))
	err := w.db.DeleteDay(ctx, w.event(), day)
	if err == nil {
		w.loads[day] = 0
	}
	if errors.Is(err, store.ErrNoEvent) && len(w.loads) == 0 {
		err = nil
	}
	return ended(err)
}

// look takes a snapshot and sees that it agrees with itself, and with what the
// worker knows.
func (w *worker) look() error {
	s, err := w.db.Snapshot()
	if err != nil {
		return err
	}
	err = w.lookAt(s)
	return errors.Join(err, s.Close())
}

func (w *worker) lookAt(s *store.Snapshot) error {
	for day, want := range w.loads {
		b, err := s.Bitmap(w.event(), store.Period{First: day, Last: day})
		if err != nil || b.GetCardinality() != want {
			return fmt.Errorf("%s on %s: %d marks, %v, want %d", w.event(), day, b.GetCardinality(), err, want)
		}
	}
	events, err := s.Events("event-")
	if err != nil {
		return err
	}
	for _, e := range events {
		days, err := s.Days(e, e.Period())
		if err != nil {
			return err
		}
		for _, d := range days {
			b, err := s.Bitmap(e.Name, store.Period{First: d.Day, Last: d.Day})
			if err != nil || b.GetCardinality() != d.Count {
				return fmt.Errorf("%s on %s: %d bits, %v, counted %d", e.Name, d.Day, b.GetCardinality(), err, d.Count)
			}
			if err := w.own(e.Name, d.Day, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// own compares the worker's own ids in a day with what it knows.
func (w *worker) own(event string, day store.Day, b *roaring.Bitmap) error {
	for i := range workerIDs {
		n := w.n*workerIDs + i
		f := crashFact{event, strconv.Itoa(n), day}
		if got := b.Contains(placed(n)); got != w.bits[f] {
			return fmt.Errorf("%v: %v, want %v", f, got, w.bits[f])
		}
	}
	return nil
}

// TestConcurrent has 64 goroutines do everything at once, with contexts that end
// at any moment. Each finds its own marks as it left them, at every step, in the
// end, and after the store was opened again.
func TestConcurrent(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	path := filepath.Join(workDir(t), "db")
	opts := options(decimals())
	opts.FoldMarks, opts.FoldAge = 64, 5*time.Millisecond
	db := mustOpen(t, path, opts)
	workers := make([]*worker, 64)
	for n := range workers {
		workers[n] = newWorker(db, n, seed)
	}
	stop := time.Now().Add(time.Duration(long(3, 60)) * time.Second)
	var all sync.WaitGroup
	for _, w := range workers {
		all.Go(func() {
			for time.Now().Before(stop) {
				if err := w.step(); err != nil {
					t.Errorf("worker %d: %v", w.n, err)
					return
				}
			}
		})
	}
	all.Wait()
	compareWorkers(t, workers, db)
	before := digestOf(t, db)
	mustClose(t, db)
	db = mustOpen(t, path, nil)
	defer mustClose(t, db)
	compareWorkers(t, workers, db)
	if after := digestOf(t, db); after != before {
		t.Errorf("digest %s, before it was closed %s", after, before)
	}
}

func compareWorkers(t *testing.T, workers []*worker, db *store.DB) {
	t.Helper()
	for _, w := range workers {
		w.db = db
		if err := w.look(); err != nil {
			t.Errorf("worker %d: %v", w.n, err)
		}
	}
}

// TestCloseUnderFire closes a store while it is used. Every call before is done
// and on disk, every call after is refused.
func TestCloseUnderFire(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	path := filepath.Join(workDir(t), "db")
	workers := make([]*worker, 32)
	for n := range workers {
		workers[n] = newWorker(nil, n, seed)
	}
	for range long(15, 300) {
		opts := options(decimals())
		opts.FoldMarks = 1 << rng.IntN(8)
		db := mustOpen(t, path, opts)
		compareWorkers(t, workers, db)
		var all sync.WaitGroup
		for _, w := range workers {
			all.Go(func() {
				var err error
				for err == nil {
					err = w.step()
				}
				if !errors.Is(err, store.ErrClosed) {
					t.Errorf("worker %d: %v", w.n, err)
				}
			})
		}
		time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
		mustClose(t, db)
		all.Wait()
		if err := db.Close(); !errors.Is(err, store.ErrClosed) {
			t.Errorf("closed twice: %v, want %v", err, store.ErrClosed)
		}
	}
}

// TestMarkInsideMembers: a loop over members may mark, load, fold and delete; a
// snapshot holds up nobody.
func TestMarkInsideMembers(t *testing.T) {
	path := filepath.Join(workDir(t), "db")
	opts := options(placement.Branded)
	opts.FoldMarks = 100
	db := mustOpen(t, path, opts)
	defer mustClose(t, db)
	const n = 500
	if _, err := db.MarkMany(ctx, someMarks("active", n, 0)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s, err := db.Snapshot()
		if err != nil {
			t.Error(err)
			return
		}
		defer mustClose(t, s)
		b, err := s.Bitmap("active", store.Period{First: today, Last: today})
		if err != nil {
			t.Error(err)
			return
		}
		i := 0
		for id, err := range s.MembersAt(placement.Brand([]byte("USR")), b) {
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := db.Mark(ctx, "seen", id, today-store.Day(i%10)); err != nil {
				t.Error(err)
			}
			switch i++; i % 100 {
			case 1:
				err = db.Fold(ctx)
			case 2:
				_, err = loadRows(db, slices.Collect(someMarks("loaded", 20_000, uint64(i)*100_000)), 20_000) // the file grows
			case 3:
				err = db.DeleteDay(ctx, "loaded", today)
			}
			if err != nil {
				t.Error(err)
			}
		}
		if i != n {
			t.Errorf("%d members, want %d", i, n)
		}
	}()
	select {
	case <-done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the loop waits for itself")
	}
}
