package store_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"cohort/store"
)

// children are what the test binary does instead of its tests when it is
// started with COHORT_CHILD: tests need processes to kill, to let die of a
// damaged file, and to hold locks.
var children = map[string]func(path, seed string) error{
	"marks":  childMarks,
	"load":   childLoad,
	"hold":   childHold,
	"damage": childDamage,
	"walk":   childWalk,
	"full":   childFull,
}

func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv("COHORT_CHILD")]; ok {
		go func() { // no child outlives the tests: they hold its input open
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		if err := run(os.Getenv("COHORT_STORE"), os.Getenv("COHORT_SEED")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := flag.Set("rapid.checks", "30"); err != nil { // each opens several files
		panic(err)
	}
	os.Exit(m.Run())
}

// child is a process of the test binary.
type child struct {
	*exec.Cmd
	lines  *bufio.Scanner // of its output
	stderr strings.Builder
}

func startChild(t testing.TB, role, path string, seed any) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0])}
	c.Env = append(os.Environ(), "COHORT_CHILD="+role, "COHORT_STORE="+path, "COHORT_SEED="+fmt.Sprint(seed), "GOTRACEBACK=all")
	c.Stderr = &c.stderr
	out, err := c.StdoutPipe()
	if err == nil {
		_, err = c.StdinPipe() // closed by Wait
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.lines = bufio.NewScanner(out)
	c.lines.Buffer(nil, 1<<20)
	return c
}

// kill ends the child as kill -9 does.
func (c *child) kill(t testing.TB) {
	t.Helper()
	if err := c.Process.Kill(); err != nil && !strings.Contains(err.Error(), "finished") {
		t.Fatal(err)
	}
}

// await reads lines until one begins so.
func (c *child) await(t testing.TB, prefix string) string {
	t.Helper()
	for c.lines.Scan() {
		if strings.HasPrefix(c.lines.Text(), prefix) {
			return c.lines.Text()
		}
	}
	err := c.Wait()
	t.Fatalf("the child ended before it said %q: %v\n%s", prefix, err, c.stderr.String())
	return ""
}

// say writes a line. It is in the pipe when say returns, whatever happens to
// the process.
func say(format string, args ...any) {
	if _, err := fmt.Fprintf(os.Stdout, format+"\n", args...); err != nil {
		panic(err)
	}
}

// childHold keeps the store open, and grows it, until it is killed.
func childHold(path, seed string) error {
	db, err := store.Open(path, options(0))
	if err != nil {
		return err
	}
	say("open")
	for i := range uint64(1 << 20) {
		if _, err := db.MarkMany(ctx, someMarks("active", 100, i*100)); err != nil {
			return err
		}
		if seed == "still" {
			time.Sleep(time.Hour)
		}
	}
	return nil
}

// workDir is a directory for files that need not survive the machine.
func workDir(t testing.TB) string {
	t.Helper()
	if dir, err := os.MkdirTemp("/dev/shm", "cohort"); err == nil {
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	return t.TempDir()
}
