package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cohort": runForTest})
}

// runForTest is the command with a clock: NOW is the time it tells.
func runForTest() {
	now := time.Now
	if s := os.Getenv("NOW"); s != "" {
		t, err := time.Parse(time.RFC3339, s)
		if err != nil {
			panic(err)
		}
		now = func() time.Time { return t }
	}
	os.Exit(run(inKind(os.Args[1:]), streams{os.Stdin, os.Stdout, os.Stderr}, now))
}

// positionsEnv is the kind of the stores that the command makes in these tests
// where nobody says it: hashed, unless it is "dense". Documents are run as they
// stand, and a script clears it that is about one kind.
const positionsEnv = "COHORT_POSITIONS"

// inKind has a command that may make a store make it so.
func inKind(args []string) []string {
	kind := os.Getenv(positionsEnv)
	makes := slices.ContainsFunc(args, func(a string) bool { return a == "init" || a == "mark" || a == "import" })
	says := slices.ContainsFunc(args, func(a string) bool { return a == "--positions" || a == "number" || a == "--from-redis" })
	if kind == "" || !makes || says {
		return args
	}
	path := "cohort.db"
	if i := slices.Index(args, "--db"); i >= 0 && i+1 < len(args) {
		path = args[i+1]
	}
	if _, err := os.Stat(path); err == nil {
		return args
	}
	return append(slices.Clone(args), "--positions", kind)
}

func TestScripts(t *testing.T) {
	example, err := filepath.Abs("../../docs/example.csv")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			setScript(env)
			env.Setenv("EXAMPLE", example)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  cmdStatus,
			"keys":    cmdKeys,
			"oneline": cmdOneLine,
			"damage":  cmdDamage,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "race":
				return raceEnabled, nil
			case "dense":
				return os.Getenv(positionsEnv) == "dense", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}

// setScript gives a script its clock, and the kind of the stores it makes.
func setScript(env *testscript.Env) {
	env.Setenv("NOW", "2026-02-01T12:00:00Z")
	env.Setenv(positionsEnv, os.Getenv(positionsEnv))
}

// cmdStatus runs a command that must exit with a status: status 2 cohort count.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// cmdDamage copies a store and changes a byte of the one checksum that stands before
// an event's name: damage FROM TO.
func cmdDamage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: damage from to")
	}
	file := []byte(ts.ReadFile(args[0]))
	const marker = "PLR" // behind the seal and the number of an event's record
	n := 0
	for i := range file[:len(file)-len(marker)] {
		if string(file[i:i+len(marker)]) == marker && i > 8 {
			file[i-8] ^= 1
			n++
		}
	}
	if n == 0 {
		ts.Fatalf("nothing to damage in %s", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), file, 0o600))
}

// cmdOneLine checks that stderr is one line.
func cmdOneLine(ts *testscript.TestScript, neg bool, _ []string) {
	if n := strings.Count(ts.ReadFile("stderr"), "\n"); (n == 1) == neg {
		ts.Fatalf("stderr has %d lines", n)
	}
}

// cmdKeys checks that stdout is one JSON document, and that an object in it has
// the keys, and no others: keys results.0 id count. A path of "." is the document.
func cmdKeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: keys path key...")
	}
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var value any
	ts.Check(dec.Decode(&value))
	if dec.More() {
		ts.Fatalf("more than one document")
	}
	for step := range strings.SplitSeq(strings.Trim(args[0], "."), ".") {
		if step == "" {
			continue
		}
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			ts.Check(err)
			if i >= len(v) {
				ts.Fatalf("%s: only %d elements", step, len(v))
			}
			value = v[i]
		}
	}
	object, ok := value.(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object: %v", args[0], value)
	}
	var got []string
	for k := range object {
		got = append(got, k)
	}
	slices.Sort(got)
	want := slices.Sorted(slices.Values(args[1:]))
	if !slices.Equal(got, want) {
		ts.Fatalf("keys %v, want %v", got, want)
	}
}
