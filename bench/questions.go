package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cohort/query"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

var questionsSection = section{
	name:  "questions",
	title: "questions over full days, against whole-day bitmaps",
	about: "A population of five times a full day, a random fifth of it active on each of 30 days; three more events have one such day each. " +
		"The store is warm and all folded, asked through package query, each question in a snapshot of its own, which are one view while nothing is marked. " +
		"The baseline holds every day as the portable bytes of one bitmap in memory; to answer, it maps those it needs onto the bytes (FromBuffer) and uses roaring's FastOr, And and AndCardinality. " +
		"It has no file, no checksums and no journal.",
	run: runQuestions,
}

// questionDays is how many days the store of the questions has.
const questionDays = 30

var (
	questionFirst = store.Date(2026, 1, 1)
	questionLast  = questionFirst + questionDays - 1
	funnelEvents  = []string{"registered", "played", "paid"}
)

// question is one that is asked of both sides. The answers are lists: a funnel
// has several figures.
type question struct {
	name string
	ask  func(context.Context, query.Source) ([]uint64, error)
	work func(*wholeDays) ([]uint64, error) // the baseline
	want []uint64

	took, base samples // milliseconds
}

// wholeDays are the days as bytes, by event and day number.
type wholeDays struct {
	active [][]byte
	steps  [][]byte
}

func runQuestions(ctx context.Context, b *bench, r *result) error {
	db, days, sets, err := b.buildQuestions(ctx)
	if err != nil {
		return err
	}
	qs := questionsOf(sets)
	err = b.interleave(ctx, func(int) error {
		for _, q := range qs {
			if err := q.round(ctx, db, days); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	t := r.table("question", "answer", "store ms", "roaring ms", "store over roaring")
	for _, q := range qs {
		t.row(q.name, q.want[len(q.want)-1], q.took, q.base, q.took.over(q.base))
	}
	return nil
}

// round asks both sides and checks both answers.
func (q *question) round(ctx context.Context, src query.Source, days *wholeDays) error {
	for _, side := range []struct {
		ask func() ([]uint64, error)
		to  *samples
	}{
		{func() ([]uint64, error) { return q.ask(ctx, src) }, &q.took},
		{func() ([]uint64, error) { return q.work(days) }, &q.base},
	} {
		start := time.Now()
		got, err := side.ask()
		took := time.Since(start)
		if err != nil {
			return err
		}
		if err := checkf(fmt.Sprint(got), fmt.Sprint(q.want), "the answer"); err != nil {
			return err
		}
		side.to.add(float64(took) / float64(time.Millisecond))
	}
	return nil
}

// questionSets are the days as the oracle has them.
type questionSets struct{ active, steps []bitset }

// buildQuestions makes the store, the baseline's bytes, and the oracle's sets.
func (b *bench) buildQuestions(ctx context.Context) (db *store.DB, days *wholeDays, sets questionSets, err error) {
	p, err := newPopulation(b.seed, 5*b.ids)
	if err != nil {
		return nil, nil, sets, err
	}
	if db, err = store.Open(b.path("questions.db"), &store.Options{Create: store.CreateOnly}); err != nil {
		return nil, nil, sets, err
	}
	days = new(wholeDays)
	add := func(n int, event string, on store.Day, bytes *[][]byte, sets *[]bitset) error {
		d := p.day(n, 5)
		if err := loadDay(ctx, db, event, on, d.ids); err != nil {
			return err
		}
		whole := roaring.BitmapOf(p.placements(d.set)...)
		whole.RunOptimize()
		out, err := whole.ToBytes()
		*bytes, *sets = append(*bytes, out), append(*sets, d.set)
		return err
	}
	for n := range questionDays {
		if err := add(n, markedEvent, questionFirst+store.Day(n), &days.active, &sets.active); err != nil {
			return nil, nil, sets, errors.Join(err, db.Close())
		}
	}
	for n, event := range funnelEvents {
		if err := add(questionDays+n, event, questionLast, &days.steps, &sets.steps); err != nil {
			return nil, nil, sets, errors.Join(err, db.Close())
		}
	}
	b.logf("%d days loaded", questionDays+len(funnelEvents))
	return db, days, sets, nil
}

func questionsOf(sets questionSets) []*question {
	count := func(p query.Period) func(context.Context, query.Source) ([]uint64, error) {
		return func(ctx context.Context, src query.Source) ([]uint64, error) {
			n, err := query.Count(ctx, src, markedEvent, p)
			return []uint64{n}, err
		}
	}
	last := func(n int) func(*wholeDays) ([]uint64, error) {
		return func(w *wholeDays) ([]uint64, error) {
			days, err := mapped(w.active[questionDays-n:])
			if err != nil {
				return nil, err
			}
			return []uint64{roaring.FastOr(days...).GetCardinality()}, nil
		}
	}
	lastSet := func(n int) []uint64 { return []uint64{uint64(union(sets.active[questionDays-n:]...).count())} }
	cohort, back := query.Of(markedEvent, query.Day(questionFirst)), query.Of(markedEvent, query.Day(questionFirst+7))
	reached := make([]uint64, len(sets.steps))
	for i := range reached {
		reached[i] = uint64(intersection(sets.steps[:i+1]...).count())
	}
	return []*question{
		{name: "count of a day", ask: count(query.Day(questionLast)), work: last(1), want: lastSet(1)},
		{name: "union of 7 days", ask: count(query.Trailing(7, questionLast)), work: last(7), want: lastSet(7)},
		{name: "union of 30 days", ask: count(query.Trailing(30, questionLast)), work: last(30), want: lastSet(30)},
		{
			name: "retention, day 7",
			ask: func(ctx context.Context, src query.Source) ([]uint64, error) {
				size, err := query.Size(ctx, src, query.And(cohort, back))
				return []uint64{size.Count}, err
			},
			work: func(w *wholeDays) ([]uint64, error) {
				days, err := mapped([][]byte{w.active[0], w.active[7]})
				if err != nil {
					return nil, err
				}
				return []uint64{days[0].AndCardinality(days[1])}, nil
			},
			want: []uint64{uint64(intersection(sets.active[0], sets.active[7]).count())},
		},
		{name: "funnel of 3 steps", ask: askFunnel, work: workFunnel, want: reached},
	}
}

func askFunnel(ctx context.Context, src query.Source) ([]uint64, error) {
	f, err := query.AndCount(ctx, src, query.Day(questionLast), funnelEvents...)
	if err != nil {
		return nil, err
	}
	var reached []uint64
	for _, s := range f.Steps {
		reached = append(reached, s.Reached)
	}
	return reached, nil
}

func workFunnel(w *wholeDays) ([]uint64, error) {
	steps, err := mapped(w.steps)
	if err != nil {
		return nil, err
	}
	prefix := steps[0].Clone()
	reached := []uint64{prefix.GetCardinality()}
	for _, s := range steps[1:] {
		prefix.And(s)
		reached = append(reached, prefix.GetCardinality())
	}
	return reached, nil
}

// mapped returns days as bitmaps that lie on their bytes.
func mapped(days [][]byte) ([]*roaring.Bitmap, error) {
	maps := make([]*roaring.Bitmap, len(days))
	for i, d := range days {
		maps[i] = roaring.New()
		if _, err := maps[i].FromBuffer(d); err != nil {
			return nil, err
		}
	}
	return maps, nil
}
