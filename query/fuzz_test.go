package query_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"cohort/query"
	"cohort/store"
)

func FuzzParsePeriod(f *testing.F) {
	for _, s := range []string{
		"2026-01-30", "2026-W05", "2025-W53", "2026-01", "2026-Q1", "2026", "2026-01..2026-W10", "2026..", "..2026",
		"7d@2026-01-30", "2026-01-30+7d", "today", "yesterday", "7d", "0d", "all", "..", "7d@today", "9999-W52", "0001-W01",
	} {
		f.Add(s, int32(20000))
	}
	f.Fuzz(func(t *testing.T, s string, asOf int32) {
		p, err := query.ParsePeriod(s)
		if err != nil {
			var pe *query.PeriodError
			if !errors.As(err, &pe) || !errors.Is(err, query.ErrUsage) || pe.Text != s {
				t.Fatalf("%q: error %#v", s, err)
			}
			return
		}
		if p.String() != s || p.Err() != nil {
			t.Fatalf("%q is written %q, %v", s, p, p.Err())
		}
		env := query.Env{AsOf: store.Day(asOf), Stored: store.Period{First: 20000, Last: 20010}}
		if !env.AsOf.Valid() {
			return
		}
		for _, env.WeekStart = range []store.WeekStart{store.Monday, store.Sunday} {
			for _, env.AsOfGiven = range []bool{false, true} {
				days, err := p.Resolve(env)
				if err != nil && !errors.Is(err, query.ErrUsage) {
					t.Fatal(err)
				}
				if !days.Empty() && (!days.First.Valid() || !days.Last.Valid() || env.AsOfGiven && days.Last > env.AsOf) {
					t.Fatalf("%q as of %v gives %v", s, env.AsOf, days)
				}
			}
		}
	})
}

func FuzzParseExpr(f *testing.F) {
	for _, s := range []string{
		"active[2026-W05] & paid[2026-01] - bots[all]", "a[all]|b[7d]^c[today]", "every(a[..2026])", "seen - (seen(USR) | @bots)",
		`"at desk"[all]`, `"\u00e9\""[2026]`, "a[all] -b[all]", "((((a[all]))))", "'a'[all]", "a[2025-W53]", "points>=10", "seen (USR)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		x, err := query.Parse(s)
		if err != nil {
			var se *query.SyntaxError
			if !errors.As(err, &se) || !errors.Is(err, query.ErrUsage) {
				t.Fatalf("%q: error %#v", s, err)
			}
			if se.Offset < 0 || se.Offset > len(s) || se.Text != s || se.Error() == "" {
				t.Fatalf("%q: error %#v", s, se)
			}
			return
		}
		if !utf8.ValidString(s) {
			t.Fatalf("%q is accepted", s)
		}
		text := x.String()
		if len(text) > 1<<16 {
			return // longer than Parse reads
		}
		y, err := query.Parse(text)
		if err != nil || x != y || y.String() != text {
			t.Fatalf("%q is written %q, which is read as %v, %v", s, text, y, err)
		}
	})
}
