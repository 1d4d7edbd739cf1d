package query

import (
	"fmt"
	"strings"
	"time"

	"cohort/store"
)

// By is the length of the periods that a report goes by.
type By uint8

// The lengths. Weeks are ISO weeks; see [Stepping] for their first day.
const (
	ByDay By = iota
	ByWeek
	ByMonth
	ByQuarter
	ByYear
)

// byNames are the names of the lengths, by value.
const byNames = "day week month quarter year"

// ParseBy reads day, week, month, quarter or year. Any other text is an error
// that matches [ErrUsage].
func ParseBy(s string) (By, error) {
	for i, name := range strings.Fields(byNames) {
		if s == name {
			return By(i), nil
		}
	}
	return 0, usagef("by %s: must be day, week, month, quarter or year", quote(s))
}

// String returns the name that ParseBy reads.
func (by By) String() string {
	if by > ByYear {
		return fmt.Sprintf("By(%d)", uint8(by))
	}
	return strings.Fields(byNames)[by]
}

// check returns an error unless by is one of the constants.
func (by By) check() error {
	if by > ByYear {
		return usagef("%v is not a length of period", by)
	}
	return nil
}

// Stepping divides the calendar into periods of one length and numbers them, so
// that the period after number i is i+1 and the n-th later is i+n: the month of
// January 31 is followed by February, whatever its length. Numbers start
// anywhere; only their differences mean something. All methods are pure and take
// a few tens of ns.
//
// By [ByWeek], weeks are the ISO weeks of the ISO year. In a store whose weeks
// start on Sunday a week keeps its number and runs from the Sunday before its
// ISO Monday. The other lengths are those of the calendar.
type Stepping struct {
	By        By
	WeekStart store.WeekStart
}

// daysBefore is how many days lie between the start of week number 0 and
// 1970-01-01, a Thursday.
func (s Stepping) daysBefore() int {
	if s.WeekStart == store.Sunday {
		return 4
	}
	return 3
}

// Number returns the number of the period that contains the day.
func (s Stepping) Number(d store.Day) int {
	switch s.By {
	case ByDay:
		return int(d)
	case ByWeek:
		return floorDiv(int(d)+s.daysBefore(), 7)
	}
	year, month, _ := d.Date()
	switch s.By {
	case ByMonth:
		return year*12 + int(month-1)
	case ByQuarter:
		return year*4 + int(month-1)/3
	}
	return year
}

// Days returns the days of period number i, without those that lie outside the
// years 1 to 9999.
func (s Stepping) Days(i int) store.Period {
	valid := store.Period{First: store.MinDay, Last: store.MaxDay}
	return store.Period{First: s.start(i), Last: s.start(i+1) - 1}.Intersect(valid)
}

// start returns the first day of period number i.
func (s Stepping) start(i int) store.Day {
	switch s.By {
	case ByDay:
		return store.Day(i)
	case ByWeek:
		return store.Day(7*i - s.daysBefore())
	case ByMonth:
		return store.Date(floorDiv(i, 12), time.Month(i-12*floorDiv(i, 12)+1), 1)
	case ByQuarter:
		return store.Date(floorDiv(i, 4), time.Month(3*(i-4*floorDiv(i, 4))+1), 1)
	}
	return store.Date(i, time.January, 1)
}

// Period returns period number i as it is written: 2026-01-30, 2026-W05,
// 2026-01, 2026-Q1 or 2026.
func (s Stepping) Period(i int) Period {
	return Period{kind: kindSingle, a: span{s.By, i}}
}

// Widen returns the numbers of the periods that hold the first and the last day
// of a run of days that is not empty.
func (s Stepping) Widen(p store.Period) (first, last int) {
	return s.Number(p.First), s.Number(p.Last)
}

// span is one whole period of the calendar: its length, and its number in the
// Stepping of that length. A week has the same number whatever day it starts on.
type span struct {
	by     By
	number int
}

// days returns the days of the span.
func (s span) days(w store.WeekStart) store.Period {
	return Stepping{s.by, w}.Days(s.number)
}

// String writes the span as ParsePeriod reads it.
func (s span) String() string {
	switch s.by {
	case ByDay:
		return store.Day(s.number).String()
	case ByWeek:
		year, week := isoWeek(Stepping{ByWeek, store.Monday}.start(s.number))
		return fmt.Sprintf("%04d-W%02d", year, week)
	case ByMonth:
		return fmt.Sprintf("%04d-%02d", s.number/12, s.number%12+1)
	case ByQuarter:
		return fmt.Sprintf("%04d-Q%d", s.number/4, s.number%4+1)
	}
	return fmt.Sprintf("%04d", s.number)
}

// isoWeek returns the ISO year and week of the week that starts on a Monday: a
// week belongs to the year of its Thursday (ISO 8601).
func isoWeek(monday store.Day) (year, week int) {
	year, _, _ = (monday + 3).Date()
	return year, int(monday+3-store.Date(year, time.January, 1))/7 + 1
}

// weekSpan returns a week of an ISO year. The week need not exist: number 53 of
// a year of 52 weeks is the first of the next.
func weekSpan(isoYear, week int) span {
	// January 4 is always in week 1.
	first := Stepping{ByWeek, store.Monday}.Number(store.Date(isoYear, time.January, 4))
	return span{ByWeek, first + week - 1}
}

// weeksOf returns the number of weeks of an ISO year: 52 or 53.
func weeksOf(isoYear int) int {
	return weekSpan(isoYear+1, 1).number - weekSpan(isoYear, 1).number
}

// floorDiv divides and rounds down, for b > 0.
func floorDiv[T int | int64](a, b T) T {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
