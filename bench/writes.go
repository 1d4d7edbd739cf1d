package main

import (
	"context"
	"errors"

	"cohort/placement"
	"cohort/store"
)

var writesSection = section{
	name:  "writes",
	title: "bytes written per mark",
	about: "MarkMany with 1,000 new ids a call, one event and a day that is full already. " +
		"Handed over is what write calls were given (wchar of /proc/self/io). " +
		"Written is what the kernel then had to write (write_bytes): pages made dirty. " +
		"It counts a large folio of the page cache whole for any page of it, so the copy of the store that is marked leaves the cache before it is opened, " +
		"or the large folios of the copying would be counted, several times what is written. " +
		"Reached the disk is what the device was given meanwhile, with the file system's own journal and whatever else the machine wrote. " +
		"The fold that follows is counted by itself. Each round does the same to a fresh copy.",
	run: runWrites,
}

// commitMarks is the number of marks in one call.
const commitMarks = 1000

// writeRun is the bytes per mark that were written in the rounds.
type writeRun struct {
	handedOver, written         samples
	disk                        samples // short where it is not known
	foldHandedOver, foldWritten samples
}

func runWrites(ctx context.Context, b *bench, r *result) error {
	t := r.table("ids", "marks a commit", "commits", "handed over/mark", "written/mark", "reached the disk/mark",
		"fold: handed over/mark", "fold: written/mark")
	for _, w := range []struct {
		name  string
		kind  placement.Kind
		of    idOf
		marks []int // a commit
	}{
		{"branded", placement.Branded, brandedIDs(b.seed), []int{commitMarks, 1}},
		{"strings of 48 bytes, kept", placement.String, stringIDs(b.seed), []int{commitMarks}},
	} {
		d, err := newFullDay(ctx, b, w.kind, w.of)
		if err != nil {
			return err
		}
		for _, marks := range w.marks {
			var run writeRun
			if err := b.interleave(ctx, func(int) error { return d.countWrites(ctx, marks, &run) }); err != nil {
				return err
			}
			var disk any
			if len(run.disk) == b.rounds {
				disk = run.disk
			}
			t.row(w.name, marks, b.commits, run.handedOver, run.written, disk, run.foldHandedOver.median(), run.foldWritten.median())
			if w.kind == placement.Branded && marks == commitMarks {
				r.atMost("bytes written per mark, 1,000 marks a commit", run.written.median(), 64, "")
				r.atMost("bytes given to write calls per mark, the same", run.handedOver.median(), 64, "")
			}
			b.logf("%s, %d a commit: %v bytes a mark", w.name, marks, run.written)
		}
	}
	return nil
}

// countWrites makes b.commits calls of so many marks each, and folds.
func (d *fullDay) countWrites(ctx context.Context, marks int, run *writeRun) (err error) {
	ids, bits, err := d.fresh(marks * d.b.commits)
	if err != nil {
		return err
	}
	db, err := d.open(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var sum store.Tally
	before, beforeErr := diskWritten(d.b.dir)
	wrote, err := countIO(func() error {
		for i := 0; i < len(ids); i += marks {
			t, err := db.MarkMany(ctx, marksOf(markedEvent, markedDay, ids[i:i+marks]))
			if err != nil {
				return err
			}
			sum.New += t.New
			sum.Shared += t.Shared
		}
		return nil
	})
	if err != nil {
		return err
	}
	after, afterErr := diskWritten(d.b.dir)
	if err := checkf(sum, store.Tally{New: uint64(bits), Shared: uint64(len(ids) - bits)}, "sum of the tallies"); err != nil {
		return err
	}
	folded, err := countIO(func() error { return db.Fold(ctx) })
	if err != nil {
		return err
	}
	perMark := func(n int64) float64 { return float64(n) / float64(len(ids)) }
	run.handedOver.add(perMark(wrote.handedOver))
	run.written.add(perMark(wrote.written))
	if beforeErr == nil && afterErr == nil {
		run.disk.add(perMark(after - before))
	}
	run.foldHandedOver.add(perMark(folded.handedOver))
	run.foldWritten.add(perMark(folded.written))
	return d.checkCount(ctx, db, bits)
}
