package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cohort/placement"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

// A storeCall is a method of DB, called with what it takes.
type storeCall struct {
	call   func(ctx context.Context, db *store.DB, n int) error
	writes bool
	noCtx  bool // it takes no context
}

// ids yields some ids, and values for them.
func callIDs(n int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := range 20 {
			if !yield(callID(n+i), nil) {
				return
			}
		}
	}
}

func callID(n int) string { return fmt.Sprintf("id %d", n%200) }

func callValues(n int) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		for i := range 20 {
			if !yield(callID(n+i), int64(i)) {
				return
			}
		}
	}
}

// callStore opens a string store that has something of everything.
func callStore(t *testing.T, path string, opts *store.Options) *store.DB {
	t.Helper()
	db := mustOpen(t, path, opts)
	_, err := db.DefineField(ctx, "level", store.FieldOptions{Bits: 16})
	must(t, err)
	calls := storeCalls(t)
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		if c := calls[name]; c.writes && !strings.HasPrefix(name, "Delete") && name != "Erase" {
			must(t, c.call(ctx, db, 0))
		}
	}
	return db
}

// storeCalls are the methods of a DB that can fail.
func storeCalls(t *testing.T) map[string]storeCall {
	write := func(call func(ctx context.Context, db *store.DB, n int) error) storeCall {
		return storeCall{call: call, writes: true}
	}
	day := func(n int) store.Day { return today - store.Day(n%5) }
	return map[string]storeCall{
		"Mark": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.Mark(ctx, "active", callID(n), day(n)))
		}),
		"Unmark": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.Unmark(ctx, "active", callID(n), day(n)))
		}),
		"MarkMany": write(func(ctx context.Context, db *store.DB, n int) error {
			ids := []string{callID(n), callID(n + 1), callID(n + 2)}
			return second(db.MarkMany(ctx, slices.Values(marksOf("paid", day(n), ids))))
		}),
		"Observe": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.Observe(ctx, "home", callID(n), day(n)))
		}),
		"ObserveMany": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.ObserveMany(ctx, slices.Values([]store.Visit{{Page: "cart", ID: callID(n), Day: day(n)}})))
		}),
		"Load": write(func(ctx context.Context, db *store.DB, n int) error {
			l, err := db.Load(ctx)
			if err != nil {
				return err
			}
			addErr := l.Add("loaded", callID(n), day(n))
			_, err = l.Close()
			return errors.Join(addErr, err)
		}),
		"LoadVisits": write(func(ctx context.Context, db *store.DB, n int) error {
			l, err := db.LoadVisits(ctx)
			if err != nil {
				return err
			}
			addErr := l.Add("home", callID(n), day(n))
			_, err = l.Close()
			return errors.Join(addErr, err)
		}),
		"LoadField": write(func(ctx context.Context, db *store.DB, n int) error {
			l, err := db.LoadField(ctx, "level", store.FieldLoad{Refused: func(uint64, error) {}})
			if err != nil {
				return err
			}
			addErr := l.Add(callID(n), 7)
			_, err = l.Close()
			return errors.Join(addErr, err)
		}),
		"DefineField": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.DefineField(ctx, fmt.Sprintf("field %d", n%3), store.FieldOptions{Bits: 8}))
		}),
		"SetField": write(func(ctx context.Context, db *store.DB, n int) error {
			return db.SetField(ctx, "level", callID(n), int64(n%100))
		}),
		"AddField": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.AddField(ctx, "level", callID(n), 1, store.Wrap))
		}),
		"ClearField": write(func(ctx context.Context, db *store.DB, n int) error {
			return db.ClearField(ctx, "level", callID(n))
		}),
		"UpdateFields": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.UpdateFields(ctx, callID(n), store.SetTo("level", 3), store.AddTo("level", 4, store.Wrap)))
		}),
		"SetFieldMany": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.SetFieldMany(ctx, "level", callValues(n)))
		}),
		"AddFieldMany": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.AddFieldMany(ctx, "level", callValues(n), store.Wrap))
		}),
		"SaveIDs": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.SaveIDs(ctx, "ids", callIDs(n)))
		}),
		"SaveSet": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.SaveSet(ctx, "set", placement.Brand{}, roaring.BitmapOf(uint32(n))))
		}),
		"DeleteDay": write(func(ctx context.Context, db *store.DB, n int) error {
			return db.DeleteDay(ctx, "active", day(n))
		}),
		"DeleteEvent": write(func(ctx context.Context, db *store.DB, n int) error {
			return db.DeleteEvent(ctx, "paid")
		}),
		"DeleteField": write(func(ctx context.Context, db *store.DB, n int) error {
			return db.DeleteField(ctx, "field 0")
		}),
		"DeleteSet": write(func(ctx context.Context, db *store.DB, n int) error {
			return db.DeleteSet(ctx, "ids")
		}),
		"DeleteVisits": write(func(ctx context.Context, db *store.DB, n int) error {
			return db.DeleteVisits(ctx, store.Period{First: day(n), Last: day(n)})
		}),
		"Erase": write(func(ctx context.Context, db *store.DB, n int) error {
			return second(db.Erase(ctx, callID(n)))
		}),
		"Fold":     write(func(ctx context.Context, db *store.DB, n int) error { return db.Fold(ctx) }),
		"Remember": write(func(ctx context.Context, db *store.DB, n int) error { return db.Remember(ctx) }),
		"Verify": {call: func(ctx context.Context, db *store.DB, n int) error {
			done, err := db.Verify(ctx, store.VerifyOptions{Fault: func(f store.Fault) { t.Errorf("fault: %s", f) }})
			if err == nil && done.Faults > 0 {
				err = fmt.Errorf("%d faults", done.Faults)
			}
			return err
		}},
		"WriteTo": {noCtx: true, call: func(_ context.Context, db *store.DB, n int) error {
			return second(db.WriteTo(io.Discard))
		}},
		"FieldValues": {noCtx: true, call: func(_ context.Context, db *store.DB, n int) error {
			return second(db.FieldValues(callID(n), "level"))
		}},
		"Has": {noCtx: true, call: func(_ context.Context, db *store.DB, n int) error {
			return second(db.Has("active", callID(n), day(n)))
		}},
		"Digest": {noCtx: true, call: func(_ context.Context, db *store.DB, n int) error {
			s, err := db.Snapshot()
			if err != nil {
				return err
			}
			_, err = s.Digest()
			return errors.Join(err, s.Close())
		}},
		"Stats": {noCtx: true, call: func(_ context.Context, db *store.DB, n int) error {
			s, err := db.Snapshot()
			if err != nil {
				return err
			}
			_, err = s.Stats()
			return errors.Join(err, s.Close())
		}},
	}
}

// Every call with a context that has ended gives its error and changes nothing; on a
// store for reading what writes is refused; on one that is closed, everything.
func TestCallsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := callStore(t, path, options(placement.String))
	before := digestOf(t, db)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	calls := storeCalls(t)
	for name, c := range calls {
		if err := c.call(ended, db, 150); c.noCtx != (err == nil) || err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a context that has ended: %v", name, err)
		}
		if after := digestOf(t, db); after != before {
			t.Fatalf("%s with a context that has ended changed the store", name)
		}
	}
	mustClose(t, db)
	for name, c := range calls {
		if err := c.call(ctx, db, 150); !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s of a closed store: %v", name, err)
		}
	}
	whole := mustRead(t, path)
	db = mustOpen(t, path, &store.Options{ReadOnly: true})
	for name, c := range calls {
		if err := c.call(ctx, db, 150); c.writes != errors.Is(err, store.ErrReadOnly) || !c.writes && err != nil {
			t.Errorf("%s of a store for reading: %v", name, err)
		}
	}
	mustClose(t, db)
	if !bytes.Equal(whole, mustRead(t, path)) {
		t.Error("the file of a store for reading changed")
	}
}

// TestCallsAtOnce makes all the calls at once, with contexts that end at any moment, and
// copies and converts the store meanwhile; then it closes it in the middle. Copies,
// conversions and what is left are without a fault.
func TestCallsAtOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dir := workDir(t)
	opts := options(placement.String)
	opts.SetLogAfter(3)
	opts.FoldMarks, opts.FoldAge, opts.RememberEvery = 64, 2*time.Millisecond, 3*time.Millisecond
	path := filepath.Join(dir, "db")
	db := callStore(t, path, opts)
	var all sync.WaitGroup
	until := func(who string, step func(rng *rand.Rand) error) {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(len(who))))
			for {
				err := step(rng)
				switch {
				case errors.Is(err, store.ErrClosed):
					return
				case err == nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
					errors.Is(err, store.ErrNoEvent), errors.Is(err, store.ErrNoSet), errors.Is(err, store.ErrNoField):
				default:
					t.Errorf("%s: %v", who, err)
					return
				}
			}
		})
	}
	for name, c := range storeCalls(t) {
		until(name, func(rng *rand.Rand) error {
			ctx, cancel := context.WithCancel(ctx)
			if rng.IntN(3) == 0 {
				ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(3000))*time.Microsecond)
			}
			defer cancel()
			return c.call(ctx, db, rng.IntN(1000))
		})
	}
	copies := 0
	until("copy", func(*rand.Rand) error {
		var b bytes.Buffer
		if _, err := db.WriteTo(&b); err != nil {
			return err
		}
		to := filepath.Join(dir, "copy")
		copies++
		return errors.Join(os.WriteFile(to, b.Bytes(), 0o600), verifyFile(to), os.Remove(to))
	})
	conversions := 0
	until("convert", func(*rand.Rand) error {
		s, err := db.Snapshot()
		if err != nil {
			return err
		}
		to := filepath.Join(dir, "dense")
		_, err = s.Convert(ctx, to)
		if err = errors.Join(err, s.Close()); err != nil {
			if strings.Contains(err.Error(), "fold") { // visits that are not
				return db.Fold(ctx)
			}
			return err
		}
		conversions++
		return errors.Join(verifyFile(to), os.Remove(to))
	})
	time.Sleep(time.Duration(long(1500, 30_000)) * time.Millisecond)
	mustClose(t, db)
	all.Wait()
	must(t, verifyFile(path))
	t.Logf("%d copies, %d conversions", copies, conversions)
}

// Whoever is told of a refused row may write to the store, whatever that waits for.
func TestRefusedMayWrite(t *testing.T) {
	db := mustOpen(t, filepath.Join(t.TempDir(), "db"), options(placement.String))
	for _, name := range []string{"level", "gone"} {
		_, err := db.DefineField(ctx, name, store.FieldOptions{Bits: 8})
		must(t, err)
	}
	told := 0
	l, err := db.LoadField(ctx, "level", store.FieldLoad{Add: true, Refused: func(row uint64, err error) {
		if told++; row != 1 || !errors.Is(err, store.ErrRange) {
			t.Errorf("row %d: %v", row, err)
		}
		must(t, db.DeleteField(ctx, "gone"))
	}})
	must(t, err)
	for range 2 {
		must(t, l.Add("id", 200))
	}
	if tally, err := l.Close(); err != nil || told != 1 || tally.Rows != 1 || tally.Refused != 1 {
		t.Errorf("%+v, %v, told of %d rows", tally, err, told)
	}
	mustClose(t, db)
}

// verifyFile returns an error where a store's file has a fault.
func verifyFile(path string) error {
	db, err := store.Open(path, &store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(verifyFaults(db), db.Close())
}

// verifyFaults returns the faults of a store as an error.
func verifyFaults(db *store.DB) error {
	var faults []error
	_, err := db.Verify(ctx, store.VerifyOptions{Fault: func(f store.Fault) { faults = append(faults, errors.New(f.String())) }})
	return errors.Join(err, errors.Join(faults...))
}
