package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"cohort/query"
	"cohort/store"
)

var rememberedSection = section{
	name:  "remembered",
	title: "a year of days, with and without what is remembered",
	about: "A population that grows from three tenths to all of itself over the year 2025; a random fifth of it is active each day. " +
		"The same file is opened twice, all folded: as loaded, and after `DB.Remember`, which builds the first days of ids and the unions of weeks, months, quarters and years. " +
		"Each question is asked through package query, in a snapshot of its own, of both in turn.",
	run: runRemembered,
}

var (
	rememberedFirst = store.Date(2025, time.January, 1)
	rememberedDays  = 365
)

// rememberedQuestion is asked of the store as loaded and of the one that remembers.
type rememberedQuestion struct {
	name        string
	ask         func(context.Context, query.Source) (uint64, error)
	want        uint64
	plain, kept samples // milliseconds
}

func runRemembered(ctx context.Context, b *bench, r *result) error {
	year, err := b.loadYear(ctx)
	if err != nil {
		return err
	}
	before, err := os.Stat(year.path)
	if err != nil {
		return err
	}
	kept := b.path("kept.db")
	if err := copyFile(kept, year.path); err != nil {
		return err
	}
	opts := &store.Options{Create: store.CreateNever, FoldAge: -1, RememberEvery: -1}
	db, err := store.Open(kept, opts)
	if err != nil {
		return err
	}
	start := time.Now()
	err = db.Remember(ctx)
	took := time.Since(start)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	after, err := os.Stat(kept)
	if err != nil {
		return err
	}
	marks := float64(year.marks)
	t := r.table("", "seconds", "MB", "bytes per id and day")
	t.row("loading", year.took.Seconds(), float64(before.Size())/1e6, float64(before.Size())/marks)
	t.row("remembering", took.Seconds(), float64(after.Size()-before.Size())/1e6, float64(after.Size()-before.Size())/marks)
	b.logf("loaded in %.1f s, remembered in %.1f s", year.took.Seconds(), took.Seconds())
	qs := year.questions()
	if err := b.askRemembered(ctx, qs, year.path, kept, opts); err != nil {
		return err
	}
	t = r.table("question", "answer", "as loaded ms", "remembered ms", "as loaded over remembered")
	times := make(map[string]float64)
	for _, q := range qs {
		t.row(q.name, q.want, q.plain, q.kept, q.plain.over(q.kept))
		times[q.name] = q.kept.median()
	}
	r.atMost("union of a year, times that of a month", times[unionOfYear]/times[unionOfMonth], 5, "×")
	r.atMost("remembering, times loading", took.Seconds()/year.took.Seconds(), 0.3, "×")
	return nil
}

const (
	unionOfMonth = "union of a month"
	unionOfYear  = "union of a year"
)

// askRemembered asks both stores in turn.
func (b *bench) askRemembered(ctx context.Context, qs []*rememberedQuestion, plain, kept string, opts *store.Options) (err error) {
	one, err := store.Open(plain, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, one.Close()) }()
	two, err := store.Open(kept, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, two.Close()) }()
	return b.interleave(ctx, func(int) error {
		for _, q := range qs {
			for _, side := range []struct {
				db *store.DB
				to *samples
			}{{one, &q.plain}, {two, &q.kept}} {
				start := time.Now()
				got, err := q.ask(ctx, side.db)
				took := time.Since(start)
				if err == nil {
					err = checkf(got, q.want, "%s", q.name)
				}
				if err != nil {
					return err
				}
				side.to.add(float64(took) / float64(time.Millisecond))
			}
		}
		return nil
	})
}

// year is a store of a year, and its days as the oracle has them.
type year struct {
	path  string
	sets  []bitset
	marks int
	took  time.Duration // of loading
}

func (b *bench) loadYear(ctx context.Context) (*year, error) {
	p, err := newPopulation(b.seed, b.ids)
	if err != nil {
		return nil, err
	}
	y := &year{path: b.path("year.db")}
	db, err := store.Open(y.path, &store.Options{Create: store.CreateOnly, FoldAge: -1, RememberEvery: -1})
	if err != nil {
		return nil, err
	}
	for n := range rememberedDays {
		d := p.growingDay(n, rememberedDays)
		y.sets, y.marks = append(y.sets, d.set), y.marks+d.set.count()
		start := time.Now()
		if err := loadDay(ctx, db, markedEvent, rememberedFirst+store.Day(n), d.ids); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		y.took += time.Since(start)
	}
	return y, db.Close()
}

// growingDay is day number n of so many: a fifth of those who are there by then.
func (p *population) growingDay(n, days int) day {
	there := len(p.ids) * (3*days + 7*n) / (10 * days)
	all := p.day(n, 5)
	d := day{set: make(bitset, len(all.set))}
	for i, id := range p.ids[:there] {
		if rank := p.ranks[i]; all.set[rank/64]>>(rank%64)&1 == 1 {
			d.ids = append(d.ids, id)
			d.set[rank/64] |= 1 << (rank % 64)
		}
	}
	return d
}

func (y *year) questions() []*rememberedQuestion {
	count := func(p query.Period) func(context.Context, query.Source) (uint64, error) {
		return func(ctx context.Context, src query.Source) (uint64, error) {
			return query.Count(ctx, src, markedEvent, p)
		}
	}
	last := len(y.sets)
	union := func(from, to int) uint64 { return uint64(union(y.sets[from:to]...).count()) }
	november, december := store.Date(2025, time.November, 1), store.Date(2025, time.December, 1)
	at := func(d store.Day) int { return int(d - rememberedFirst) }
	return []*rememberedQuestion{
		{name: "union of 7 days", ask: count(query.Trailing(7, rememberedFirst+store.Day(last-1))), want: union(last-7, last)},
		{name: "union of 30 days", ask: count(query.Trailing(30, rememberedFirst+store.Day(last-1))), want: union(last-30, last)},
		{name: unionOfMonth, ask: count(query.Month(2025, time.November)), want: union(at(november), at(december))},
		{name: unionOfYear, ask: count(query.Year(2025)), want: union(0, last)},
		{
			name: "first-ever cohort of December, retained",
			ask: func(ctx context.Context, src query.Source) (uint64, error) {
				r, err := query.Retention(ctx, src, markedEvent, query.RetentionOptions{
					From: query.Month(2025, time.December), To: query.Month(2025, time.December), By: query.ByMonth, Periods: 1,
				})
				if err != nil {
					return 0, err
				}
				if len(r.Cohorts) != 1 {
					return 0, fmt.Errorf("%d cohorts", len(r.Cohorts))
				}
				return r.Cohorts[0].Size, nil
			},
			want: union(0, last) - union(0, at(december)),
		},
		{
			name: "lifecycle of 12 months: new ones in all",
			ask: func(ctx context.Context, src query.Source) (uint64, error) {
				r, err := query.Lifecycle(ctx, src, markedEvent, query.LifecycleOptions{By: query.ByMonth})
				if err != nil {
					return 0, err
				}
				var n uint64
				for _, row := range r.Rows {
					n += row.New
				}
				return n, nil
			},
			want: union(0, last),
		},
	}
}
