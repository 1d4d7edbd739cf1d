package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"cohort/store"
)

// result is what a run measured. Figures of sides stand in the order of Sides;
// those that were taken in rounds are lists.
type result struct {
	Sides     []string
	Marks     int
	Load      [][]float64 // seconds
	Bytes     []int64
	Questions []asked
	Durable   []durable
	Notes     []string
}

// asked is a question with the milliseconds of each side, round by round.
type asked struct {
	Name    string
	Figures int // of the answer
	Millis  [][]float64
}

// durable is the marks a second of each side, each mark on disk before its caller
// goes on; nil for a side that was not asked.
type durable struct {
	Callers int
	Rates   [][]float64
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run makes the comparison that args ask for and writes its result to out, as JSON.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	people := flags.Int("people", 1_000_000, "how many people there are")
	rounds := flags.Int("rounds", 5, "how often questions are asked, in turn; loads and durable marks run once less than twice as often")
	seed := flags.Uint64("seed", 1, "seed of the marks")
	dir := flags.String("dir", os.TempDir(), "where the stores lie; a real disk")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if least := writeRounds(*rounds) * (callers[0] + callers[1]); *people < least { // each marks once
		return fmt.Errorf("%d rounds take %d people", *rounds, least)
	}
	work, err := os.MkdirTemp(*dir, "peers-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	c := &comparison{w: newWorkload(*people, *seed), dir: work, rounds: *rounds}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.enter(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{c.load, c.ask, c.markDurably} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return json.NewEncoder(out).Encode(c.result)
}

// comparison is the sides and what was measured of them.
type comparison struct {
	w       *workload
	dir     string
	rounds  int
	entries []entry
	sides   []side // of the entries, once they are loaded
	result  result
}

// entry is a side before it is opened.
type entry struct {
	name   string
	oracle *workload // what it must answer from
	open   func(ctx context.Context, path string) (side, error)
}

func (c *comparison) add(e entry) {
	c.entries = append(c.entries, e)
	c.sides = append(c.sides, nil)
	c.result.Sides = append(c.result.Sides, e.name)
}

// enter lists the sides that there are.
func (c *comparison) enter() error {
	merged, err := c.w.merged()
	if err != nil {
		return err
	}
	library := func(opts store.Options) func(context.Context, string) (side, error) {
		return func(_ context.Context, path string) (side, error) { return openLibrary(path, opts, c.w) }
	}
	c.add(entry{"cohort, dense", c.w, library(store.Options{Positions: store.Dense})})
	c.add(entry{"cohort, hashed", merged, library(store.Options{})})
	if _, err := exec.LookPath("redis-server"); err != nil {
		c.result.Notes = append(c.result.Notes, "Without Redis: "+errNoRedis.Error()+".")
	} else {
		c.add(entry{"Redis, flat bitmaps", c.w, func(ctx context.Context, _ string) (side, error) { return openRedis(ctx, false, c.w) }})
	}
	c.addDatabases()
	return nil
}

func (c *comparison) close() error {
	var errs []error
	for _, s := range c.sides {
		if s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(errs...)
}

func (c *comparison) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "  "+format+"\n", args...)
}

// writeRounds is how many rounds loads and durable marks take: what waits for a disk
// scatters more than questions do.
func writeRounds(rounds int) int { return 2*rounds - 1 }

// once is from what time on a side is loaded in the first round only.
const once = 5 * time.Second

// load has every side store all marks, in rounds, each into a new store; the last is kept.
func (c *comparison) load(ctx context.Context) error {
	c.result.Marks = c.w.marks()
	c.result.Load, c.result.Bytes = make([][]float64, len(c.entries)), make([]int64, len(c.entries))
	for round := range writeRounds(c.rounds) {
		for i, e := range c.entries {
			if taken := c.result.Load[i]; round > 0 && taken[0] >= once.Seconds() {
				continue
			}
			if err := c.loadRound(ctx, i, filepath.Join(c.dir, fmt.Sprintf("%d-%d", i, round))); err != nil {
				return fmt.Errorf("%s: load: %w", e.name, err)
			}
		}
	}
	return nil
}

// loadRound has a side store all marks in a new store.
func (c *comparison) loadRound(ctx context.Context, i int, path string) error {
	if s := c.sides[i]; s != nil {
		c.sides[i] = nil
		if err := s.close(); err != nil {
			return err
		}
	}
	s, err := c.entries[i].open(ctx, path)
	if err != nil {
		return err
	}
	c.sides[i] = s
	runtime.GC() // of what the side before left
	start := time.Now()
	if err := s.load(ctx, c.w); err != nil {
		return err
	}
	took := time.Since(start).Seconds()
	c.result.Load[i] = append(c.result.Load[i], took)
	c.logf("%s loaded %d marks in %.2f s", c.entries[i].name, c.result.Marks, took)
	c.result.Bytes[i], err = s.bytes()
	return err
}

// atLeast is how long a question is repeated in a round; what takes less time is
// asked several times.
const atLeast = 20 * time.Millisecond

// ask asks every side every question: first all of them for the answer, which must
// be right, then in rounds.
func (c *comparison) ask(ctx context.Context) error {
	for _, q := range questions {
		a := asked{Name: q.String(), Figures: len(c.w.answer(q)), Millis: make([][]float64, len(c.sides))}
		for i, s := range c.sides {
			got, err := s.ask(ctx, q)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", c.result.Sides[i], q, err)
			}
			if want := c.entries[i].oracle.answer(q); !slices.Equal(got, want) {
				return fmt.Errorf("%s: %s: got %v, want %v", c.result.Sides[i], q, got, want)
			}
		}
		for range c.rounds {
			for i, s := range c.sides {
				n, start := 0, time.Now()
				for n == 0 || time.Since(start) < atLeast {
					if _, err := s.ask(ctx, q); err != nil {
						return fmt.Errorf("%s: %s: %w", c.result.Sides[i], q, err)
					}
					n++
				}
				a.Millis[i] = append(a.Millis[i], time.Since(start).Seconds()*1000/float64(n))
			}
		}
		c.result.Questions = append(c.result.Questions, a)
		c.logf("%s: asked", q)
	}
	return nil
}

// callers are how many mark at a time.
var callers = [2]int{1, 50}

// marksEach is how many marks each caller makes in a round: one for a thousand people, a
// fifth of a second of many callers at full size, and of each person one in all.
func (c *comparison) marksEach() int {
	return min(max(1, c.w.people/1000), c.w.people/(writeRounds(c.rounds)*(callers[0]+callers[1])))
}

// markDurably has callers of the sides that can mark with a sync do so. Redis
// for it is another one, which keeps a log and syncs it with every write.
func (c *comparison) markDurably(ctx context.Context) error {
	synced, err := openRedis(ctx, true, c.w)
	if err != nil && !errors.Is(err, errNoRedis) {
		return err
	}
	if err == nil {
		defer synced.close()
	}
	next := make([]int, len(c.sides)) // the person that a side marks next
	for _, n := range callers {
		d := durable{Callers: n, Rates: make([][]float64, len(c.sides))}
		for range writeRounds(c.rounds) {
			for i, s := range c.sides {
				if !s.marksDurably() {
					continue
				}
				if _, ok := s.(*flatBitmaps); ok {
					s = synced
				}
				err = c.markRound(ctx, s, n, &next[i], &d.Rates[i])
				if err != nil {
					return fmt.Errorf("%s: mark: %w", c.result.Sides[i], err)
				}
			}
		}
		c.result.Durable = append(c.result.Durable, d)
		c.logf("%d callers: marked", n)
	}
	return nil
}

func (c *comparison) markRound(ctx context.Context, s side, callers int, next *int, rates *[]float64) error {
	errs, each := make([]error, callers), c.marksEach()
	runtime.GC() // of what the side before left
	var all sync.WaitGroup
	start := time.Now()
	for i := range callers {
		from := *next + i*each
		all.Go(func() {
			for p := from; p < from+each && errs[i] == nil; p++ {
				errs[i] = s.mark(ctx, p%c.w.people)
			}
		})
	}
	all.Wait()
	*rates = append(*rates, float64(callers*each)/time.Since(start).Seconds())
	*next += callers * each
	return errors.Join(errs...)
}
