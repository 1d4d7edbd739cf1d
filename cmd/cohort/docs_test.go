package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestDocs runs the console blocks of the documents: each line after "$ " by a
// shell, in an empty folder with docs/example.csv, its output compared with the
// lines that follow it. Times of less than a second may differ.
func TestDocs(t *testing.T) {
	example, err := os.ReadFile("../../docs/example.csv")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, path := range append(documents, "../../README.md") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		script := consoleScript(string(text))
		if script == "" {
			continue
		}
		script += "-- docs/example.csv --\n" + string(example)
		name := strings.TrimSuffix(filepath.Base(path), ".md") + ".txtar"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("NOW", "2026-02-01T12:00:00Z")
			return nil
		},
	})
}

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

// consoleScript turns the console blocks of a document into a script, or ""
// where there are none. A command's output follows it as a file.
func consoleScript(text string) string {
	var script, files strings.Builder
	n := 0
	for _, block := range consoleBlock.FindAllStringSubmatch(text, -1) {
		for _, part := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, output, _ := strings.Cut(part, "\n")
			n++
			command = strings.ReplaceAll(command, "'", "''")
			fmt.Fprintf(&script, "exec bash -c '%s | sed -E \"s/^(seconds +).*/\\1<0.01/\"'\n", command)
			fmt.Fprintf(&script, "cmp stdout want-%d\n", n)
			fmt.Fprintf(&files, "-- want-%d --\n", n)
			if output = strings.TrimSuffix(output, "\n"); output != "" {
				fmt.Fprintln(&files, output)
			}
		}
	}
	if n == 0 {
		return ""
	}
	return script.String() + files.String()
}
