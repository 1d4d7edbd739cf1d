package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"time"

	"cohort/query"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

var fieldsSection = section{
	name:  "fields",
	title: "numbers per id in bit slices",
	about: "One core. A field of 16 bits with a random value for each of as many ids as a full day has, loaded and folded, in a hashed and in a dense store. " +
		"The sum of all ids against a loop of Snapshot.FieldValue over them, in one snapshot. " +
		"A comparison that splits the values at a random bound, counted, against 20 unions of two of the field's slices each; both sides read the slices from the store, each slice once. What a side leaves to be collected is collected before the next. " +
		"Every sum and count is checked against the values themselves.",
	run: runFields,
}

// fieldBench is a store with a field, and the values in it.
type fieldBench struct {
	db     *store.DB
	ids    []string
	values []int64
}

func runFields(ctx context.Context, b *bench, r *result) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	table := r.table("positions", "sum of all ms", "loop of gets ms", "times as fast", "sum of a set ms", "comparison ms", "20 unions ms", "of their cost", "bytes an id")
	for _, positions := range []store.Positions{store.Hashed, store.Dense} {
		f, err := b.newFieldBench(ctx, positions)
		if err != nil {
			return err
		}
		err = f.run(ctx, b, r, table, positions)
		if err := errors.Join(err, f.db.Close()); err != nil {
			return fmt.Errorf("%s: %w", positions, err)
		}
	}
	return nil
}

func (b *bench) newFieldBench(ctx context.Context, positions store.Positions) (*fieldBench, error) {
	db, err := store.Open(b.path(positions.String()+".db"), &store.Options{Create: store.CreateOnly, Positions: positions})
	if err != nil {
		return nil, err
	}
	f := &fieldBench{db: db}
	if _, err := db.DefineField(ctx, "score", store.FieldOptions{Bits: 16}); err != nil {
		return f, errors.Join(err, db.Close())
	}
	start := time.Now()
	l, err := db.LoadField(ctx, "score", store.FieldLoad{Refused: func(uint64, error) {}})
	if err != nil {
		return f, errors.Join(err, db.Close())
	}
	of := brandedIDs(b.seed)
	for i := range b.ids {
		if err := l.Add(of(i), fieldScore(b, i)); err != nil {
			return f, errors.Join(err, db.Close())
		}
	}
	if _, err := l.Close(); err != nil {
		return f, errors.Join(err, db.Close())
	}
	b.logf("%s: %d values in %.1f s", positions, b.ids, time.Since(start).Seconds())
	// Ids that a hashed store refuses, for they share a placement, are left out.
	snap, err := db.Snapshot()
	if err != nil {
		return f, errors.Join(err, db.Close())
	}
	for i := range b.ids {
		_, has, err := snap.FieldValue("score", of(i))
		if errors.Is(err, store.ErrShared) || err == nil && !has {
			continue
		}
		if err != nil {
			return f, errors.Join(err, snap.Close(), db.Close())
		}
		f.ids, f.values = append(f.ids, of(i)), append(f.values, fieldScore(b, i))
	}
	return f, snap.Close()
}

func fieldScore(b *bench, i int) int64 { return int64(scramble(b.seed+seedFields, uint64(i)) >> 48) }

func (f *fieldBench) run(ctx context.Context, b *bench, r *result, table *table, positions store.Positions) error {
	snap, err := f.db.Snapshot()
	if err != nil {
		return err
	}
	defer func() { _ = snap.Close() }() // nothing was written
	field, _, err := snap.Field("score")
	if err != nil {
		return err
	}
	numbers, err := snap.FieldChunkNumbers(field)
	if err != nil {
		return err
	}
	var sums, gets, within, compares, unions samples
	err = b.interleave(ctx, func(round int) error {
		bound := int64(scramble(b.seed+seedFields, uint64(1<<40+round))>>48) | 1
		var want int64
		above, part := 0, int64(0)
		for _, v := range f.values {
			want += v
			if v >= bound {
				above++
				part += v
			}
		}
		for _, side := range []func() error{
			func() error { return timeInto(&sums, func() error { return f.sum(ctx, snap, nil, want) }) },
			func() error { return timeInto(&gets, func() error { return f.loop(snap, want) }) },
			func() error {
				return timeInto(&within, func() error { return f.sum(ctx, snap, query.Compare("score", ">=", bound), part) })
			},
			func() error {
				return timeInto(&compares, func() error {
					size, err := query.Size(ctx, snap, query.Compare("score", ">=", bound))
					if err != nil {
						return err
					}
					return checkf(size.Count, uint64(above), "score>=%d", bound)
				})
			},
			func() error { return timeInto(&unions, func() error { return unite(snap, field, numbers, 20) }) },
		} {
			if err := side(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	faster, cost := gets.over(sums), compares.over(unions)
	table.row(positions.String(), sums, gets, faster, within, compares, unions, cost, figure(float64(field.Bytes)/float64(field.Count)))
	r.atLeast(positions.String()+": the sum of all, over a loop of gets", faster.median(), 20, "×")
	r.atMost(positions.String()+": a comparison on 16 bits, of 20 unions of its slices", cost.median(), 1, "×")
	return nil
}

func (f *fieldBench) sum(ctx context.Context, snap *store.Snapshot, x query.Expr, want int64) error {
	s, err := query.SumField(ctx, snap, "score", x)
	if err != nil {
		return err
	}
	return checkf(s.Sum.Cmp(big.NewInt(want)), 0, "the sum, %v, beside %d", s.Sum, want)
}

// loop adds the values up one by one.
func (f *fieldBench) loop(snap *store.Snapshot, want int64) error {
	var sum int64
	for _, id := range f.ids {
		v, _, err := snap.FieldValue("score", id)
		if err != nil {
			return err
		}
		sum += v
	}
	return checkf(sum, want, "the sum of single values")
}

// unite reads the slices of a field, each once, and makes so many unions of two.
func unite(snap *store.Snapshot, field store.Field, numbers []uint32, n int) error {
	united := uint64(0)
	for _, number := range numbers {
		v, err := snap.FieldChunk(field, number)
		if err != nil {
			return err
		}
		for bit, slice := range v.Bits {
			if slice == nil { // of few ids
				v.Bits[bit] = roaring.New()
			}
		}
		for i := range n {
			united += roaring.Or(v.Bits[i%len(v.Bits)], v.Bits[(i+1)%len(v.Bits)]).GetCardinality()
		}
	}
	if united == 0 {
		return errors.New("the unions of slices are empty")
	}
	return nil
}

// timeInto runs a side and takes its milliseconds. What the side before left to be
// collected is its own affair: a loop of a million gets would be paid for by the rest.
func timeInto(into *samples, side func() error) error {
	runtime.GC()
	start := time.Now()
	err := side()
	*into = append(*into, float64(time.Since(start).Microseconds())/1000)
	return err
}
