package query

import (
	"fmt"
	"time"

	"cohort/store"
)

// Period is a run of days as people write it. Some periods are fixed, such as
// 2026-W05; others depend on the day the question is asked, such as 7d, or on
// what is stored, such as all. A question resolves its periods when it is asked.
//
// The zero Period is [All]. Periods compare with ==. A constructor that is given
// a date that does not exist returns a Period that reports it by [Period.Err],
// and so does every question that is asked over it.
type Period struct {
	kind kind
	a, b span // the ends, where the kind has them
	n    int  // days, of trailing, forward and last
	err  *PeriodError
}

// kind is the form of a period.
type kind uint8

const (
	kindAll       kind = iota
	kindSingle         // a
	kindBetween        // a..b
	kindFrom           // a..
	kindUntil          // ..b
	kindTrailing       // nd@a
	kindForward        // a+nd
	kindToday          // today
	kindYesterday      // yesterday
	kindLast           // nd
)

// Day is one day: 2026-01-30.
func Day(d store.Day) Period {
	if !d.Valid() {
		return badPeriod(d.String(), "not a day of the years 1 to 9999")
	}
	return Period{kind: kindSingle, a: span{ByDay, int(d)}}
}

// day returns the day of a period that is one fixed day.
func (p Period) day() (store.Day, bool) {
	ok := p.err == nil && p.kind == kindSingle && p.a.by == ByDay
	return store.Day(p.a.number), ok
}

// Week is a week of an ISO year: 2026-W05. A year has 52 or 53 weeks; 2024-12-30
// is in week 1 of 2025, and 2021-01-03 in week 53 of 2020.
func Week(isoYear, week int) Period {
	text := fmt.Sprintf("%04d-W%02d", isoYear, week)
	if !validYear(isoYear) {
		return badPeriod(text, yearReason)
	}
	if n := weeksOf(isoYear); week < 1 || week > n {
		return badPeriod(text, fmt.Sprintf("the year has weeks 01 to %d", n))
	}
	return Period{kind: kindSingle, a: weekSpan(isoYear, week)}
}

// Month is a calendar month: 2026-01.
func Month(year int, month time.Month) Period {
	text := fmt.Sprintf("%04d-%02d", year, int(month))
	if !validYear(year) {
		return badPeriod(text, yearReason)
	}
	if month < time.January || month > time.December {
		return badPeriod(text, "months are 01 to 12")
	}
	return Period{kind: kindSingle, a: span{ByMonth, year*12 + int(month-1)}}
}

// Quarter is three calendar months: 2026-Q1 is January to March.
func Quarter(year, quarter int) Period {
	text := fmt.Sprintf("%04d-Q%d", year, quarter)
	if !validYear(year) {
		return badPeriod(text, yearReason)
	}
	if quarter < 1 || quarter > 4 {
		return badPeriod(text, "quarters are Q1 to Q4")
	}
	return Period{kind: kindSingle, a: span{ByQuarter, year*4 + quarter - 1}}
}

// Year is a calendar year: 2026.
func Year(year int) Period {
	if !validYear(year) {
		return badPeriod(fmt.Sprintf("%04d", year), yearReason)
	}
	return Period{kind: kindSingle, a: span{ByYear, year}}
}

// Between runs from the first day of a to the last day of b, each of which is a
// day, week, month, quarter or year: 2026-W05..2026-03-15. It is an error if that
// is before it starts.
func Between(a, b Period) Period {
	if bad := endError(a.String()+".."+b.String(), a, b); bad != nil {
		return Period{err: bad}
	}
	p := Period{kind: kindBetween, a: a.a, b: b.a}
	// Whether two ends are reversed can depend on the start of the week; here
	// only what is reversed either way is refused, the rest by Resolve.
	if p.reversed(store.Monday) && p.reversed(store.Sunday) {
		return badPeriod(p.String(), reversedReason)
	}
	return p
}

// From runs from the first day of a, which is a day, week, month, quarter or
// year, to the event's last stored day, or to as-of where as-of is given:
// 2026-W05.. in text.
func From(a Period) Period {
	if bad := endError(a.String()+"..", a); bad != nil {
		return Period{err: bad}
	}
	return Period{kind: kindFrom, a: a.a}
}

// Until runs from the event's first stored day to the last day of b, which is a
// day, week, month, quarter or year: ..2026-W05 in text.
func Until(b Period) Period {
	if bad := endError(".."+b.String(), b); bad != nil {
		return Period{err: bad}
	}
	return Period{kind: kindUntil, b: b.a}
}

// Trailing is the n days that end on a day: 7d@2026-01-30.
func Trailing(n int, d store.Day) Period {
	p := Period{kind: kindTrailing, n: n, a: span{ByDay, int(d)}}
	return p.checkRun(d, -(n - 1))
}

// Forward is the n days that begin on a day: 2026-01-30+7d.
func Forward(d store.Day, n int) Period {
	p := Period{kind: kindForward, n: n, a: span{ByDay, int(d)}}
	return p.checkRun(d, n-1)
}

// Last is the n days that end on the day of the question (as-of): 7d.
func Last(n int) Period {
	p := Period{kind: kindLast, n: n}
	if reason := runReason(n); reason != "" {
		return badPeriod(p.String(), reason)
	}
	return p
}

// Today is the day of the question (as-of): today.
func Today() Period { return Period{kind: kindToday} }

// Yesterday is the day before the day of the question (as-of): yesterday.
func Yesterday() Period { return Period{kind: kindYesterday} }

// All runs from the event's first to its last stored day: all.
func All() Period { return Period{} }

// Err returns nil, or the *PeriodError of a period that does not exist.
func (p Period) Err() error {
	if p.err == nil {
		return nil
	}
	return p.err
}

// String writes the period as [ParsePeriod] reads it; each has one spelling. One
// that does not exist is written as it would be.
func (p Period) String() string {
	if p.err != nil {
		return p.err.Text
	}
	switch p.kind {
	case kindSingle:
		return p.a.String()
	case kindBetween:
		return p.a.String() + ".." + p.b.String()
	case kindFrom:
		return p.a.String() + ".."
	case kindUntil:
		return ".." + p.b.String()
	case kindTrailing:
		return fmt.Sprintf("%dd@%v", p.n, p.a)
	case kindForward:
		return fmt.Sprintf("%v+%dd", p.a, p.n)
	case kindToday:
		return "today"
	case kindYesterday:
		return "yesterday"
	case kindLast:
		return fmt.Sprintf("%dd", p.n)
	}
	return "all"
}

// MarshalText writes the period as String does. One that does not exist is an
// error.
func (p Period) MarshalText() ([]byte, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads the period as ParsePeriod does.
func (p *Period) UnmarshalText(text []byte) error {
	q, err := ParsePeriod(string(text))
	if err == nil {
		*p = q
	}
	return err
}

// Env is what a period is resolved against.
type Env struct {
	// AsOf is the day of the question: what today means, and where 7d ends.
	AsOf store.Day
	// AsOfGiven tells that AsOf was asked for. Then nothing runs past it, and
	// an open end is there rather than at the last stored day.
	AsOfGiven bool
	// Report tells that nothing runs past AsOf even where it was not asked for.
	Report bool
	// WeekStart is the store's first day of a week.
	WeekStart store.WeekStart
	// Stored is the event's first to last stored day, empty where it has none.
	Stored store.Period
}

// noDays is an empty period.
var noDays = store.Period{First: 0, Last: -1}

// Resolve returns the days of the period, of the years 1 to 9999; none where it
// lies after the last day that may be read, or hangs on stored days of an event
// that has none. The error is that of [Period.Err], or says that the ends are
// reversed.
func (p Period) Resolve(env Env) (store.Period, error) {
	if err := p.Err(); err != nil {
		return noDays, err
	}
	if p.kind == kindBetween && p.reversed(env.WeekStart) {
		return noDays, &PeriodError{p.String(), reversedReason}
	}
	bound := store.Period{First: store.MinDay, Last: store.MaxDay}
	if env.AsOfGiven || env.Report {
		bound.Last = env.AsOf
	}
	days := p.days(env).Intersect(bound)
	if days.Empty() {
		return noDays, nil
	}
	return days, nil
}

// days returns the days of the period before they are bounded.
func (p Period) days(env Env) store.Period {
	week := env.WeekStart
	switch p.kind {
	case kindSingle:
		return p.a.days(week)
	case kindBetween:
		return store.Period{First: p.a.days(week).First, Last: p.b.days(week).Last}
	case kindFrom:
		start := p.a.days(week).First
		if env.AsOfGiven {
			return store.Period{First: start, Last: env.AsOf}
		}
		if env.Stored.Empty() {
			return noDays
		}
		return store.Period{First: start, Last: env.Stored.Last}
	case kindUntil:
		if env.Stored.Empty() {
			return noDays
		}
		return store.Period{First: env.Stored.First, Last: p.b.days(week).Last}
	case kindTrailing:
		return trailingDays(store.Day(p.a.number), p.n)
	case kindForward:
		d := store.Day(p.a.number)
		return store.Period{First: d, Last: d + store.Day(p.n-1)}
	case kindToday:
		return store.Period{First: env.AsOf, Last: env.AsOf}
	case kindYesterday:
		return store.Period{First: env.AsOf - 1, Last: env.AsOf - 1}
	case kindLast:
		return trailingDays(env.AsOf, p.n)
	}
	return env.Stored
}

// trailingDays returns the n days that end on a day.
func trailingDays(d store.Day, n int) store.Period {
	return store.Period{First: d - store.Day(n-1), Last: d}
}

// reversed reports whether the ends of a..b are.
func (p Period) reversed(w store.WeekStart) bool {
	return p.a.days(w).First > p.b.days(w).Last
}

// endError returns why periods cannot be the ends of a range, or nil.
func endError(text string, ends ...Period) *PeriodError {
	for _, p := range ends {
		if p.err != nil {
			return &PeriodError{text, p.err.reasonFor(text)}
		}
		if p.kind != kindSingle {
			return &PeriodError{text, fmt.Sprintf("%q: an end of a range is a day, week, month, quarter or year", p)}
		}
	}
	return nil
}

// checkRun returns a run of p.n days that begins or ends on day d, or why there
// is none; far is how many days from d its other end lies.
func (p Period) checkRun(d store.Day, far int) Period {
	switch reason := runReason(p.n); {
	case reason != "":
		return badPeriod(p.String(), reason)
	case !d.Valid():
		return badPeriod(p.String(), "not a day of the years 1 to 9999")
	case !(d + store.Day(far)).Valid():
		return badPeriod(p.String(), "runs past the years 1 to 9999")
	}
	return p
}

// maxRun is the number of days of the years 1 to 9999.
const maxRun = int(store.MaxDay-store.MinDay) + 1

// runReason returns why there is no run of n days, or "".
func runReason(n int) string {
	switch {
	case n < 1:
		return "a run has at least one day"
	case n > maxRun:
		return "longer than the years 1 to 9999"
	}
	return ""
}

const (
	yearReason     = "years are 0001 to 9999"
	reversedReason = "ends before it starts; write the earlier end first"
)

func validYear(year int) bool { return 1 <= year && year <= 9999 }

// badPeriod returns a period that does not exist.
func badPeriod(text, reason string) Period {
	return Period{err: &PeriodError{text, reason}}
}
