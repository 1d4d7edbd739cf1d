package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"cohort/placement"
	"cohort/store"
)

var marksSection = section{
	name:  "marks",
	title: "durable marks of new ids into a full day",
	about: "Every mark is on disk when its call returns, and every id is new to the store. " +
		"The baseline is one bbolt transaction a mark that rewrites the mark's chunk, in a file of its own without a registry, with as many callers; " +
		"MarkMany is compared with the baseline of one caller. Neither side syncs the list of free pages. " +
		"Each round starts from a copy of the same full day. What the journal holds after the round is folded then, timed by itself; \"with its fold\" counts that time in. " +
		"The run \"while folding\" has a goroutine that folds without a pause, the whole day each time. " +
		"Beside another run like it, one more caller marks new events, each of which takes a transaction of the file, as a fold does; its times are in a row of their own. MarkMany writes large parts past the journal.",
	run: runMarks,
}

// callersMany is the number of concurrent callers.
const callersMany = 64

// markRun is what one side of the comparison did in all rounds.
type markRun struct {
	name    string
	callers int
	marks   int  // a round
	folding bool // a fold runs all the time

	// naming, where there is one, is the run of a caller beside the others whose marks name
	// new events.
	naming *markRun

	rate, sustained samples // marks a second; with the fold
	foldMillis      samples
	foldBytes       samples // a mark
	latencies       []time.Duration
}

func runMarks(ctx context.Context, b *bench, r *result) error {
	d, err := newFullDay(ctx, b, placement.Branded, brandedIDs(b.seed))
	if err != nil {
		return err
	}
	if err := d.withBaseline(); err != nil {
		return err
	}
	many := &markRun{name: "Mark", callers: callersMany, marks: b.marks}
	folding := &markRun{name: "Mark, while folding", callers: callersMany, marks: b.marks, folding: true}
	naming := &markRun{name: "Mark of new events, beside those", callers: 1}
	beside := &markRun{callers: callersMany, marks: b.marks, folding: true, naming: naming}
	lone := &markRun{name: "Mark", callers: 1, marks: b.lone}
	seq := &markRun{name: "MarkMany", callers: 1, marks: b.many}
	small := &markRun{name: "MarkMany", callers: 1, marks: b.many / 20}
	plainMany := &markRun{name: "baseline", callers: callersMany, marks: b.perMark}
	plainLone := &markRun{name: "baseline", callers: 1, marks: b.perMark}
	var sides []func(int) error
	for _, side := range []struct {
		run *markRun
		do  func(context.Context, *markRun) error
	}{
		{many, d.markEach}, {plainMany, d.markPlainly}, {folding, d.markEach}, {beside, d.markEach}, {lone, d.markEach}, {plainLone, d.markPlainly},
		{seq, d.markMany}, {small, d.markMany},
	} {
		sides = append(sides, func(int) error { return side.do(ctx, side.run) })
	}
	if err := b.interleave(ctx, sides...); err != nil {
		return err
	}
	t := r.table("side", "callers", "marks a round", "marks/s", "times the baseline", "with its fold", "p50 µs", "p99 µs", "longest ms", "fold ms", "fold bytes/mark")
	for _, c := range []struct{ side, base *markRun }{
		{many, plainMany}, {folding, plainMany}, {naming, nil}, {plainMany, nil}, {lone, plainLone}, {plainLone, nil}, {seq, plainLone}, {small, plainLone},
	} {
		c.side.report(t, c.base)
	}
	r.atLeast("64 callers, times the baseline", many.rate.over(plainMany.rate).median(), 30, "×")
	r.atMost("p99 of 64 callers while folding, times without", float64(quantile(folding.latencies, 0.99))/float64(quantile(many.latencies, 0.99)), 3, "×")
	r.atLeast("one caller, times the baseline", lone.rate.over(plainLone.rate).median(), 0.7, "×")
	r.atLeast("MarkMany, times the baseline of one caller", seq.rate.over(plainLone.rate).median(), 400, "×")
	return nil
}

// report adds the run's row, with ratios to the baseline where it has one.
func (m *markRun) report(t *table, base *markRun) {
	row := []any{m.name, m.callers, m.marks, nil, nil, nil, nil, nil, nil, nil, nil}
	if len(m.rate) > 0 {
		row[3] = m.rate.median()
	}
	if base != nil {
		row[4] = m.rate.over(base.rate)
		row[5] = m.sustained.over(base.rate)
		row[9] = m.foldMillis.median()
		row[10] = m.foldBytes.median()
	}
	if len(m.latencies) > 0 {
		row[6] = micros(quantile(m.latencies, 0.5))
		row[7] = micros(quantile(m.latencies, 0.99))
		row[8] = slices.Max(m.latencies).Seconds() * 1000
	}
	t.row(row...)
}

// markEach marks by single calls, from as many callers as the run has.
func (d *fullDay) markEach(ctx context.Context, m *markRun) error {
	ids, bits, err := d.fresh(m.marks)
	if err != nil {
		return err
	}
	db, err := d.open(false)
	if err != nil {
		return err
	}
	stopFolding := func() error { return nil }
	if m.folding {
		stopFolding = keepFolding(ctx, db)
	}
	stopNaming := func() error { return nil }
	if m.naming != nil {
		stopNaming = keepNaming(ctx, db, m.naming, ids[0])
	}
	var fresh atomic.Int64
	took, err := m.call(ids, func(id string) error {
		r, err := db.Mark(ctx, markedEvent, id, markedDay)
		if r == store.New {
			fresh.Add(1)
		}
		return err
	})
	err = errors.Join(err, stopNaming(), stopFolding())
	if err == nil {
		err = checkf(int(fresh.Load()), bits, "marks that were new")
	}
	if err == nil {
		err = d.finish(ctx, db, m, took, bits)
	}
	return errors.Join(err, db.Close())
}

// keepFolding folds until the function it returns is called.
func keepFolding(ctx context.Context, db *store.DB) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() {
		for {
			if err := db.Fold(ctx); err != nil {
				if errors.Is(err, context.Canceled) {
					err = nil
				}
				ended <- err
				return
			}
		}
	}()
	return func() error {
		cancel()
		return <-ended
	}
}

// keepNaming marks an id's new events, one after another, until the function it returns is called.
func keepNaming(ctx context.Context, db *store.DB, m *markRun, id string) (stop func() error) {
	const pause = 5 * time.Millisecond
	done, ended := make(chan struct{}), make(chan error)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				ended <- nil
				return
			case <-time.After(pause):
			}
			began := time.Now()
			if _, err := db.Mark(ctx, fmt.Sprintf("new-%d", n), id, markedDay); err != nil {
				<-done
				ended <- err
				return
			}
			m.latencies = append(m.latencies, time.Since(began))
			m.marks++
		}
	}()
	return func() error {
		close(done)
		return <-ended
	}
}

// markMany marks by one call.
func (d *fullDay) markMany(ctx context.Context, m *markRun) error {
	ids, bits, err := d.fresh(m.marks)
	if err != nil {
		return err
	}
	db, err := d.open(false)
	if err != nil {
		return err
	}
	start := time.Now()
	tally, err := db.MarkMany(ctx, marksOf(markedEvent, markedDay, ids))
	took := time.Since(start)
	if err == nil {
		err = checkf(tally, store.Tally{New: uint64(bits), Shared: uint64(len(ids) - bits)}, "tally of MarkMany")
	}
	if err == nil {
		err = d.finish(ctx, db, m, took, bits)
	}
	return errors.Join(err, db.Close())
}

// finish checks the day, folds, checks it again, and notes the round.
func (d *fullDay) finish(ctx context.Context, db *store.DB, m *markRun, took time.Duration, bits int) error {
	if err := d.checkCount(ctx, db, bits); err != nil {
		return err
	}
	start := time.Now()
	written, err := countIO(func() error { return db.Fold(ctx) })
	if err != nil {
		return err
	}
	fold := time.Since(start)
	m.rate.add(float64(m.marks) / took.Seconds())
	m.sustained.add(float64(m.marks) / (took + fold).Seconds())
	m.foldMillis.add(float64(fold) / float64(time.Millisecond))
	m.foldBytes.add(float64(written.handedOver) / float64(m.marks))
	return d.checkCount(ctx, db, bits)
}

// markPlainly marks in the baseline's file.
func (d *fullDay) markPlainly(_ context.Context, m *markRun) error {
	ids, bits, err := d.fresh(m.marks)
	if err != nil {
		return err
	}
	r, err := d.openBaseline()
	if err != nil {
		return err
	}
	var fresh atomic.Int64
	took, err := m.call(ids, func(id string) error {
		added, err := r.mark(id)
		if added {
			fresh.Add(1)
		}
		return err
	})
	if err == nil {
		err = checkf(int(fresh.Load()), bits, "bits the baseline set")
	}
	if err == nil {
		var n int
		if n, err = r.count(); err == nil {
			err = checkf(n, distinct(d.base)+bits, "count of the baseline's day")
		}
	}
	m.rate.add(float64(m.marks) / took.Seconds())
	return errors.Join(err, r.close())
}

// call has the callers mark the ids, each every so-manieth, and notes how long
// each mark took.
func (m *markRun) call(ids []string, mark func(id string) error) (time.Duration, error) {
	latencies := make([]time.Duration, len(ids))
	errs := make([]error, m.callers)
	var callers sync.WaitGroup
	start := time.Now()
	for c := range m.callers {
		callers.Go(func() {
			for i := c; i < len(ids); i += m.callers {
				began := time.Now()
				if errs[c] = mark(ids[i]); errs[c] != nil {
					return
				}
				latencies[i] = time.Since(began)
			}
		})
	}
	callers.Wait()
	took := time.Since(start)
	m.latencies = append(m.latencies, latencies...)
	return took, errors.Join(errs...)
}
