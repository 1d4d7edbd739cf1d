package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

var casesSection = section{
	name:  "cases",
	title: "what is said of flat bitmaps, and the same here",
	about: "Doist's own deployment of bitmapist, over integer ids, had Redis at 129.48 GB, and bitmapist-server at about 300 MB resident (github.com/Doist/bitmapist-server). " +
		"That many bytes are 241 flat bitmaps over placements, 512 MiB each: one of them is made in a real Redis here, and the rest multiplied. " +
		"Against it stand 241 event-days of hashed branded ids, all stored, closed, opened by a process of its own, and asked for the count of every day, unions of 7 and 30 days and day-7 retention; resident is the most RssAnon seen meanwhile, mapped the file's pages, which the system may drop.",
	run: runCases,
}

// Doist's deployment, and how many flat bitmaps over placements are as large.
const (
	doistBytes = 129_480_000_000
	doistKeys  = doistBytes / (placement.Placements / 8)
	doistDay   = "a day of 1 million people, bitmap over placements"
)

func runCases(ctx context.Context, b *bench, r *result) error {
	t := r.table("event-days", "ids a day", "file MB", "bytes/id and day", "resident MB", "mapped MB", "count of a day ms", "union of 30 days ms")
	for _, ids := range b.caseIDs {
		path := b.path(fmt.Sprintf("case-%d.db", ids))
		days := min(doistKeys, b.caseDays)
		if err := b.buildCase(ctx, path, ids, days); err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		cmd, err := childCommand(ctx, "case", path, strconv.Itoa(days))
		if err != nil {
			return err
		}
		var c caseAnswer
		w, err := watch(cmd, &c)
		if err != nil {
			return err
		}
		t.row(thousands(int64(days)), ids, float64(info.Size())/1e6, float64(info.Size())/float64(days*ids),
			float64(w.peak)/1e6, float64(c.Mapped)/1e6, c.DayMillis, c.UnionMillis)
		if err := os.Remove(path); err != nil {
			return err
		}
		b.logf("%d event-days of %d ids", days, ids)
	}
	server, err := startRedis(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		r.note("Without Redis: it needs redis-server (apt-get install redis-server).")
		return b.checkInMonth(ctx, nil, r)
	}
	if err != nil {
		return err
	}
	defer server.stop()
	return errors.Join(b.claims(ctx, server, r), b.checkInMonth(ctx, server, r))
}

// buildCase makes days of an event, on each of which a random fifth of a
// population is active.
func (b *bench) buildCase(ctx context.Context, path string, ids, days int) error {
	db, err := store.Open(path, &store.Options{Create: store.CreateOnly})
	if err != nil {
		return err
	}
	of := brandedIDs(b.seed)
	all := of.ids(0, 5*ids)
	for d := range days {
		l, err := db.Load(ctx)
		if err != nil {
			return errors.Join(err, db.Close())
		}
		for i := range all {
			if scramble(b.seed+seedActivity+uint64(d), uint64(i))%5 == 0 {
				err = errors.Join(err, l.Add(markedEvent, all[i], openedDay+store.Day(d)))
			}
		}
		_, closeErr := l.Close()
		if err := errors.Join(err, closeErr); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	return db.Close()
}

// caseAnswer is what a child tells that asked a store of a case.
type caseAnswer struct {
	Mapped                 int64 // resident pages of the file
	DayMillis, UnionMillis float64
}

// caseChild asks a store under a load of questions.
func caseChild(args []string) (c caseAnswer, err error) {
	if len(args) != 2 {
		return c, fmt.Errorf("case: %d arguments", len(args))
	}
	days, err := strconv.Atoi(args[1])
	if err != nil {
		return c, err
	}
	db, err := store.Open(args[0], &store.Options{ReadOnly: true})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx := context.Background()
	var day, union samples
	for d := range days {
		at := openedDay + store.Day(d)
		for _, q := range []struct {
			over query.Period
			to   *samples
		}{{query.Day(at), &day}, {query.Trailing(7, at), new(samples)}, {query.Trailing(30, at), &union}} {
			took, err := timed(func() error {
				_, err := query.Count(ctx, db, markedEvent, q.over)
				return err
			})
			if err != nil {
				return c, err
			}
			q.to.add(took)
		}
		if _, err := query.RetentionBetween(ctx, db, markedEvent, at, at+7); err != nil {
			return c, err
		}
	}
	c.DayMillis, c.UnionMillis = day.median(), union.median()
	c.Mapped, err = rssFile("self")
	runtime.KeepAlive(db)
	return c, err
}

// claims measures what is said of flat bitmaps in numbers.
func (b *bench) claims(ctx context.Context, server *redisServer, r *result) error {
	t := r.table("in Redis", "said", "measured MB", "a year MB")
	bit := func(highest int64) func() (int64, error) {
		return func() (int64, error) {
			if err := server.client.SetBit(ctx, "bit", highest, 1).Err(); err != nil {
				return 0, err
			}
			return server.used(ctx, "bit")
		}
	}
	set := func(n int) func() (int64, error) {
		return func() (int64, error) {
			for first := 0; first < n; first += 10_000 {
				var ids []any
				for i := range min(10_000, n-first) {
					ids = append(ids, 1_000_000_000+first+i)
				}
				if err := server.client.SAdd(ctx, "set", ids...).Err(); err != nil {
					return 0, err
				}
			}
			return server.used(ctx, "set")
		}
	}
	for _, c := range []struct {
		what, said string
		yearly     bool
		measure    func() (int64, error)
	}{
		{"a day of 1 million people, bitmap over dense numbers", "125 KB, 46 MB a year", true, bit(999_999)},
		{"a day of 10 million people, bitmap over dense numbers", "1.25 MB, 456 MB a year", true, bit(9_999_999)},
		{fmt.Sprintf("a day of %s people, set of integers", thousands(int64(b.claimSet))), "of 10 million: 500 MB, 182 GB a year", true, set(b.claimSet)},
		{"one bit at position 10⁹", "125 MB", false, bit(1_000_000_000)},
		{"one bit at the highest placement", "512 MiB", false, bit(placement.Placements - 1)},
		{doistDay, "512 MiB", false, func() (int64, error) { return server.bitmapOfPlacements(ctx, 1_000_000) }},
	} {
		n, err := c.measure()
		if err != nil {
			return fmt.Errorf("%s: %w", c.what, err)
		}
		row := []any{c.what, c.said, float64(n) / 1e6, nil}
		if c.yearly {
			row[3] = 365 * float64(n) / 1e6
		}
		t.row(row...)
		if c.what == doistDay {
			r.note("%d keys of the last row's size, of which one was measured: %s GB.", doistKeys, figure(float64(doistKeys)*float64(n)/1e9))
		}
	}
	r.note("A year is 365 times the day that was measured. The bitmap with the highest placement is some bytes longer than 512 MiB, for which Redis's allocator takes 640.")
	return nil
}
