package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"cohort/query"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

var reportsSection = section{
	name:  "reports",
	title: "reports over full days, against one question at a time",
	about: "The population of the questions and days like theirs, 30 in the full size; the last day is as-of. Triangles are by day, a cohort for each with a cell for each day up to the last, 465 of 30 days in all. " +
		"The baseline holds every day as the portable bytes of one bitmap in memory, maps all of them (FromBuffer), and asks roaring one question after the other: " +
		"an AndCardinality a cell, and for cohorts of first days an AndNot with the days before, which are united once, a day at a time; " +
		"for a trailing window a FastOr of its days. It has no file, no checksums and no journal. " +
		"The store's side of the windows also counts 30 days for the stickiness. " +
		"Memory is that of a process of its own: the most RssAnon seen during the report, less that after opening.",
	run: runReports,
}

// report is one that is asked of both sides; its answers are all its figures.
type report struct {
	name string
	ask  func(context.Context, query.Source) ([]uint64, error)
	work func(days []*roaring.Bitmap) []uint64 // the baseline
	want func(days []bitset) []uint64

	took, base, memory samples // milliseconds, megabytes
}

func runReports(ctx context.Context, b *bench, r *result) (err error) {
	path := b.path("reports.db")
	days, sets, err := b.buildReports(ctx, path)
	if err != nil {
		return err
	}
	all := reports(b.back)
	for _, p := range all {
		if err := b.measureReport(ctx, path, p, p.want(sets)); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	db, err := store.Open(path, &store.Options{ReadOnly: true, Create: store.CreateNever})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = b.interleave(ctx, func(int) error {
		for _, p := range all {
			if err := p.round(ctx, db, days, p.want(sets)); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t := r.table("report", "figures", "store ms", "roaring ms", "roaring over store", "memory MB")
	for _, p := range all {
		times := p.base.over(p.took)
		t.row(p.name, len(p.want(sets)), p.took, p.base, times, p.memory.median())
		if p == all[0] || p == all[1] {
			r.atLeast(p.name+", times the baseline", times.median(), 5, "×")
		}
		r.atMost(p.name+", memory above the open store", p.memory.median(), 64, " MB")
	}
	return nil
}

// buildReports makes the store, the baseline's bytes, and the oracle's sets.
func (b *bench) buildReports(ctx context.Context, path string) (days [][]byte, sets []bitset, err error) {
	p, err := newPopulation(b.seed, 5*b.ids)
	if err != nil {
		return nil, nil, err
	}
	db, err := store.Open(path, &store.Options{Create: store.CreateOnly})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for n := range b.back {
		d := p.day(n, 5)
		if err := loadDay(ctx, db, markedEvent, questionFirst+store.Day(n), d.ids); err != nil {
			return nil, nil, err
		}
		whole := roaring.BitmapOf(p.placements(d.set)...)
		whole.RunOptimize()
		out, err := whole.ToBytes()
		if err != nil {
			return nil, nil, err
		}
		days, sets = append(days, out), append(sets, d.set)
	}
	b.logf("%d days loaded", b.back)
	return days, sets, nil
}

// round asks both sides and checks both answers.
func (p *report) round(ctx context.Context, db *store.DB, days [][]byte, want []uint64) error {
	for _, side := range []struct {
		ask func() ([]uint64, error)
		to  *samples
	}{
		{func() ([]uint64, error) { return p.ask(ctx, db) }, &p.took},
		{func() ([]uint64, error) {
			maps, err := mapped(days)
			if err != nil {
				return nil, err
			}
			return p.work(maps), nil
		}, &p.base},
	} {
		start := time.Now()
		got, err := side.ask()
		took := time.Since(start)
		if err != nil {
			return err
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("wrong answer: got %v, want %v", got, want)
		}
		side.to.add(float64(took) / float64(time.Millisecond))
	}
	return nil
}

// reported is what a child tells about a report.
type reported struct {
	RSS     int64 // RssAnon after opening
	Figures []uint64
}

// measureReport has children make a report, and takes their memory.
func (b *bench) measureReport(ctx context.Context, path string, p *report, want []uint64) error {
	for range b.rounds {
		cmd, err := childCommand(ctx, "report", path, strconv.Itoa(b.back), p.name)
		if err != nil {
			return err
		}
		var got reported
		w, err := watch(cmd, &got)
		if err != nil {
			return err
		}
		if !slices.Equal(got.Figures, want) {
			return fmt.Errorf("wrong answer: got %v, want %v", got.Figures, want)
		}
		p.memory.add(float64(max(0, w.peak-got.RSS)) / 1e6)
	}
	return nil
}

// reportChild opens the store at a path and makes a report of its days, so many,
// by its name.
func reportChild(args []string) (r reported, err error) {
	if len(args) != 3 {
		return r, fmt.Errorf("report: %d arguments", len(args))
	}
	days, err := strconv.Atoi(args[1])
	if err != nil {
		return r, err
	}
	db, err := store.Open(args[0], &store.Options{ReadOnly: true, Create: store.CreateNever})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if r.RSS, err = rssAnon("self"); err != nil {
		return r, err
	}
	for _, p := range reports(days) {
		if p.name == args[2] {
			r.Figures, err = p.ask(context.Background(), db)
			return r, err
		}
	}
	return r, fmt.Errorf("no report %q", args[2])
}
