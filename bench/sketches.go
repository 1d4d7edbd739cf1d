package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"cohort/query"
	"cohort/store"

	"github.com/axiomhq/hyperloglog"
)

var sketchesSection = section{
	name:  "sketches",
	title: "unique visitors of pages",
	about: "Visits of pages by Zipf (page of rank r in proportion to 1/r), by visitors drawn as u²: a tenth of them makes a third of the visits. " +
		"They are loaded in order of days, past the journal, and the store is closed. Its memory is that of another process that opens it and asks all questions: RssAnon, and RssFile, the pages of the file that it has mapped. " +
		"Redis gets the first day, a HyperLogLog key a page, with the same ids; used_memory before and after. Dense is what it would be if every sketch were. " +
		"Every estimate is checked to lie within five standard errors of what sets of the same visitors count.",
	run: runSketches,
}

var sketchFirst = store.Date(2026, 1, 1)

// visitLoad is the visits of the section: the same for the same numbers.
type visitLoad struct {
	b     *bench
	ids   []string // of the visitors
	names []string // of the pages, by rank
}

func (b *bench) newVisitLoad() *visitLoad {
	v := &visitLoad{b: b, ids: brandedIDs(b.seed).ids(0, b.visitors), names: make([]string, b.pages)}
	for i := range v.names {
		v.names[i] = fmt.Sprintf("/section-%d/page-%d", i%97, i)
	}
	return v
}

// visit returns the page and the visitor of visit n of a day.
func (v *visitLoad) visit(day, n int) (page, visitor int) {
	x := scramble(v.b.seed+seedVisits, uint64(day)<<32|uint64(n))
	u, w := float64(x>>32)/(1<<32), float64(uint32(x))/(1<<32)
	// The distribution function of 1/r, continuous: ln r over ln of the number.
	page = int(math.Exp(u*math.Log(float64(len(v.names)+1)))) - 1
	return min(page, len(v.names)-1), int(w * w * float64(len(v.ids)))
}

// visitSets are the visitors of each day, of the site and of some pages, as sets.
type visitSets struct {
	site  []bitset
	pages map[int][]bitset // by rank
}

func runSketches(ctx context.Context, b *bench, r *result) error {
	v := b.newVisitLoad()
	path := b.path("sketches.db")
	sets, took, err := v.load(ctx, path)
	if err != nil {
		return err
	}
	visits := b.visits * b.visitDays
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	st, err := sketchStats(path)
	if err != nil {
		return err
	}
	r.note("%s visits of %s pages by %s visitors on %d days, loaded at %s visits a second; %s sketches, %s bytes each and %.1f of the file.",
		thousands(int64(visits)), thousands(int64(b.pages)), thousands(int64(b.visitors)), b.visitDays,
		thousands(int64(float64(visits)/took.Seconds())), thousands(int64(st.Sketches)), figure(float64(st.SketchBytes)/float64(st.Sketches)),
		float64(info.Size())/float64(st.Sketches))
	if err := v.sizes(ctx, r, st, info.Size(), path); err != nil {
		return err
	}
	return v.questions(ctx, r, path, sets)
}

// load makes the store, and the sets that its answers are checked by.
func (v *visitLoad) load(ctx context.Context, path string) (sets *visitSets, took time.Duration, err error) {
	sets = &visitSets{pages: make(map[int][]bitset)}
	for rank := 1; rank <= len(v.names); rank *= 10 {
		sets.pages[rank-1] = nil
	}
	db, err := store.Open(path, &store.Options{Create: store.CreateOnly})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	start := time.Now()
	l, err := db.LoadVisits(ctx)
	if err != nil {
		return nil, 0, err
	}
	words := (len(v.ids) + 63) / 64
	for day := range v.b.visitDays {
		site := make(bitset, words)
		for rank := range sets.pages {
			sets.pages[rank] = append(sets.pages[rank], make(bitset, words))
		}
		for n := range v.b.visits {
			page, visitor := v.visit(day, n)
			if err := l.Add(v.names[page], v.ids[visitor], sketchFirst+store.Day(day)); err != nil {
				_, closeErr := l.Close()
				return nil, 0, errors.Join(err, closeErr)
			}
			site[visitor/64] |= 1 << (visitor % 64)
			if of := sets.pages[page]; of != nil {
				of[day][visitor/64] |= 1 << (visitor % 64)
			}
		}
		sets.site = append(sets.site, site)
		v.b.logf("day %d of %d: %.1f s", day+1, v.b.visitDays, time.Since(start).Seconds())
	}
	tally, err := l.Close()
	if err != nil {
		return nil, 0, err
	}
	return sets, time.Since(start), checkf(int(tally.Marks()), v.b.visits*v.b.visitDays, "visits loaded")
}

func sketchStats(path string) (st store.Stats, err error) {
	db, err := store.Open(path, &store.Options{ReadOnly: true})
	if err != nil {
		return st, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	snap, err := db.Snapshot()
	if err != nil {
		return st, err
	}
	st, err = snap.Stats()
	return st, errors.Join(err, snap.Close())
}

// sizes compares what the sketches take.
func (v *visitLoad) sizes(ctx context.Context, r *result, st store.Stats, file int64, path string) error {
	sketches := float64(st.Sketches)
	t := r.table("", "MB", "bytes a sketch", "times the file")
	row := func(name string, bytes float64) {
		t.row(name, bytes/1e6, bytes/sketches, bytes/float64(file))
	}
	row("the store's file", float64(file))
	row("its sketches, without pages of the file that are not full", float64(st.SketchBytes))
	cmd, err := childCommand(ctx, "sketches", path, strconv.Itoa(v.b.visitDays))
	if err != nil {
		return err
	}
	var memory sketchMemory
	if _, err := watch(cmd, &memory); err != nil {
		return err
	}
	row("memory of a process that asks: RssAnon", float64(memory.Anon))
	row("the same: RssFile", float64(memory.File))
	perDay, keys, err := v.redis(ctx)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		r.note("Without Redis: it needs redis-server (apt-get install redis-server).")
	case err != nil:
		return err
	default:
		row(fmt.Sprintf("Redis, memory: %s keys of the first day, times %d", thousands(int64(keys)), v.b.visitDays), float64(perDay)*float64(v.b.visitDays))
	}
	row("Redis, were every sketch dense: 12 KiB", 12<<10*sketches)
	row("this library, were every sketch dense: 16 KiB", 16<<10*sketches)
	return nil
}

// redis adds the first day to HyperLogLogs of a Redis, and returns what they take.
func (v *visitLoad) redis(ctx context.Context) (bytes int64, keys int, err error) {
	server, err := startRedis(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer server.stop()
	before, err := usedMemory(ctx, server)
	if err != nil {
		return 0, 0, err
	}
	visitors := make(map[int][]any)
	for n := range v.b.visits {
		page, visitor := v.visit(0, n)
		visitors[page] = append(visitors[page], v.ids[visitor])
	}
	pipe := server.client.Pipeline()
	for page, ids := range visitors {
		pipe.PFAdd(ctx, v.names[page]+":2026-01-01", ids...)
		if pipe.Len() < 1000 {
			continue
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return 0, 0, err
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return 0, 0, err
	}
	after, err := usedMemory(ctx, server)
	return after - before, len(visitors), err
}

func usedMemory(ctx context.Context, server *redisServer) (int64, error) {
	text, err := server.client.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(field(strings.NewReader(text), "used_memory"), 10, 64)
}

// sketchMemory is what a process that asks takes, in bytes.
type sketchMemory struct{ Anon, File int64 }

// sketchesChild opens a store, asks all questions of so many days, and says what
// memory that took.
func sketchesChild(args []string) (m sketchMemory, err error) {
	days, err := strconv.Atoi(args[1])
	if err != nil {
		return m, err
	}
	db, err := store.Open(args[0], &store.Options{ReadOnly: true})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, q := range sketchQuestions(days) {
		if _, err := q.ask(context.Background(), db); err != nil {
			return m, err
		}
	}
	if m.Anon, err = rssAnon("self"); err == nil {
		m.File, err = rssFile("self")
	}
	return m, err
}

// sketchQuestion is one that is asked of the store.
type sketchQuestion struct {
	name        string
	first, last int // days
	rank        int // of the page; −1 is the site
	top         int // or the pages with the most
}

func sketchQuestions(days int) []sketchQuestion {
	week := min(7, days)
	return []sketchQuestion{
		{"site, a day", days - 1, days - 1, -1, 0},
		{"site, a week", 4, min(4+week, days) - 1, -1, 0}, // January 5 is a Monday
		{"site, the month", 0, days - 1, -1, 0},
		{"the first page, a day", days - 1, days - 1, 0, 0},
		{"the first page, the month", 0, days - 1, 0, 0},
		{"the hundredth page, the month", 0, days - 1, 99, 0},
		{"top 10 of a day", days - 1, days - 1, 0, 10},
		{"top 10 of the month", 0, days - 1, 0, 10},
	}
}

func (q sketchQuestion) ask(ctx context.Context, src query.Source) (query.PageUniques, error) {
	first, last := sketchFirst+store.Day(q.first), sketchFirst+store.Day(q.last)
	if q.rank < 0 && q.first == 0 {
		last = sketchFirst + 30 // the whole of January, what there is of it
	}
	over := []query.Period{query.Between(query.Day(first), query.Day(last))}
	var rows []query.PageUniques
	var err error
	switch {
	case q.top > 0:
		rows, err = query.TopPages(ctx, src, q.top, over)
	case q.rank < 0:
		rows, err = query.SiteUniques(ctx, src, over)
	default:
		rows, err = query.Uniques(ctx, src, []string{fmt.Sprintf("/section-%d/page-%d", q.rank%97, q.rank)}, over)
	}
	if err != nil || len(rows) == 0 {
		return query.PageUniques{}, errors.Join(err, errors.New("no answer"))
	}
	return rows[0], nil
}

// questions times the questions and checks their answers.
func (v *visitLoad) questions(ctx context.Context, r *result, path string, sets *visitSets) (err error) {
	db, err := store.Open(path, &store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	qs := sketchQuestions(v.b.visitDays)
	took := make([]samples, len(qs))
	answers := make([]query.PageUniques, len(qs))
	var merging samples
	err = v.b.interleave(ctx, func(int) error {
		for i, q := range qs {
			start := time.Now()
			if answers[i], err = q.ask(ctx, db); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			took[i].add(float64(time.Since(start)) / float64(time.Millisecond))
		}
		start := time.Now()
		n, err := mergeEveryPage(db, sketchFirst+store.Day(v.b.visitDays-1))
		if err != nil {
			return err
		}
		merging.add(float64(time.Since(start)) / float64(time.Millisecond))
		return checkf(n, answers[0].Count, "the site's day from every page's sketch")
	})
	if err != nil {
		return err
	}
	t := r.table("question", "estimate", "truth", "off by %", "ms")
	for i, q := range qs {
		days := sets.site
		if q.rank >= 0 {
			days = sets.pages[q.rank] // the first page is the top of all
		}
		truth := float64(union(days[q.first : q.last+1]...).count())
		off := float64(answers[i].Count)/truth - 1
		if math.Abs(off) > 5*answers[i].StdError {
			return fmt.Errorf("wrong answer: %s: %d, the truth is %g", q.name, answers[i].Count, truth)
		}
		t.row(q.name, answers[i].Count, uint64(truth), 100*off, took[i])
	}
	t.row("the site's day from the sketch of every page", answers[0].Count, nil, nil, merging)
	r.note("A week and a month of the site that are not whole are put together from those that are, and days.")
	return nil
}

// mergeEveryPage estimates the visitors of a day without the sketch of the site.
func mergeEveryPage(db *store.DB, day store.Day) (n uint64, err error) {
	snap, err := db.Snapshot()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	pages, err := snap.AllPages()
	if err != nil {
		return 0, err
	}
	all := hyperloglog.New()
	for _, p := range pages {
		s, err := snap.Sketch(p, store.Period{First: day, Last: day})
		if err != nil {
			return 0, err
		}
		if err := all.Merge(s); err != nil {
			return 0, err
		}
	}
	return all.Estimate(), nil
}
