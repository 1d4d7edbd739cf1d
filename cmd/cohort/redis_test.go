package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"cohort/cmd/cohort/internal/redistest"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestRedisScripts runs testdata/redis, each script beside a Redis of its own:
// "redis" sends it a command, "setbits KEY POSITION..." sets bits.
func TestRedisScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/redis/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			r := redistest.Start(t)
			testscript.Run(t, testscript.Params{
				Files: []string{script},
				Setup: func(env *testscript.Env) error {
					setScript(env)
					env.Setenv("REDIS", r.Addr)
					env.Setenv("SOCKET", r.URL())
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"status":  cmdStatus,
					"keys":    cmdKeys,
					"oneline": cmdOneLine,
					"redis": func(ts *testscript.TestScript, _ bool, args []string) {
						ts.Check(redisCommand(t, r, args))
					},
					"setbits": func(ts *testscript.TestScript, _ bool, args []string) {
						for _, position := range args[1:] {
							ts.Check(redisCommand(t, r, []string{"SETBIT", args[0], position, "1"}))
						}
					},
				},
			})
		})
	}
}

func redisCommand(t *testing.T, r *redistest.Server, args []string) error {
	var command []any
	for _, arg := range args {
		command = append(command, arg)
	}
	return r.Client.Do(t.Context(), command...).Err()
}

// bitmaps are what is set in a Redis: event, day, ids.
type bitmaps map[string]map[string]map[int64]bool

// fillRandom sets random bits in a Redis, of some events, days and hours.
func fillRandom(t *testing.T, r *redistest.Server, rnd *rand.Rand) (set bitmaps, rows, keys int) {
	set = bitmaps{}
	for _, event := range []string{"active", "task_done", "song:played"} {
		set[event] = map[string]map[int64]bool{}
		for day := 1; day <= 31; day += 1 + rnd.IntN(10) {
			ids := map[int64]bool{}
			set[event][fmt.Sprintf("2026-01-%02d", day)] = ids
			name := fmt.Sprintf("trackist_%s_2026-1-%d", event, day)
			for _, key := range []string{name, name + "-0", name + "-23"} {
				positions := map[int64]bool{}
				base, width := rnd.Int64N(1<<31), int64(1)<<rnd.IntN(31)
				for range 1 + rnd.IntN(500) {
					p := (base + rnd.Int64N(width)) & (1<<27 - 1)
					positions[p], ids[p] = true, true
				}
				r.SetBits(t, key, slices.Collect(maps.Keys(positions))...)
				rows += len(positions)
				keys++
			}
		}
	}
	return set, rows, keys
}

// Random bitmaps come out as they were set, however often they are imported.
func TestImportRedisRandom(t *testing.T) {
	r := redistest.Start(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	set, rows, keys := fillRandom(t, r, rand.New(rand.NewPCG(seed, 0)))
	marks := 0
	for _, days := range set {
		for _, ids := range days {
			marks += len(ids)
		}
	}
	db := filepath.Join(t.TempDir(), "cohort.db")
	type figures struct {
		Rows, Marks, New, Already, Shared, Refused, Keys int
	}
	load := []string{"--db", db, "import", "--from-redis", r.Addr, "--key-layout", "bitmapist"}
	for _, want := range []figures{
		{Rows: rows, Marks: rows, New: marks, Already: rows - marks, Keys: keys},
		{Rows: rows, Marks: rows, Already: rows, Keys: keys},
	} {
		var got figures
		askJSON(t, &got, load...)
		if got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	for event, days := range set {
		for day, ids := range days {
			var answer struct{ IDs []string }
			askJSON(t, &answer, "--db", db, "members", event+"["+day+"]")
			var got []int64
			for _, id := range answer.IDs {
				n, err := strconv.ParseInt(id, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, n)
			}
			if want := slices.Sorted(maps.Keys(ids)); !slices.Equal(got, want) {
				t.Errorf("%s on %s: %d ids, want %d", event, day, len(got), len(want))
			}
		}
	}
}

// fillMany sets bits in one key a day: so many as are read in more than a batch.
func fillMany(t *testing.T, r *redistest.Server) (keys int) {
	for key := range 30 {
		name := fmt.Sprintf("active:2026-01-%02d", 1+key)
		r.Do(t, "set", name, strings.Repeat("\xff", 100_000/8))
	}
	return 30
}

// waitForKeys waits until keys were read.
func waitForKeys(t *testing.T, r *redistest.Server, keys int) {
	t.Helper()
	calls := regexp.MustCompile(`cmdstat_getrange:calls=(\d+)`)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		info, err := r.Client.Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		if m := calls.FindStringSubmatch(info); m != nil {
			if n, _ := strconv.Atoi(m[1]); n >= keys {
				return
			}
		}
	}
	t.Fatal("the keys are not read")
}

// An import that is interrupted, or whose Redis ends, keeps the batches before,
// says so, and can be repeated.
func TestImportRedisBroken(t *testing.T) {
	for _, test := range []struct {
		name   string
		end    func(t *testing.T, r *redistest.Server, p *os.Process)
		status int
		stderr string
	}{{
		name: "interrupted",
		end: func(t *testing.T, r *redistest.Server, p *os.Process) {
			r.Do(t, "client", "pause", 60_000, "all")
			if err := p.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		},
		status: statusInterrupted,
		stderr: `^cohort: import: interrupted: (\d+) marks are on disk \(\d+ new, 0 already, 0 shared\), \d+ rows were read; run it again from the start: [^\n]*\n$`,
	}, {
		name: "Redis ends",
		end: func(t *testing.T, r *redistest.Server, _ *os.Process) {
			_ = r.Client.ShutdownNoSave(t.Context()).Err() // it does not answer
		},
		status: statusFailed,
		stderr: `^cohort: import: unix:///[^:]+: [^\n]+\n$`,
	}} {
		t.Run(test.name, func(t *testing.T) {
			r := redistest.Start(t)
			keys := fillMany(t, r)
			db := filepath.Join(t.TempDir(), "cohort.db")
			cmd, stderr := cohort(t, "--db", db, "--json", "import", "--from-redis", r.URL())
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitForKeys(t, r, keys/2) // a batch is committed by then
			test.end(t, r, cmd.Process)
			if got := exitStatus(t, cmd.Wait()); got != test.status || !regexp.MustCompile(test.stderr).MatchString(stderr.String()) {
				t.Fatalf("exit status %d, %s", got, stderr)
			}
			var counts struct{ Results []struct{ Count int } }
			askJSON(t, &counts, "--db", db, "count", "seen", "active[2026-01-01]", "active[2026-01-30]")
			got := []int{counts.Results[0].Count, counts.Results[1].Count, counts.Results[2].Count}
			if want := []int{100_000, 100_000, 0}; !slices.Equal(got, want) {
				t.Errorf("counts %v, want %v", got, want)
			}
		})
	}
}

// The message of a Redis error is one line and has no password in it, whatever
// layer it comes from.
func TestRedisAddressIsNotTold(t *testing.T) {
	const secret = "hunter2"
	for _, address := range []string{
		"redis://:" + secret + "@127.0.0.1:1", "redis://user:" + secret + "@127.0.0.1:1/0", "unix://:" + secret + "@/no/such",
		"redis://:" + secret + "@127.0.0.1:x", "redis://:" + secret + "@127.0.0.1:1/x", "redis://:%" + secret + "@127.0.0.1:1",
	} {
		cmd, stderr := cohort(t, "--db", filepath.Join(t.TempDir(), "cohort.db"), "import", "--from-redis", address)
		if err := cmd.Run(); err == nil || strings.Contains(stderr.String(), secret) || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%s: %v, %s", address, err, stderr)
		}
	}
}
