package query_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// visitDay is the current day of the stores here.
var visitDay = store.Date(2026, time.January, 30)

func visitClock() time.Time { return visitDay.Time() }

func visitPeriod(t *testing.T, text string) query.Period {
	t.Helper()
	p, err := query.ParsePeriod(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestUniques asks for pages that are marked alike: the truth is the count of marks.
func TestUniques(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "db"), &store.Options{IDs: placement.Number, Now: visitClock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	r := rand.New(rand.NewPCG(1, 2))
	var visits []store.Visit
	var marks []store.Mark
	for i := range 40_000 {
		page, id, day := fmt.Sprint("page ", int(r.ExpFloat64()*2)), fmt.Sprint(r.IntN(20_000)), visitDay-store.Day(r.IntN(45))
		visits = append(visits, store.Visit{Page: page, ID: id, Day: day})
		marks = append(marks, store.Mark{Event: page, ID: id, Day: day})
		if i == 20_000 { // half of it folded
			if _, err := db.ObserveMany(t.Context(), slices.Values(visits)); err != nil {
				t.Fatal(err)
			}
			visits = nil
		}
	}
	_, err = db.ObserveMany(t.Context(), slices.Values(visits))
	if err == nil {
		_, err = db.MarkMany(t.Context(), slices.Values(marks))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, periods := range []string{"all", "7d", "2026-01-10", "2026-W02..", "2025", "2026-01-01+3d"} {
		p := visitPeriod(t, periods)
		got, err := query.Uniques(t.Context(), db, []string{"page 0", "page 3"}, []query.Period{p})
		if err != nil || len(got) != 2 {
			t.Fatalf("%s: %v, %v", periods, got, err)
		}
		for _, u := range got {
			want, err := query.Count(t.Context(), db, u.Page, p)
			if err != nil || math.Abs(float64(u.Count)-float64(want)) > 4*u.StdError*float64(want) {
				t.Errorf("%s of %s: %d, want about %d, %v", u.Page, periods, u.Count, want, err)
			}
		}
	}
	audit, err := query.AuditUniques(t.Context(), db, nil, []query.Period{query.All()})
	if err != nil {
		t.Fatal(err)
	}
	sets := 0
	for _, p := range audit.Pages {
		sets += p.Days + 1
		if p.DaysApart != 0 || p.Truth == 0 || math.Abs(p.Error) > 4*p.StdError {
			t.Errorf("audit: %+v", p)
		}
	}
	if e := audit.Errors; e.Sets != sets || len(audit.Pages) < 10 || e.RMS > 0.01 || e.Worst > 0.035 || e.Within3 < 0.99 || e.Median > e.P95 || e.P95 > e.Worst {
		t.Errorf("audit: %+v", e)
	}
}

func TestUniquesRefused(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "db"), &store.Options{Now: visitClock})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := []query.Period{query.All()}
	const odd = "a & b" // a page may have any name
	if _, err := db.Observe(t.Context(), odd, "USR0KHTOWnGLuC", visitDay); err != nil {
		t.Fatal(err)
	}
	if got, err := query.Uniques(t.Context(), db, []string{odd}, all); err != nil || got[0].Count != 1 {
		t.Errorf("%s: %v, %v", odd, got, err)
	}
	for _, page := range []string{"a[2026-01] & b[2026-01]", "a[2026-01]", "@bots", "b & a", "a - b"} {
		if _, err := query.Uniques(t.Context(), db, []string{page}, all); !errors.Is(err, query.ErrSketchSets) || !errors.Is(err, query.ErrUsage) {
			t.Errorf("%s: %v", page, err)
		}
	}
	if _, err := query.TopPages(t.Context(), db, 0, all); !errors.Is(err, query.ErrUsage) {
		t.Errorf("top 0: %v", err)
	}
	if _, err := query.Uniques(t.Context(), db, []string{"\x00"}, all); !errors.Is(err, store.ErrInvalidEvent) {
		t.Errorf("a page of a control character: %v", err)
	}
	if _, err := query.SiteUniques(t.Context(), db, []query.Period{query.Week(2025, 53)}); !errors.Is(err, query.ErrUsage) {
		t.Errorf("a week that does not exist: %v", err)
	}
}
