package query_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"cohort/query"
	"cohort/store"
)

// calendarSpan finds the period that contains a day by stepping single days with
// the time package, and its label.
func calendarSpan(by query.By, start store.WeekStart, d store.Day) (days store.Period, label string) {
	same := func(a, b time.Time) bool {
		switch by {
		case query.ByWeek:
			if start == store.Sunday {
				a, b = a.AddDate(0, 0, 1), b.AddDate(0, 0, 1)
			}
			ya, wa := a.ISOWeek()
			yb, wb := b.ISOWeek()
			return ya == yb && wa == wb
		case query.ByMonth:
			return a.Year() == b.Year() && a.Month() == b.Month()
		case query.ByQuarter:
			return a.Year() == b.Year() && (a.Month()-1)/3 == (b.Month()-1)/3
		case query.ByYear:
			return a.Year() == b.Year()
		}
		return a.Equal(b)
	}
	t := d.Time()
	first, last := d, d
	for (first - 1).Valid() && same((first-1).Time(), t) {
		first--
	}
	for (last + 1).Valid() && same((last+1).Time(), t) {
		last++
	}
	switch by {
	case query.ByDay:
		label = t.Format("2006-01-02")
	case query.ByWeek:
		if start == store.Sunday {
			t = t.AddDate(0, 0, 1)
		}
		y, w := t.ISOWeek()
		label = fmt.Sprintf("%04d-W%02d", y, w)
	case query.ByMonth:
		label = t.Format("2006-01")
	case query.ByQuarter:
		label = fmt.Sprintf("%04d-Q%d", t.Year(), (int(t.Month())+2)/3)
	case query.ByYear:
		label = fmt.Sprintf("%04d", t.Year())
	}
	return store.Period{First: first, Last: last}, label
}

var everyBy = []query.By{query.ByDay, query.ByWeek, query.ByMonth, query.ByQuarter, query.ByYear}

// checkStepping compares the period of a day with that found by single days.
func checkStepping(t *testing.T, by query.By, start store.WeekStart, d store.Day) {
	t.Helper()
	s := query.Stepping{By: by, WeekStart: start}
	want, label := calendarSpan(by, start, d)
	n := s.Number(d)
	if got := s.Days(n); got != want {
		t.Fatalf("by %v from %v: %v is in %v, want %v", by, start, d, got, want)
	}
	p := s.Period(n)
	if p.String() != label {
		t.Fatalf("by %v from %v: %v is in %v, want %v", by, start, d, p, label)
	}
	q, err := query.ParsePeriod(label)
	if err != nil || q != p {
		t.Fatalf("by %v from %v: %v is read as %v, %v", by, start, label, q, err)
	}
	if days, err := p.Resolve(query.Env{WeekStart: start}); err != nil || days != want {
		t.Fatalf("by %v from %v: %v resolves to %v, %v, want %v", by, start, p, days, err, want)
	}
	if (want.Last + 1).Valid() && s.Number(want.Last+1) != n+1 {
		t.Fatalf("by %v from %v: the period after %v is not number %d", by, start, p, n+1)
	}
}

func TestStepping(t *testing.T) {
	seed := time.Now().UnixNano()
	rng := rand.New(rand.NewPCG(uint64(seed), 1))
	t.Logf("seed %d", seed)
	for _, by := range everyBy {
		for _, start := range []store.WeekStart{store.Monday, store.Sunday} {
			for d := day("2019-12-20"); d <= day("2027-01-10"); d += 3 {
				checkStepping(t, by, start, d)
			}
			for range 300 {
				checkStepping(t, by, start, store.MinDay+store.Day(rng.IntN(int(store.MaxDay-store.MinDay)+1)))
			}
			for i := range store.Day(10) {
				checkStepping(t, by, start, store.MinDay+i)
				checkStepping(t, by, start, store.MaxDay-i)
			}
		}
	}
}

// TestISOWeeks compares every week of the calendar with the time package.
func TestISOWeeks(t *testing.T) {
	monday := query.Stepping{By: query.ByWeek, WeekStart: store.Monday}
	for d := store.MinDay; d <= store.MaxDay; d += 7 {
		year, week := d.Time().ISOWeek()
		p := query.Week(year, week)
		if n := monday.Number(d); p != monday.Period(n) || monday.Days(n).First != d {
			t.Fatalf("the week of %v is %v, want %v", d, monday.Period(n), p)
		}
	}
	for year := 1; year <= 9999; year++ {
		// December 28 is always in the last week.
		_, weeks := time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
		if err := query.Week(year, weeks).Err(); err != nil {
			t.Fatal(err)
		}
		if query.Week(year, weeks+1).Err() == nil {
			t.Fatalf("week %d of %d is accepted", weeks+1, year)
		}
	}
}

func TestMonthsLater(t *testing.T) {
	for _, test := range []struct {
		by   query.By
		day  string
		n    int
		want string
	}{
		{query.ByMonth, "2026-01-31", 1, "2026-02"},
		{query.ByMonth, "2026-01-31", 13, "2027-02"},
		{query.ByMonth, "2024-02-29", 12, "2025-02"},
		{query.ByQuarter, "2026-01-31", 1, "2026-Q2"},
		{query.ByQuarter, "2026-12-31", 1, "2027-Q1"},
		{query.ByYear, "2024-02-29", 1, "2025"},
		{query.ByWeek, "2024-12-30", 0, "2025-W01"},
		{query.ByWeek, "2020-12-31", 1, "2021-W01"},
		{query.ByDay, "2026-02-28", 1, "2026-03-01"},
		{query.ByMonth, "2026-01-31", -1, "2025-12"},
	} {
		s := query.Stepping{By: test.by, WeekStart: store.Monday}
		if got := s.Period(s.Number(day(test.day)) + test.n); got.String() != test.want {
			t.Errorf("%d %v after %s: got %v, want %s", test.n, test.by, test.day, got, test.want)
		}
	}
}

func TestWiden(t *testing.T) {
	s := query.Stepping{By: query.ByMonth, WeekStart: store.Monday}
	first, last := s.Widen(span("2025-12-31 2026-02-01"))
	if s.Period(first) != query.Month(2025, 12) || s.Period(last) != query.Month(2026, 2) || last-first != 2 {
		t.Errorf("got %v to %v", s.Period(first), s.Period(last))
	}
}

func TestParseBy(t *testing.T) {
	for _, by := range everyBy {
		if got, err := query.ParseBy(by.String()); err != nil || got != by {
			t.Errorf("%v: got %v, %v", by, got, err)
		}
	}
	for _, s := range []string{"", "Day", "days", "hour", "day week"} {
		if _, err := query.ParseBy(s); !errors.Is(err, query.ErrUsage) {
			t.Errorf("%q: error %v", s, err)
		}
	}
	if got := query.By(9).String(); got != "By(9)" {
		t.Errorf("got %s", got)
	}
}
