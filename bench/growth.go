package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"cohort/query"
	"cohort/store"
)

var growthSection = section{
	name:  "growth",
	title: "time and bytes as ids and days grow",
	about: "Stores loaded in bulk, of branded ids: first ever more ids on each of seven days, all of them every day, then ever more days of as many ids. " +
		"The slope is that of a line through the logarithms, from the first size to the last: 1 is in proportion, 0 does not grow.",
	run: runGrowth,
}

// grown is what a store of one size took.
type grown struct{ load, bytes, count, week, all, open float64 }

var grownNames = []string{"load, s", "file, bytes", "count of a day, ms", "union of 7 days, ms", "union of all days, ms", "open, ms"}

func (g grown) values() []float64 {
	return []float64{g.load, g.bytes, g.count, g.week, g.all, g.open}
}

func runGrowth(ctx context.Context, b *bench, r *result) error {
	for _, p := range []store.Positions{store.Hashed, store.Dense} {
		ids, err := b.grow(ctx, p, b.growIDs, func(n int) (ids, days int) { return n, 7 })
		if err != nil {
			return err
		}
		r.growth(fmt.Sprintf("%s, ids", p), "ids a day", b.growIDs, ids)
		days, err := b.grow(ctx, p, b.growDays, func(n int) (ids, days int) { return b.growIDs[0], n })
		if err != nil {
			return err
		}
		r.growth(fmt.Sprintf("%s, days of %s ids", p, thousands(int64(b.growIDs[0]))), "days", b.growDays, days)
	}
	return nil
}

// grow makes and asks a store of each size.
func (b *bench) grow(ctx context.Context, p store.Positions, sizes []int, of func(n int) (ids, days int)) (all []grown, err error) {
	for _, n := range sizes {
		ids, days := of(n)
		g, err := b.grownStore(ctx, p, ids, days)
		if err != nil {
			return nil, fmt.Errorf("%s, %d ids, %d days: %w", p, ids, days, err)
		}
		all = append(all, g)
		b.logf("%s, %d ids, %d days", p, ids, days)
	}
	return all, nil
}

func (b *bench) grownStore(ctx context.Context, p store.Positions, ids, days int) (g grown, err error) {
	path := b.path("grown.db")
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	db, err := store.Open(path, &store.Options{Create: store.CreateOnly, Positions: p})
	if err != nil {
		return g, err
	}
	start := time.Now()
	for d := range days {
		if err := loadEach(ctx, db, markedEvent, openedDay+store.Day(d), ids, brandedIDs(b.seed)); err != nil {
			return g, errors.Join(err, db.Close())
		}
	}
	if err := db.Close(); err != nil {
		return g, err
	}
	g.load = time.Since(start).Seconds()
	info, err := os.Stat(path)
	if err != nil {
		return g, err
	}
	g.bytes = float64(info.Size())
	start = time.Now()
	if db, err = store.Open(path, nil); err != nil {
		return g, err
	}
	g.open = millis(time.Since(start))
	defer func() { err = errors.Join(err, db.Close()) }()
	var want uint64
	last := openedDay + store.Day(days-1)
	for _, q := range []struct {
		over query.Period
		to   *float64
	}{{query.Day(last), &g.count}, {query.Trailing(7, last), &g.week}, {query.All(), &g.all}} {
		var times samples
		for range b.rounds {
			start := time.Now()
			got, err := query.Count(ctx, db, markedEvent, q.over)
			times.add(millis(time.Since(start)))
			if err != nil {
				return g, err
			}
			if want == 0 && nearly(int(got), ids) {
				want = got // every day has all ids, so that every answer is this one
			}
			if err := checkf(got, want, "count over %s", q.over); err != nil {
				return g, err
			}
		}
		*q.to = times.median()
	}
	return g, nil
}

// timed returns how many milliseconds fn takes.
func timed(fn func() error) (float64, error) {
	start := time.Now()
	err := fn()
	return millis(time.Since(start)), err
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// growth adds a table and a chart of stores of growing size.
func (r *result) growth(name, x string, sizes []int, all []grown) {
	columns := []string{name}
	for _, n := range sizes {
		columns = append(columns, thousands(int64(n)))
	}
	t := r.table(append(columns, "slope")...)
	for i, what := range grownNames {
		row := []any{what}
		var values []float64
		for _, g := range all {
			values = append(values, g.values()[i])
			row = append(row, g.values()[i])
		}
		first, last := 0, len(values)-1
		slope := math.Log(values[last]/values[first]) / math.Log(float64(sizes[last])/float64(sizes[first]))
		t.row(append(row, figure(slope))...)
	}
}
