package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"cohort/query"
	"cohort/store"
)

var openSection = section{
	name:  "open",
	title: "opening a large store",
	about: "Full days of one event, half of a population active on each, loaded in bulk and closed. " +
		"A process of its own opens the store, looks at its memory (RssAnon), and counts a day, which is checked. " +
		"Warm: the file was read just before. Cold: its pages were dropped from the page cache. " +
		"Unclean: a copy of the file taken while the store was open and had 10,000 marks in its journal. " +
		"The process ends without closing the store, and leaves it as it was.",
	run: runOpen,
}

// openedDay is the first day of the store that is opened.
var openedDay = store.Date(2025, 1, 1)

// uncleanCommits is how many commits the journal of the unclean store has.
const uncleanCommits = 10

// opened is what a child tells about the store it opened.
type opened struct {
	Millis      float64 // store.Open
	RSS         int64   // RssAnon after it
	Fetched     int64   // bytes that came from the disk meanwhile
	FirstMillis float64 // the first count of a day
	Count       uint64
}

// openRun is what one way of opening did in all rounds.
type openRun struct {
	name        string
	millis, rss samples
	fetched     samples
	first       samples
}

func runOpen(ctx context.Context, b *bench, r *result) error {
	path, copied := b.path("large.db"), b.path("unclean.db")
	start := time.Now()
	count, err := b.buildLarge(ctx, path)
	if err != nil {
		return err
	}
	built := time.Since(start)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	b.logf("%d MB built in %.0f s", info.Size()>>20, built.Seconds())
	fresh, err := b.endUncleanly(ctx, path, copied, count)
	if err != nil {
		return err
	}
	warm, cold := &openRun{name: "clean, warm"}, &openRun{name: "clean, cold"}
	uncleanWarm, uncleanCold := &openRun{name: "unclean, warm"}, &openRun{name: "unclean, cold"}
	err = b.interleave(ctx,
		func(int) error { return errors.Join(readFile(path), b.openOnce(ctx, path, count, warm)) },
		func(int) error { return errors.Join(evict(path), b.openOnce(ctx, path, count, cold)) },
		func(int) error { return errors.Join(readFile(copied), b.openOnce(ctx, copied, fresh, uncleanWarm)) },
		func(int) error { return errors.Join(evict(copied), b.openOnce(ctx, copied, fresh, uncleanCold)) })
	if err != nil {
		return err
	}
	t := r.table("store", "file MB", "open ms", "RssAnon MB", "from disk MB", "first count of a day ms")
	for _, o := range []*openRun{warm, cold, uncleanWarm, uncleanCold} {
		t.row(o.name, float64(info.Size())/1e6, o.millis, o.rss.median(), o.fetched.median(), o.first)
	}
	r.note("Loading its %s days took %s s, %s marks/s, ids made up meanwhile included.", thousands(int64(b.days)),
		figure(built.Seconds()), figure(float64(b.days)*float64(b.ids)/built.Seconds()))
	r.atMost("a clean store, warm", warm.millis.median(), 100, " ms")
	r.atMost("memory after it", warm.rss.median(), 50, " MB")
	return nil
}

// buildLarge makes the store and returns the count of its first day.
func (b *bench) buildLarge(ctx context.Context, path string) (uint64, error) {
	p, err := newPopulation(b.seed, 2*b.ids)
	if err != nil {
		return 0, err
	}
	db, err := store.Open(path, &store.Options{Create: store.CreateOnly})
	if err != nil {
		return 0, err
	}
	count := 0
	for n := range b.days {
		d := p.day(n, 2)
		if n == 0 {
			count = d.set.count()
		}
		if err := loadDay(ctx, db, markedEvent, openedDay+store.Day(n), d.ids); err != nil {
			return 0, errors.Join(err, db.Close())
		}
		if n%50 == 49 {
			b.logf("%d days loaded", n+1)
		}
	}
	return uint64(count), db.Close()
}

// endUncleanly copies the store while it is open, as a crash would leave it,
// with marks of ids that are new in its journal. It returns the count of the
// first day, which is count in the store. The store itself ends as it began.
func (b *bench) endUncleanly(ctx context.Context, path, copied string, count uint64) (uint64, error) {
	live := b.path("live.db")
	if err := copyFile(live, path); err != nil {
		return 0, err
	}
	db, err := store.Open(live, &store.Options{FoldAge: -1})
	if err != nil {
		return 0, err
	}
	err = func() error {
		for i := range uncleanCommits {
			ids := brandedIDs(b.seed).ids(2*b.ids+i*commitMarks, commitMarks)
			t, err := db.MarkMany(ctx, marksOf(markedEvent, openedDay, ids))
			if err != nil {
				return err
			}
			count += t.New
		}
		return copyFile(copied, live)
	}()
	return count, errors.Join(err, db.Close(), os.Remove(live))
}

// openOnce has a child open the store, and checks what it counts.
func (b *bench) openOnce(ctx context.Context, path string, count uint64, o *openRun) error {
	cmd, err := childCommand(ctx, "open", path, strconv.Itoa(int(openedDay)))
	if err != nil {
		return err
	}
	if b.profiles != "" {
		cmd.Env = append(os.Environ(), profileEnv+"="+filepath.Join(b.profiles, "open-child.prof"))
	}
	var got opened
	if _, err := watch(cmd, &got); err != nil {
		return err
	}
	o.millis.add(got.Millis)
	o.rss.add(float64(got.RSS) / 1e6)
	o.fetched.add(float64(got.Fetched) / 1e6)
	o.first.add(got.FirstMillis)
	return checkf(got.Count, count, "%s: count of the first day", o.name)
}

// openChild opens the store at a path, and counts a day: the arguments. It
// leaves the store open, and so an unclean one unclean.
func openChild(args []string) (o opened, err error) {
	if len(args) != 2 {
		return o, fmt.Errorf("open: %d arguments", len(args))
	}
	day, err := strconv.Atoi(args[1])
	if err != nil {
		return o, err
	}
	var db *store.DB
	io, err := countIO(func() error {
		start := time.Now()
		db, err = store.Open(args[0], nil)
		o.Millis = float64(time.Since(start)) / float64(time.Millisecond)
		return err
	})
	if err != nil {
		return o, err
	}
	o.Fetched = io.fetched
	if o.RSS, err = rssAnon("self"); err != nil {
		return o, err
	}
	start := time.Now()
	o.Count, err = query.Count(context.Background(), db, markedEvent, query.Day(store.Day(day)))
	o.FirstMillis = float64(time.Since(start)) / float64(time.Millisecond)
	return o, err
}

// readFile reads a file into the page cache.
func readFile(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f})
	return errors.Join(err, f.Close())
}
