package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// cdnowFile finds the purchase history of an online shop (Fader and Hardie, 2001;
// brucehardie.com/notes/026), which is not part of this repository.
func cdnowFile(t *testing.T) string {
	path := os.Getenv("COHORT_CDNOW")
	if path == "" {
		path = filepath.Join("..", "..", "..", "shared", "data", "cdnow", "CDNOW_master.txt")
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("set COHORT_CDNOW to the path of CDNOW_master.txt: %v", err)
	}
	return path
}

// askJSON runs the command in this process and decodes what it writes.
func askJSON(t *testing.T, into any, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	now := func() time.Time { return time.Date(2026, time.February, 1, 12, 0, 0, 0, time.UTC) }
	status := run(append([]string{"--json"}, args...), streams{strings.NewReader(""), &out, &errs}, now)
	if status != 0 || errs.Len() > 0 {
		t.Fatalf("cohort %q: status %d, %s", args, status, &errs)
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil {
		t.Fatalf("cohort %q: %v", args, err)
	}
}

func checkFigures(t *testing.T, what string, got []uint64, want ...uint64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d, want %d", what, got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: %d, want %d", what, got, want)
			return
		}
	}
}

// The figures of a real history that were worked out without this program.
func TestCDNOW(t *testing.T) {
	file := cdnowFile(t)
	db := filepath.Join(t.TempDir(), "cdnow.db")
	load := []string{"--db", db, "import", "--ids", "string", "--format", "fixed",
		"--id", "2-6", "--time", "8-15", "--event-name", "purchase", file}

	type figures struct{ Rows, Marks, New, Already, Shared, Refused uint64 }
	var imported figures
	askJSON(t, &imported, load...)
	if want := (figures{69659, 69659, 67591, 69659 - 67591, 0, 0}); imported != want {
		t.Errorf("import: %+v, want %+v", imported, want)
	}
	askJSON(t, &imported, load...)
	if want := (figures{69659, 69659, 0, 69659, 0, 0}); imported != want {
		t.Errorf("import again: %+v, want %+v", imported, want)
	}

	var events struct {
		Events []struct {
			Event, FirstDay, LastDay string
			Days, Marks              uint64
		}
	}
	askJSON(t, &events, "--db", db, "events")
	if e := events.Events; len(e) != 1 || e[0].Event != "purchase" {
		t.Errorf("events: %+v", e)
	} else {
		checkFigures(t, "days and marks", []uint64{e[0].Days, e[0].Marks}, 546, 67591)
	}

	checkCDNOWCounts(t, db)
	checkCDNOWReports(t, db)
}

func checkCDNOWCounts(t *testing.T, db string) {
	var counts struct{ Results []struct{ Count uint64 } }
	askJSON(t, &counts, "--db", db, "count", "seen", "purchase[all]",
		"purchase[1997-01-01]", "purchase[1997-02-14]", "purchase[1998-06-30]",
		"purchase[1997-01] & purchase[1997-02] & purchase[1997-03]")
	var got []uint64
	for _, r := range counts.Results {
		got = append(got, r.Count)
	}
	checkFigures(t, "counts", got, 23570, 23570, 209, 328, 55, 369)
}

func checkCDNOWReports(t *testing.T, db string) {
	var active struct {
		Rows []struct {
			Period     string
			Active     uint64
			Incomplete bool
		}
	}
	askJSON(t, &active, "--db", db, "active", "purchase", "--by", "month")
	var months []uint64
	for _, row := range active.Rows {
		switch row.Period {
		case "1997-01", "1997-02", "1997-03", "1997-04", "1998-06":
			months = append(months, row.Active)
		}
	}
	checkFigures(t, "months", months, 7846, 9633, 9524, 2822, 1506)

	var retention struct {
		Cohorts []struct {
			Period string
			Size   uint64
			Cells  []struct{ Count uint64 }
		}
	}
	askJSON(t, &retention, "--db", db, "retention", "purchase", "--by", "month", "--periods", "6")
	var sizes, cells []uint64
	for _, c := range retention.Cohorts {
		sizes = append(sizes, c.Size)
	}
	for _, c := range retention.Cohorts[0].Cells {
		cells = append(cells, c.Count)
	}
	checkFigures(t, "first-ever cohorts", sizes, append([]uint64{7846, 8476, 7248}, make([]uint64, 15)...)...)
	checkFigures(t, "cohort of 1997-01", cells, 7846, 1157, 964, 810, 679, 736)

	var funnel struct{ Steps []struct{ Reached uint64 } }
	askJSON(t, &funnel, "--db", db, "funnel", "purchase[1997-01]", "purchase[1997-02]", "purchase[1997-03]")
	var reached []uint64
	for _, s := range funnel.Steps {
		reached = append(reached, s.Reached)
	}
	checkFigures(t, "funnel", reached, 7846, 1157, 369)
}
