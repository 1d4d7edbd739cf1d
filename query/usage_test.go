package query_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// brands is a store with events of two brands.
func brands(t *testing.T) *store.DB {
	db := openStore(t, "2026-02-10", store.Options{})
	marks(t, db, "active", "2026-01-05", branded("PLR", 1)+" "+branded("PLR", 2))
	marks(t, db, "login", "2026-01-05", branded("USR", 1))
	marks(t, db, "empty", "2026-01-05", branded("USR", 2))
	if _, err := db.Unmark(t.Context(), "empty", branded("USR", 2), day("2026-01-05")); err != nil {
		t.Fatal(err)
	}
	return db
}

func TestBrands(t *testing.T) {
	db := brands(t)
	for text, want := range map[string]error{
		"active[all] & login[all]":             query.ErrTwoBrands,
		"active[2030] | login[2030]":           query.ErrTwoBrands,
		"active[all] - empty[all]":             query.ErrTwoBrands,
		"active[all] - every(login[all])":      query.ErrTwoBrands,
		"active[all] & seen(USR)":              query.ErrTwoBrands,
		"seen(PLR) | never[all] | seen(USR)":   query.ErrTwoBrands,
		"seen(ABC) & active[all]":              query.ErrTwoBrands,
		"seen":                                 query.ErrManyBrands,
		"active[all] & seen":                   query.ErrManyBrands,
		"@bots":                                query.ErrUnknownSet,
		"active[all] - @bots":                  query.ErrUnknownSet,
		"never[all] & active[all] | seen(PLR)": nil,
		"never[all] & login[all] | empty[all]": nil,
		"seen(ABC)":                            nil,
		"never[all]":                           nil,
	} {
		_, err := query.Size(t.Context(), db, parse(t, text))
		if !errors.Is(err, want) || want != nil && !errors.Is(err, query.ErrUsage) {
			t.Errorf("%s: error %v, want %v", text, err, want)
		}
	}
	if _, err := query.AndCount(t.Context(), db, query.All(), "active", "never", "login"); !errors.Is(err, query.ErrTwoBrands) {
		t.Errorf("funnel: error %v", err)
	}
	if _, err := query.Retention(t.Context(), db, "active", query.RetentionOptions{Return: "login"}); !errors.Is(err, query.ErrTwoBrands) {
		t.Errorf("retention: error %v", err)
	}
	_, err := query.Size(t.Context(), db, parse(t, "active[all] & login[all]"))
	if want := `sets of two brands: "active" is of PLR, "login" of USR`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestUsage asks what cannot be asked.
func TestUsage(t *testing.T) {
	db := numbers(t, "2026-02-10")
	marks(t, db, "active", "2026-01-05", "1")
	ctx, month, bad := t.Context(), query.Month(2026, 1), query.Month(2026, 13)
	for name, ask := range map[string]func() error{
		"period": func() error { _, err := query.Count(ctx, db, "active", bad); return err },
		"as-of":  func() error { _, err := query.Count(ctx, db, "active", month, query.AsOf(store.MaxDay+1)); return err },
		"limit":  func() error { _, err := query.Count(ctx, db, "active", month, query.Limit(0)); return err },
		"nil":    func() error { _, err := query.Size(ctx, db, nil); return err },
		"nil within": func() error {
			_, err := query.Size(ctx, db, query.Or(query.Of("active", month), nil))
			return err
		},
		"every": func() error { _, err := query.Size(ctx, db, query.Every("active", bad)); return err },
		"deep": func() error {
			x := query.Of("active", month)
			for range 1 << 16 {
				x = query.Or(x, query.Seen())
			}
			_, err := query.Size(ctx, db, x)
			return err
		},
		"members":      func() error { return lastError(query.Members(ctx, db, query.Of("active", bad))) },
		"member limit": func() error { return lastError(query.Members(ctx, db, query.Seen(), query.Limit(-1))) },
		"bitmap":       func() error { _, err := query.Bitmap(ctx, db, query.Of("active", bad)); return err },
		"no steps":     func() error { _, err := query.AndCount(ctx, db, month); return err },
		"funnel over":  func() error { _, err := query.AndCount(ctx, db, bad, "active"); return err },
		"step": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.TextStep("active[2026-13]")}, query.FunnelOptions{})
			return err
		},
		"step without period": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.TextStep("x@y")}, query.FunnelOptions{})
			return err
		},
		"step of no set": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.SetStep(nil)}, query.FunnelOptions{})
			return err
		},
		"saved step": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.TextStep("@bots")}, query.FunnelOptions{})
			return err
		},
		"streak over":   func() error { _, err := query.Streak(ctx, db, "active", "1", bad); return err },
		"calendar over": func() error { _, err := query.Calendar(ctx, db, "never", "1", bad); return err },
		"streak of 0":   func() error { _, err := query.Streaking(ctx, db, "active", 0); return err },
		"long streak":   func() error { _, err := query.Streaking(ctx, db, "active", 1<<22); return err },
		"longest over":  func() error { _, err := query.Longest(ctx, db, "active", bad); return err },
		"streaking in": func() error {
			_, err := query.Streaking(ctx, db, "active", 1, query.In(query.Scope{Among: query.Saved("no")}))
			return err
		},
		"order": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.EventStep("active")}, query.FunnelOptions{Order: 4})
			return err
		},
		"window in any order": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.EventStep("active")}, query.FunnelOptions{Within: 7})
			return err
		},
		"first entry in any order": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.EventStep("active")}, query.FunnelOptions{FirstEntry: true})
			return err
		},
		"window": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.EventStep("active")}, query.FunnelOptions{Order: query.Loose, Within: -1})
			return err
		},
		"set in order": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.SetStep(query.Seen())}, query.FunnelOptions{Order: query.Loose})
			return err
		},
		"steps in order": func() error {
			_, err := query.Funnel(ctx, db, make([]query.Step, 33), query.FunnelOptions{Order: query.Loose})
			return err
		},
		"order over": func() error {
			_, err := query.Funnel(ctx, db, []query.Step{query.EventStep("never")}, query.FunnelOptions{Order: query.Loose, Over: bad})
			return err
		},
		"order text":  func() error { _, err := query.ParseOrder("Any"); return err },
		"active from": func() error { _, err := query.Active(ctx, db, "active", query.ActiveOptions{From: bad}); return err },
		"active to":   func() error { _, err := query.Active(ctx, db, "active", query.ActiveOptions{To: bad}); return err },
		"active by":   func() error { _, err := query.Active(ctx, db, "active", query.ActiveOptions{By: 9}); return err },
		"reversed": func() error {
			_, err := query.Active(ctx, db, "active", query.ActiveOptions{From: query.Month(2026, 2), To: month})
			return err
		},
		"rows": func() error {
			_, err := query.Active(ctx, db, "active", query.ActiveOptions{From: query.Year(1), To: query.Year(2026)})
			return err
		},
		"trailing 0": func() error {
			_, err := query.Active(ctx, db, "active", query.ActiveOptions{Trailing: []int{7, 0}})
			return err
		},
		"trailing": func() error {
			_, err := query.Active(ctx, db, "active", query.ActiveOptions{Trailing: []int{4000}})
			return err
		},
		"periods": func() error {
			_, err := query.Retention(ctx, db, "active", query.RetentionOptions{Periods: -1})
			return err
		},
		"cells": func() error {
			_, err := query.Retention(ctx, db, "active", query.RetentionOptions{Periods: 1 << 40})
			return err
		},
		"cohort": func() error {
			_, err := query.Retention(ctx, db, "active", query.RetentionOptions{Cohort: 7})
			return err
		},
		"retention": func() error { _, err := query.Retention(ctx, db, "active", query.RetentionOptions{By: 9}); return err },
		"between":   func() error { _, err := query.RetentionBetween(ctx, db, "active", store.MaxDay+1, 0); return err },
		"text":      func() error { _, err := query.ParseCohortOf("last"); return err },
	} {
		if err := ask(); !errors.Is(err, query.ErrUsage) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func lastError(ids func(func(string, error) bool)) error {
	var last error
	for id, err := range ids {
		if last = err; err == nil && id == "" {
			return errors.New("an empty id")
		}
	}
	return last
}

// TestOneSnapshot asks several questions of one view while the store is marked.
func TestOneSnapshot(t *testing.T) {
	db := numbers(t, "2026-02-10")
	marks(t, db, "active", "2026-02-10", "1 2 3")
	snap, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	marks(t, db, "active", "2026-02-10", "4 5")
	for src, want := range map[query.Source]uint64{snap: 3, db: 5} {
		if n, err := query.Count(t.Context(), src, "active", query.Today()); err != nil || n != want {
			t.Errorf("got %d, %v, want %d", n, err, want)
		}
	}
}

func TestMembersLoopMayMark(t *testing.T) {
	db := openStore(t, "2026-02-10", store.Options{})
	var want []string
	for n := range uint64(60) {
		want = append(want, branded("PLR", n))
	}
	slices.SortFunc(want, func(a, b string) int {
		_, ma, _ := placement.Branded.Parse(a)
		_, mb, _ := placement.Branded.Parse(b)
		return int(ma.Placement()) - int(mb.Placement())
	})
	marks(t, db, "active", "2026-01-05", strings.Join(want, " "))
	ids := query.Members(t.Context(), db, parse(t, "active[all]"))
	for range 2 { // the sequence can be ranged over again
		var got []string
		for id, err := range ids {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Mark(t.Context(), "seen it", id, day("2026-02-10")); err != nil {
				t.Fatal(err)
			}
			got = append(got, id)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %d ids, want %d", len(got), len(want))
		}
	}
	for range ids {
		break
	}
	if n, err := query.Count(t.Context(), db, "seen it", query.All()); err != nil || n != 60 {
		t.Errorf("marked %d, %v", n, err)
	}
}

func TestMembersOfHashes(t *testing.T) {
	db := openStore(t, "2026-02-10", store.Options{IDs: placement.String, DropStrings: true})
	marks(t, db, "active", "2026-01-05", "ann bob")
	if n, err := query.Count(t.Context(), db, "active", query.All()); err != nil || n != 2 {
		t.Errorf("count: %d, %v", n, err)
	}
	if err := lastError(query.Members(t.Context(), db, parse(t, "active[all]"))); err == nil || errors.Is(err, query.ErrUsage) {
		t.Errorf("members: error %v", err)
	}
}

func TestRate(t *testing.T) {
	for _, test := range []struct {
		rate       query.Rate
		text, json string
	}{
		{query.Ratio(0, 0), "-", "null"},
		{query.Ratio(5, 0), "-", "null"},
		{query.Rate{}, "-", "null"},
		{query.Ratio(0, 3), "0.00%", "0"},
		{query.Ratio(1, 3), "33.33%", "0.3333333333333333"},
		{query.Ratio(3, 3), "100.00%", "1"},
	} {
		data, err := json.Marshal(test.rate)
		if err != nil || test.rate.String() != test.text || string(data) != test.json {
			t.Errorf("%v: %s, %v, want %s and %s", test.rate, data, err, test.text, test.json)
		}
		again := query.Ratio(1, 7)
		if err := json.Unmarshal(data, &again); err != nil || again != test.rate {
			t.Errorf("%s is read as %v, %v", data, again, err)
		}
	}
	var r query.Rate
	if err := json.Unmarshal([]byte(`"x"`), &r); err == nil {
		t.Errorf("read as %v", r)
	}
}

// TestTogether asks one snapshot from several goroutines while the store is marked.
func TestTogether(t *testing.T) {
	db := numbers(t, "2026-02-10")
	for d := day("2026-01-05"); d < day("2026-01-15"); d++ {
		marks(t, db, "active", d.String(), "1 2 3 70000 4000000000")
	}
	snap, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				n, err := query.Count(t.Context(), snap, "active", query.All())
				if err != nil || n != 5 {
					t.Errorf("count: %d, %v", n, err)
				}
				r, err := query.Retention(t.Context(), snap, "active", query.RetentionOptions{})
				if err != nil || r.Cohorts[0].Cells[9].Count != 5 {
					t.Errorf("retention: %v, %v", r, err)
				}
			}
		})
	}
	marks(t, db, "active", "2026-02-10", "4 5 6")
	wg.Wait()
}
