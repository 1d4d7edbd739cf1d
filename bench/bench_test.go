package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cohort/placement"
)

func TestMain(m *testing.M) {
	if isChild() {
		os.Exit(runChild(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// TestSmall runs every section at its small size. A wrong answer of the store
// fails it; no time does.
func TestSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, s := range sections() {
		t.Run(s.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "out.md")
			var out bytes.Buffer
			args := []string{"-size", "small", "-dir", dir, s.name, "-o", file}
			if err := run(t.Context(), args, &out, t.Output()); err != nil {
				t.Fatal(err)
			}
			written, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(written, out.Bytes()) {
				t.Error("the file differs from standard output")
			}
			for _, want := range []string{"# Benchmarks\n", "\n## " + s.name + ": ", "\n| CPU "} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the document lacks %q:\n%s", want, out.String())
				}
			}
			if strings.Contains(out.String(), dir) {
				t.Error("the document names the directory it ran in")
			}
			left, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range left {
				if name := f.Name(); name != "out.md" && !(strings.HasSuffix(name, ".svg") && strings.Contains(out.String(), "]("+name+")")) {
					t.Errorf("left behind: %s", name)
				}
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // names of the sections, or of what is wrong
	}{
		{"", strings.Join(sectionNames(), " ")},
		{"open marks", "marks open"},
		{"-size small size -seed 7 marks", "marks size"},
		{"speed", `no section "speed"`},
		{"-ids -1", "positive"},
		{"-ids x", "invalid value"},
	} {
		o, err := parseOptions(strings.Fields(c.args), new(bytes.Buffer))
		var names []string
		for _, s := range o.sections {
			names = append(names, s.name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("bench %s: got %q, want %q", c.args, got, c.want)
		}
	}
	o, err := parseOptions([]string{"-size", "small", "-rows", "5", "size", "-seed", "7"}, new(bytes.Buffer))
	if err != nil || o.rows != 5 || o.ids != smallScale.ids || o.seed != 7 {
		t.Errorf("got %+v, %v; want 5 rows, the small number of ids, seed 7", o, err)
	}
}

// TestWorkloads pins the seeded workloads: a figure means nothing beside an
// older one if they change unnoticed.
func TestWorkloads(t *testing.T) {
	for _, c := range []struct {
		of   idOf
		kind placement.Kind
		want string
	}{
		{brandedIDs(1), placement.Branded, "USR1NAOLv8L4WD"},
		{stringIDs(1), placement.String, "14957d4cafc4a0cfe2d72795a4e2626f208c6c21e69af358"},
	} {
		if got := c.of(1000); got != c.want {
			t.Errorf("%v id 1000 of seed 1: got %q, want %q", c.kind, got, c.want)
		}
		ids := c.of.ids(0, 100_000)
		if _, err := placements(c.kind, ids); err != nil {
			t.Error(err)
		}
		slices.Sort(ids)
		if got := len(slices.Compact(ids)); got != 100_000 {
			t.Errorf("%v: %d different ids of 100,000", c.kind, got)
		}
	}
	n, last := 0, time.Time{}
	var thousandth fileRow
	for r := range fileRows(1, 5000, 100) {
		if r.at.Before(last) || r.id < 0 || r.id >= 100 {
			t.Fatalf("row %d: %+v after %v", n, r, last)
		}
		if n == 1000 {
			thousandth = r
		}
		last = r.at
		n++
	}
	if got, want := fmt.Sprintln(n, thousandth.at, thousandth.id, thousandth.event), "5000 2026-01-06 20:51:45 +0000 UTC 5 active\n"; got != want {
		t.Errorf("number of rows, and row 1000: got %s, want %s", got, want)
	}
}

// TestPopulation checks the oracle of the questions on sets small enough for
// maps.
func TestPopulation(t *testing.T) {
	p, err := newPopulation(1, 5000)
	if err != nil {
		t.Fatal(err)
	}
	a, b := p.day(0, 3), p.day(1, 3)
	in := func(d day) map[uint32]bool {
		at, err := placements(placement.Branded, d.ids)
		if err != nil {
			t.Fatal(err)
		}
		m := make(map[uint32]bool)
		for _, p := range at {
			m[p] = true
		}
		return m
	}
	inA, inB := in(a), in(b)
	both := 0
	for p := range inA {
		if inB[p] {
			both++
		}
	}
	if got := intersection(a.set, b.set).count(); got != both {
		t.Errorf("intersection: got %d, want %d", got, both)
	}
	if got, want := union(a.set, b.set).count(), len(inA)+len(inB)-both; got != want {
		t.Errorf("union: got %d, want %d", got, want)
	}
	at := p.placements(a.set)
	if !slices.IsSorted(at) || len(at) != len(inA) {
		t.Errorf("placements: %d, sorted %t; want %d, ascending", len(at), slices.IsSorted(at), len(inA))
	}
}

// TestInOrder: ids in order of placement are the same ids.
func TestInOrder(t *testing.T) {
	const n = 5000
	sorted, err := inOrder(brandedIDs(1), n)
	if err != nil {
		t.Fatal(err)
	}
	got, want := sorted.ids(0, n), brandedIDs(1).ids(0, n)
	at, err := placements(placement.Branded, got)
	if err != nil || !slices.IsSorted(at) {
		t.Errorf("not in order of placement, %v", err)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Error("other ids")
	}
}

func TestSamples(t *testing.T) {
	s := samples{4, 1, 3, 2, 5}
	if got := s.median(); got != 3 {
		t.Errorf("median: got %v, want 3", got)
	}
	if got, want := s.over(samples{2, 1, 1, 1, 5}).String(), "2.00 (1.00–3.00)"; got != want {
		t.Errorf("ratios: got %s, want %s", got, want)
	}
	latencies := make([]time.Duration, 100)
	for i := range latencies {
		latencies[i] = time.Duration(100 - i)
	}
	if got := quantile(latencies, 0.99); got != 99 {
		t.Errorf("p99 of 1 to 100: got %d, want 99", got)
	}
	for v, want := range map[float64]string{0: "0.00", 0.0123: "0.012", 1.234: "1.23", 56.78: "56.8", 999.7: "1,000", 1234567: "1,234,567", -1234: "-1,234"} {
		if got := figure(v); got != want {
			t.Errorf("figure(%v): got %s, want %s", v, got, want)
		}
	}
}
