package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
)

// What is measured by its memory, or from a cold start, runs in a process of
// its own: this program again, with childArg as its first argument and what to
// do as its second.
const childArg = "child-of-bench"

// profileEnv names the file that a child writes its CPU profile to.
const profileEnv = "COHORT_BENCH_PROFILE"

func isChild() bool { return len(os.Args) > 2 && os.Args[1] == childArg }

// runChild does what a child is to do, and returns its exit status. Its answer
// goes to stdout as JSON.
func runChild(args []string) int {
	var answer any
	err := profiled(os.Getenv(profileEnv), func() (err error) {
		switch args[0] {
		case "open":
			answer, err = openChild(args[1:])
		case "memory":
			answer, err = memoryChild(args[1:])
		case "case":
			answer, err = caseChild(args[1:])
		case "report":
			answer, err = reportChild(args[1:])
		case "sketches":
			answer, err = sketchesChild(args[1:])
		case "load":
			answer, err = loadChild(args[1:])
		default:
			err = fmt.Errorf("child: nothing named %q to do", args[0])
		}
		return err
	})
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// profiled runs fn, and writes its CPU profile where a path is given.
func profiled(path string, fn func() error) (err error) {
	if path == "" {
		return fn()
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return fn()
}

// childCommand is this program as a child.
func childCommand(ctx context.Context, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, self, append([]string{childArg}, args...)...), nil
}

// watched is how a process went.
type watched struct {
	took time.Duration // from its start to its end
	peak int64         // the most RssAnon seen, in bytes
}

// watchEvery is how often a process's memory is looked at.
const watchEvery = 20 * time.Millisecond

// watch runs a command to its end, decodes the JSON on its stdout into answer,
// and watches its memory.
func watch(cmd *exec.Cmd, answer any) (w watched, err error) {
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return w, err
	}
	ended := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			if n, err := rssAnon(strconv.Itoa(cmd.Process.Pid)); err == nil {
				w.peak = max(w.peak, n)
			}
			select {
			case <-ended:
				return
			case <-tick.C:
			}
		}
	})
	err = cmd.Wait()
	w.took = time.Since(start)
	close(ended)
	watcher.Wait()
	if err != nil {
		return w, fmt.Errorf("%s: %w: %s", cmd.Args[0], err, complaints.String())
	}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil {
		return w, fmt.Errorf("%s: its answer: %w", cmd.Args[0], err)
	}
	return w, nil
}
