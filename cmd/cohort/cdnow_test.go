package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	checkCDNOWTriangles(t, file, db)
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

// checkCDNOWTriangles compares the whole triangles by month and by ISO week, and
// the lifecycles, with those of maps filled from the file.
func checkCDNOWTriangles(t *testing.T, file, db string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for by, name := range map[string]func(time.Time) string{
		"month": func(d time.Time) string { return d.Format("2006-01") },
		"week": func(d time.Time) string {
			year, week := d.ISOWeek()
			return fmt.Sprintf("%d-W%02d", year, week)
		},
	} {
		var periods []string // in order
		for d := time.Date(1997, 1, 1, 0, 0, 0, 0, time.UTC); d.Before(time.Date(1998, 7, 1, 0, 0, 0, 0, time.UTC)); d = d.AddDate(0, 0, 1) {
			if n := name(d); len(periods) == 0 || periods[len(periods)-1] != n {
				periods = append(periods, n)
			}
		}
		active := map[string]map[string]bool{} // by customer: the periods
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			d, err := time.Parse("20060102", fields[1])
			if err != nil {
				t.Fatal(err)
			}
			if active[fields[0]] == nil {
				active[fields[0]] = map[string]bool{}
			}
			active[fields[0]][name(d)] = true
		}
		compareCDNOW(t, db, by, periods, active)
	}
}

func compareCDNOW(t *testing.T, db, by string, periods []string, active map[string]map[string]bool) {
	t.Helper()
	n := len(periods)
	returned := make([][]uint64, n) // by first period and offset
	cycles := make([][4]uint64, n)  // new, returning, resurrecting, dormant
	for i := range returned {
		returned[i] = make([]uint64, n)
	}
	for _, in := range active {
		first := -1
		for i, p := range periods {
			was := i > 0 && in[periods[i-1]]
			switch {
			case !in[p] && was:
				cycles[i][3]++
			case !in[p]:
			case first < 0:
				cycles[i][0]++
			case was:
				cycles[i][1]++
			default:
				cycles[i][2]++
			}
			if in[p] && first < 0 {
				first = i
			}
			if in[p] {
				returned[first][i-first]++
			}
		}
	}
	var retention struct {
		Cohorts []struct {
			Period string
			Size   uint64
			Cells  []struct{ Count uint64 }
		}
	}
	askJSON(t, &retention, "--db", db, "retention", "purchase", "--by", by, "--periods", fmt.Sprint(n))
	var lifecycle struct {
		Rows []struct {
			Period                                string
			New, Returning, Resurrecting, Dormant uint64
		}
	}
	askJSON(t, &lifecycle, "--db", db, "lifecycle", "purchase", "--by", by)
	if len(retention.Cohorts) != n || len(lifecycle.Rows) != n {
		t.Fatalf("%d cohorts and %d rows by %s, want %d", len(retention.Cohorts), len(lifecycle.Rows), by, n)
	}
	for i, p := range periods {
		c, row := retention.Cohorts[i], lifecycle.Rows[i]
		var got []uint64
		for _, cell := range c.Cells {
			got = append(got, cell.Count)
		}
		if c.Period != p || row.Period != p || c.Size != returned[i][0] {
			t.Errorf("row %d by %s is %s of %d, and %s, want %s of %d", i, by, c.Period, c.Size, row.Period, p, returned[i][0])
		}
		checkFigures(t, "cohort of "+p, got, returned[i]...)
		checkFigures(t, "lifecycle of "+p, []uint64{row.New, row.Returning, row.Resurrecting, row.Dormant}, cycles[i][:]...)
	}
}
