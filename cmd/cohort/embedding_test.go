package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEmbedding does what the README says of embedding: its program, as a module
// beside this one, made and run by its commands. The program takes nothing but
// what the packages of the store need.
func TestEmbedding(t *testing.T) {
	program, commands := embedding(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../../go.sum") // so that there is nothing to ask of others
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	module := filepath.Join(dir, "example")
	if err := os.Symlink(root, filepath.Join(dir, "cohort")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(module, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"main.go": []byte(program), "go.sum": sums} {
		if err := os.WriteFile(filepath.Join(module, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shell := func(script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
		cmd.Dir = module
		cmd.Stderr = new(strings.Builder)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, cmd.Stderr)
		}
		return string(out)
	}

	if got, want := shell(commands), "1 active in seven days\n"; got != want {
		t.Errorf("the program prints %q, want %q", got, want)
	}
	if got := shell("gofmt -l ."); got != "" {
		t.Errorf("gofmt would change %s", got)
	}
	modules := strings.Fields(shell(`go list -deps -f '{{with .Module}}{{.Path}}{{end}}' .`))
	slices.Sort(modules)
	got := slices.Compact(modules)
	want := []string{
		"cohort", "example",
		"github.com/RoaringBitmap/roaring/v2",
		"github.com/axiomhq/hyperloglog",
		"github.com/bits-and-blooms/bitset", // of roaring
		"github.com/dgryski/go-metro",       // of hyperloglog
		"github.com/kamstrup/intmap",        // of hyperloglog
		"github.com/tidwall/btree",
		"github.com/twmb/murmur3",
		"go.etcd.io/bbolt",
		"golang.org/x/sys",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the program is built of\n%q, want\n%q", got, want)
	}
}

var (
	goBlock    = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")
	shellBlock = regexp.MustCompile("(?s)```sh\n(go mod init .*?)```")
)

// embedding returns the program of the README, and the commands that run it.
func embedding(t *testing.T) (program, commands string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	p, c := goBlock.FindSubmatch(text), shellBlock.FindSubmatch(text)
	if p == nil || c == nil {
		t.Fatal("the README has no program, or no commands to run it")
	}
	return string(p[1]), string(c[1])
}
