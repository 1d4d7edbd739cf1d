package query_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"cohort/query"
	"cohort/store"
)

// day reads a date that is right.
func day(s string) store.Day {
	d, err := store.ParseDay(s)
	if err != nil {
		panic(err)
	}
	return d
}

// span reads a first and a last day; "" is no days.
func span(s string) store.Period {
	if s == "" {
		return store.Period{First: 0, Last: -1}
	}
	first, last, ok := strings.Cut(s, " ")
	if !ok {
		last = first
	}
	return store.Period{First: day(first), Last: day(last)}
}

func TestParsePeriod(t *testing.T) {
	for _, test := range []struct {
		text string
		want query.Period
		days string // in a store of Monday weeks
	}{
		{"2026-01-30", query.Day(day("2026-01-30")), "2026-01-30"},
		{"2026-W05", query.Week(2026, 5), "2026-01-26 2026-02-01"},
		{"2025-W01", query.Week(2025, 1), "2024-12-30 2025-01-05"},
		{"2020-W53", query.Week(2020, 53), "2020-12-28 2021-01-03"},
		{"2026-W53", query.Week(2026, 53), "2026-12-28 2027-01-03"},
		{"2026-01", query.Month(2026, time.January), "2026-01-01 2026-01-31"},
		{"2024-02", query.Month(2024, time.February), "2024-02-01 2024-02-29"},
		{"2026-Q1", query.Quarter(2026, 1), "2026-01-01 2026-03-31"},
		{"2026-Q4", query.Quarter(2026, 4), "2026-10-01 2026-12-31"},
		{"2026", query.Year(2026), "2026-01-01 2026-12-31"},
		{"0001", query.Year(1), "0001-01-01 0001-12-31"},
		{"9999-12", query.Month(9999, time.December), "9999-12-01 9999-12-31"},
		{"9999-W52", query.Week(9999, 52), "9999-12-27 9999-12-31"},
		{"2026-01-05..2026-01-09", query.Between(query.Day(day("2026-01-05")), query.Day(day("2026-01-09"))), "2026-01-05 2026-01-09"},
		{"2026-01-05..2026-01-05", query.Between(query.Day(day("2026-01-05")), query.Day(day("2026-01-05"))), "2026-01-05"},
		{"2026-W05..2026-03", query.Between(query.Week(2026, 5), query.Month(2026, 3)), "2026-01-26 2026-03-31"},
		{"2026-01-15..2026-01", query.Between(query.Day(day("2026-01-15")), query.Month(2026, 1)), "2026-01-15 2026-01-31"},
		{"2025-Q4..2026", query.Between(query.Quarter(2025, 4), query.Year(2026)), "2025-10-01 2026-12-31"},
		{"2026-01..", query.From(query.Month(2026, 1)), "2026-01-01 2026-03-31"},
		{"2026-07..", query.From(query.Month(2026, 7)), ""},
		{"..2026-01", query.Until(query.Month(2026, 1)), "2025-12-01 2026-01-31"},
		{"..2025-01", query.Until(query.Month(2025, 1)), ""},
		{"7d@2026-01-30", query.Trailing(7, day("2026-01-30")), "2026-01-24 2026-01-30"},
		{"1d@2026-01-30", query.Trailing(1, day("2026-01-30")), "2026-01-30"},
		{"2026-01-30+7d", query.Forward(day("2026-01-30"), 7), "2026-01-30 2026-02-05"},
		{"today", query.Today(), "2026-02-10"},
		{"yesterday", query.Yesterday(), "2026-02-09"},
		{"7d", query.Last(7), "2026-02-04 2026-02-10"},
		{"3652059d", query.Last(3652059), "0001-01-01 2026-02-10"},
		{"all", query.All(), "2025-12-01 2026-03-31"},
		{"all", query.Period{}, "2025-12-01 2026-03-31"},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, err := query.ParsePeriod(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want {
				t.Errorf("got %#v, want %#v", got, test.want)
			}
			if got.String() != test.text {
				t.Errorf("String() = %q", got)
			}
			days, err := got.Resolve(query.Env{
				AsOf: day("2026-02-10"), WeekStart: store.Monday, Stored: span("2025-12-01 2026-03-31")})
			if err != nil || days != span(test.days) {
				t.Errorf("resolved to %v, %v, want %q", days, err, test.days)
			}
			var again query.Period
			if data, err := json.Marshal(got); err != nil || json.Unmarshal(data, &again) != nil || again != got {
				t.Errorf("JSON %s, %v gives %v", data, err, again)
			}
		})
	}
}

func TestParsePeriodRefuses(t *testing.T) {
	for _, test := range []struct{ text, reason string }{
		{"", "empty"},
		{"2025-W53", "weeks 01 to 52"},
		{"2026-W00", "weeks 01 to 53"},
		{"2026-W5", "not a period"},
		{"2026-w05", "not a period"},
		{"2026-00", "months are 01 to 12"},
		{"2026-13", "months are 01 to 12"},
		{"2026-1", "not a period"},
		{"2026-Q0", "quarters are Q1 to Q4"},
		{"2026-Q5", "quarters are Q1 to Q4"},
		{"2026-02-29", "2026-02 has days 01 to 28"},
		{"2026-04-31", "has days 01 to 30"},
		{"2026-04-00", "has days 01 to 30"},
		{"2026-13-01", "months are 01 to 12"},
		{"2026-1-30", "not a period"},
		{"20260130", "not a period"},
		{"0000", "years are 0001 to 9999"},
		{"0000-01", "years are 0001 to 9999"},
		{"0000-W01", "years are 0001 to 9999"},
		{"10000", "not a period"},
		{"999", "not a period"},
		{"-2026", "not a period"},
		{"+2026", "not a number of days"},
		{"2026-01..2025-12", "ends before it starts"},
		{"2026-02-01..2026-01", "ends before it starts"},
		{"..", "at least one end"},
		{"...", "not a period"},
		{"2026..2027..2028", "an end of a range"},
		{"all..", "an end of a range"},
		{"7d..", "an end of a range"},
		{"..today", "an end of a range"},
		{"2026-01..x", `"x": not a period`},
		{"2026-01-30..7d@2026-02-10", "an end of a range"},
		{"0d", "at least one day"},
		{"0d@2026-01-30", "at least one day"},
		{"2026-01-30+0d", "at least one day"},
		{"07d", "not a period"},
		{"-7d", "not a period"},
		{"d", "not a period"},
		{"7", "not a period"},
		{"7D", "not a period"},
		{"7w", "not a period"},
		{"3652060d", "longer than the years"},
		{"99999999999999999999d", "longer than the years"},
		{"7d@today", "not a day"},
		{"7d@2026-01", "not a day"},
		{"7d@", "not a day"},
		{"@2026-01-30", "not a number of days"},
		{"7d@0001-01-06", "runs past the years"},
		{"9999-12-31+2d", "runs past the years"},
		{"2026-01+7d", "not a day"},
		{"2026-01-30+7", "not a number of days"},
		{"2026-01-30+", "not a number of days"},
		{" 2026", "no blanks"},
		{"2026 ", "no blanks"},
		{"2026-01 .. 2026-02", "no blanks"},
		{"2026\u00a0", "no blanks"},
		{"Today", "not a period"},
		{"tomorrow", "not a period"},
		{"ALL", "not a period"},
		{"２０２６", "not a period"},
		{"2026\x00", "not a period"},
		{strings.Repeat(".", 65), "too long"},
		{strings.Repeat("2026", 1000), "too long"},
	} {
		t.Run(test.text[:min(len(test.text), 30)], func(t *testing.T) {
			p, err := query.ParsePeriod(test.text)
			if err == nil {
				t.Fatalf("accepted as %v", p)
			}
			var pe *query.PeriodError
			if !errors.As(err, &pe) || pe.Text != test.text || !errors.Is(err, query.ErrUsage) {
				t.Errorf("error %#v", err)
			}
			if !strings.Contains(err.Error(), test.reason) || len(err.Error()) > 300 {
				t.Errorf("error %q does not say %q", err, test.reason)
			}
		})
	}
}

func TestPeriodConstructorsRefuse(t *testing.T) {
	for _, p := range []query.Period{
		query.Day(store.MinDay - 1), query.Day(store.MaxDay + 1),
		query.Week(2025, 53), query.Week(2025, 0), query.Week(0, 1), query.Week(10000, 1),
		query.Month(2026, 0), query.Month(2026, 13), query.Month(-1, 1),
		query.Quarter(2026, 0), query.Quarter(2026, 5), query.Quarter(0, 1),
		query.Year(0), query.Year(10000),
		query.Between(query.Year(2026), query.Year(2025)),
		query.Between(query.Year(2026), query.Week(2025, 53)),
		query.Between(query.All(), query.Year(2025)),
		query.From(query.Last(7)), query.Until(query.Today()), query.From(query.Year(0)),
		query.Trailing(0, 0), query.Trailing(-1<<31, 0), query.Trailing(1<<31, 0), query.Trailing(7, store.MinDay), query.Trailing(7, store.MaxDay+1),
		query.Forward(0, 0), query.Forward(0, 1<<40), query.Forward(store.MaxDay, 2), query.Forward(store.MinDay-1, 2),
		query.Last(0), query.Last(-7), query.Last(1 << 40),
	} {
		_, resolveErr := p.Resolve(query.Env{})
		_, textErr := p.MarshalText()
		for _, err := range []error{p.Err(), resolveErr, textErr} {
			if !errors.Is(err, query.ErrUsage) {
				t.Errorf("%v: error %v", p, err)
			}
		}
		if q, err := query.ParsePeriod(p.String()); err == nil {
			t.Errorf("%v is refused, but its text is read as %#v", p, q)
		}
	}
}

func TestPeriodResolve(t *testing.T) {
	const (
		none   = iota
		given  // as-of was asked for
		report // nothing runs past as-of
	)
	for _, test := range []struct {
		text, asOf string
		mode       int
		stored     string
		want       string
	}{
		{"all", "2026-01-20", none, "2026-01-05 2026-01-25", "2026-01-05 2026-01-25"},
		{"all", "2026-01-20", given, "2026-01-05 2026-01-25", "2026-01-05 2026-01-20"},
		{"all", "2026-01-20", report, "2026-01-05 2026-01-25", "2026-01-05 2026-01-20"},
		{"all", "2026-01-20", given, "2026-01-05 2026-01-10", "2026-01-05 2026-01-10"},
		{"all", "2026-01-04", given, "2026-01-05 2026-01-10", ""},
		{"all", "2026-01-04", none, "", ""},
		{"2026-01-10..", "2026-01-20", none, "2026-01-05 2026-01-15", "2026-01-10 2026-01-15"},
		{"2026-01-10..", "2026-01-20", report, "2026-01-05 2026-01-15", "2026-01-10 2026-01-15"},
		{"2026-01-10..", "2026-01-20", given, "2026-01-05 2026-01-15", "2026-01-10 2026-01-20"},
		{"2026-01-10..", "2026-01-12", given, "2026-01-05 2026-01-15", "2026-01-10 2026-01-12"},
		{"2026-01-10..", "2026-01-12", report, "2026-01-05 2026-01-15", "2026-01-10 2026-01-12"},
		{"2026-01-10..", "2026-01-09", given, "2026-01-05 2026-01-15", ""},
		{"2026-01-16..", "2026-01-20", none, "2026-01-05 2026-01-15", ""},
		{"2026-01-10..", "2026-01-20", none, "", ""},
		{"..2026-01-10", "2026-01-20", none, "2026-01-05 2026-01-15", "2026-01-05 2026-01-10"},
		{"..2026-01-10", "2026-01-08", given, "2026-01-05 2026-01-15", "2026-01-05 2026-01-08"},
		{"..2026-01-10", "2026-01-20", none, "", ""},
		{"2026-01", "2026-01-20", none, "", "2026-01-01 2026-01-31"},
		{"2026-01", "2026-01-20", given, "", "2026-01-01 2026-01-20"},
		{"2026-01", "2026-01-20", report, "", "2026-01-01 2026-01-20"},
		{"2026-02", "2026-01-20", given, "", ""},
		{"7d", "2026-01-20", none, "", "2026-01-14 2026-01-20"},
		{"yesterday", "2026-01-20", given, "", "2026-01-19"},
		{"yesterday", "0001-01-01", given, "", ""},
		{"7d", "0001-01-02", given, "", "0001-01-01 0001-01-02"},
		{"2026-01-18+7d", "2026-01-20", given, "", "2026-01-18 2026-01-20"},
	} {
		p, err := query.ParsePeriod(test.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Resolve(query.Env{AsOf: day(test.asOf), AsOfGiven: test.mode == given, Report: test.mode == report,
			WeekStart: store.Monday, Stored: span(test.stored)})
		if err != nil || got != span(test.want) {
			t.Errorf("%s as of %s, mode %d, stored %q: got %v, %v, want %q", test.text, test.asOf, test.mode, test.stored, got, err, test.want)
		}
	}
}

func TestSundayWeeks(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"2026-W05", "2026-01-25 2026-01-31"},
		{"2025-W01", "2024-12-29 2025-01-04"},
		{"2020-W53", "2020-12-27 2021-01-02"},
		{"0001-W01", "0001-01-01 0001-01-06"},
		{"2026-W05..2026-01-25", "2026-01-25"},
		{"2026-02-01..2026-W06", "2026-02-01 2026-02-07"},
	} {
		p, err := query.ParsePeriod(test.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Resolve(query.Env{AsOf: day("2026-03-01"), WeekStart: store.Sunday})
		if err != nil || got != span(test.want) {
			t.Errorf("%s: got %v, %v, want %s", test.text, got, err, test.want)
		}
	}
	// Ends may be reversed in a store of one week start only.
	p, err := query.ParsePeriod("2026-W05..2026-01-25")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Resolve(query.Env{WeekStart: store.Monday}); !errors.Is(err, query.ErrUsage) {
		t.Errorf("reversed in a Monday store: error %v", err)
	}
}
