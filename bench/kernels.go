package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"

	"cohort/placement"
	"cohort/query"
	"cohort/store"

	"github.com/RoaringBitmap/roaring/v2"
)

var kernelsSection = section{
	name:  "kernels",
	title: "set algebra on stored bytes, against roaring on bytes in memory",
	about: "One core. Hashed days: of a population of five times a full day a random fifth is active on each of 30 days, which lie thin, 15 ids a container. " +
		"Dense days: the same shares of as many numbers in a row, in bitsets. " +
		"Dense positions: a dense store of the ids of the hashed days, against roaring over their placements; ids that share one are left out, so that the answers are the same. No union of days is remembered. " +
		"Questions go through package query, all in one open snapshot, as the baseline's days are at hand; all chunks were read before. " +
		"The baseline holds every day as the portable bytes of one bitmap in memory, maps those it needs onto the bytes (FromUnsafeBytes) and uses the library's best operation. It has no file, no checksums and no journal.",
	run: runKernels,
}

// kernelDays is a store of days of one event and the same days for the baseline.
type kernelDays struct {
	name  string
	db    *store.DB
	whole wholeDays
	sets  []bitset
	goals [4]float64 // of a pair, a funnel, a week and 30 days: so many times as fast
}

func runKernels(ctx context.Context, b *bench, r *result) error {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	table := r.table("question", "answer", "store ms", "roaring ms", "times as fast")
	for _, build := range []func(context.Context, *bench) (*kernelDays, error){hashedDays, denseDays, ordinalDays} {
		d, err := build(ctx, b)
		if err != nil {
			return err
		}
		qs := d.questions()
		if err := errors.Join(d.ask(ctx, b, qs), d.db.Close()); err != nil {
			return err
		}
		for i, q := range qs {
			name := d.name + ": " + q.name
			faster := q.base.over(q.took)
			table.row(name, q.want[len(q.want)-1], q.took, q.base, faster)
			r.atLeast(name+", over roaring", faster.median(), d.goals[i], "×")
		}
	}
	return nil
}

// ask asks all questions in turn, in one snapshot.
func (d *kernelDays) ask(ctx context.Context, b *bench, qs []*question) error {
	snap, err := d.db.Snapshot()
	if err != nil {
		return err
	}
	round := func(int) error {
		for _, q := range qs {
			if err := q.round(ctx, snap, &d.whole); err != nil {
				return fmt.Errorf("%s, %s: %w", d.name, q.name, err)
			}
		}
		return nil
	}
	if err = round(0); err == nil { // all chunks are read
		for _, q := range qs {
			q.took, q.base = nil, nil
		}
		err = b.interleave(ctx, round)
	}
	return errors.Join(err, snap.Close())
}

// hashedDays makes days of branded ids.
func hashedDays(ctx context.Context, b *bench) (*kernelDays, error) {
	p, err := newPopulation(b.seed, 5*b.ids)
	if err != nil {
		return nil, err
	}
	d := &kernelDays{name: "hashed", goals: [4]float64{2, 2, 4, 6}}
	return d, d.build(ctx, b, store.Options{IDs: placement.Branded}, func(n int) (day, []uint32) {
		day := p.day(n, 5)
		return day, p.placements(day.set)
	})
}

// ordinalDays makes the days of hashedDays in a dense store.
func ordinalDays(ctx context.Context, b *bench) (*kernelDays, error) {
	p, err := newPopulation(b.seed, 5*b.ids)
	if err != nil {
		return nil, err
	}
	p.dropShared()
	d := &kernelDays{name: "dense positions", goals: [4]float64{40, 30, 100, 200}}
	return d, d.build(ctx, b, store.Options{IDs: placement.Branded, Positions: store.Dense}, func(n int) (day, []uint32) {
		day := p.day(n, 5)
		return day, p.placements(day.set)
	})
}

// denseDays makes days of numbers.
func denseDays(ctx context.Context, b *bench) (*kernelDays, error) {
	d := &kernelDays{name: "dense", goals: [4]float64{0.9, 0.9, 0.9, 0.9}}
	return d, d.build(ctx, b, store.Options{IDs: placement.Number}, func(n int) (day, []uint32) {
		day, at := day{set: make(bitset, (5*b.ids+63)/64)}, []uint32(nil)
		for i := range 5 * b.ids {
			if scramble(b.seed+seedActivity+uint64(n), uint64(i))%5 == 0 {
				day.ids, at = append(day.ids, strconv.Itoa(i)), append(at, uint32(i))
				day.set[i/64] |= 1 << (i % 64)
			}
		}
		return day, at
	})
}

// build loads what of gives of each day: ids, and where their bits stand.
func (d *kernelDays) build(ctx context.Context, b *bench, opts store.Options, of func(n int) (day, []uint32)) (err error) {
	opts.Create, opts.NoFirstDays, opts.NoRollups, opts.RememberEvery = store.CreateOnly, true, true, -1
	d.db, err = store.Open(b.path(d.name+".db"), &opts)
	if err != nil {
		return err
	}
	for n := range questionDays {
		one, at := of(n)
		whole := roaring.BitmapOf(at...)
		whole.RunOptimize()
		bytes, err := whole.ToBytes()
		if err == nil {
			err = loadDay(ctx, d.db, markedEvent, questionFirst+store.Day(n), one.ids)
		}
		if err != nil {
			return errors.Join(err, d.db.Close())
		}
		d.whole.active, d.sets = append(d.whole.active, bytes), append(d.sets, one.set)
	}
	b.logf("%d %s days loaded", questionDays, d.name)
	return nil
}

// questions lists what is asked of both sides, as goals are.
func (d *kernelDays) questions() []*question {
	on := func(n int) query.Expr { return query.Of(markedEvent, query.Day(questionFirst+store.Day(n))) }
	unionOf := func(n int) *question {
		return &question{
			name: fmt.Sprintf("union of %d days", n),
			ask: func(ctx context.Context, src query.Source) ([]uint64, error) {
				size, err := query.Count(ctx, src, markedEvent, query.Trailing(n, questionLast))
				return []uint64{size}, err
			},
			work: func(w *wholeDays) ([]uint64, error) {
				days, err := unsafelyMapped(w.active[questionDays-n:])
				return []uint64{roaring.FastOr(days...).GetCardinality()}, err
			},
			want: []uint64{uint64(union(d.sets[questionDays-n:]...).count())},
		}
	}
	var reached []uint64
	for k := range 5 {
		reached = append(reached, uint64(intersection(d.sets[:k+1]...).count()))
	}
	return []*question{
		{
			name: "both of two days",
			ask: func(ctx context.Context, src query.Source) ([]uint64, error) {
				size, err := query.Size(ctx, src, query.And(on(0), on(7)))
				return []uint64{size.Count}, err
			},
			work: func(w *wholeDays) ([]uint64, error) {
				days, err := unsafelyMapped([][]byte{w.active[0], w.active[7]})
				if err != nil {
					return nil, err
				}
				return []uint64{days[0].AndCardinality(days[1])}, nil
			},
			want: []uint64{uint64(intersection(d.sets[0], d.sets[7]).count())},
		},
		{
			name: "funnel of 5 days",
			ask: func(ctx context.Context, src query.Source) ([]uint64, error) {
				var steps []query.Step
				for k := range 5 {
					steps = append(steps, query.SetStep(on(k)))
				}
				f, err := query.Funnel(ctx, src, steps, query.FunnelOptions{})
				if err != nil {
					return nil, err
				}
				var got []uint64
				for _, s := range f.Steps {
					got = append(got, s.Reached)
				}
				return got, nil
			},
			work: workPrefixes,
			want: reached,
		},
		unionOf(7),
		unionOf(30),
	}
}

// workPrefixes counts the intersections of the first days; the last is not built.
func workPrefixes(w *wholeDays) ([]uint64, error) {
	days, err := unsafelyMapped(w.active[:5])
	if err != nil {
		return nil, err
	}
	prefix := days[0]
	reached := []uint64{prefix.GetCardinality()}
	for _, d := range days[1:4] {
		prefix = roaring.And(prefix, d)
		reached = append(reached, prefix.GetCardinality())
	}
	return append(reached, prefix.AndCardinality(days[4])), nil
}

// unsafelyMapped returns days as bitmaps that lie on their bytes.
func unsafelyMapped(days [][]byte) ([]*roaring.Bitmap, error) {
	maps := make([]*roaring.Bitmap, len(days))
	for i, d := range days {
		maps[i] = roaring.New()
		if _, err := maps[i].FromUnsafeBytes(d); err != nil {
			return nil, err
		}
	}
	return maps, nil
}
