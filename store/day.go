package store

import (
	"fmt"
	"iter"
	"time"
)

// Day is a civil date, counted in days since 1970-01-01 in the proleptic
// Gregorian calendar. It has no time zone: a store's zone decides which day an
// instant falls on (see [DB.DayOf]), and stepping days never passes through
// hours. Valid days are those of the years 1 to 9999.
type Day int32

// MinDay and MaxDay bound the valid days: 0001-01-01 and 9999-12-31.
const (
	MinDay Day = -719162
	MaxDay Day = 2932896
)

const secondsPerDay = 86400

// Date returns the day of a civil date. Values outside their usual ranges are
// normalized as [time.Date] does: January 32 is February 1.
func Date(year int, month time.Month, day int) Day {
	return dayOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}

// dayOf returns the civil date that t shows in its own location.
func dayOf(t time.Time) Day {
	y, m, d := t.Date()
	s := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix()
	if s < 0 {
		s -= secondsPerDay - 1
	}
	return Day(s / secondsPerDay)
}

// ParseDay reads a day written as 2006-01-02. A date that does not exist, such
// as 2025-02-29, is an error.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || t.Year() < 1 {
		return 0, fmt.Errorf("%w: %q is not a date written YYYY-MM-DD", ErrInvalidDay, s)
	}
	return dayOf(t), nil
}

// Time returns midnight UTC of the civil date, for calendar arithmetic.
func (d Day) Time() time.Time {
	return time.Unix(int64(d)*secondsPerDay, 0).UTC()
}

// Date returns the year, month and day of the month.
func (d Day) Date() (year int, month time.Month, day int) { return d.Time().Date() }

// Weekday returns the day of the week.
func (d Day) Weekday() time.Weekday { return d.Time().Weekday() }

// Valid reports whether the day lies in the years 1 to 9999.
func (d Day) Valid() bool { return MinDay <= d && d <= MaxDay }

// String writes the day as 2006-01-02.
func (d Day) String() string {
	if !d.Valid() {
		return fmt.Sprintf("Day(%d)", int32(d))
	}
	return d.Time().Format(time.DateOnly)
}

// Period is a run of days, both ends included. It is empty where Last lies
// before First.
type Period struct{ First, Last Day }

// Len returns the number of days.
func (p Period) Len() int { return max(0, int(p.Last)-int(p.First)+1) }

// Empty reports whether the period has no day.
func (p Period) Empty() bool { return p.Last < p.First }

// Contains reports whether the day lies in the period.
func (p Period) Contains(d Day) bool { return p.First <= d && d <= p.Last }

// Intersect returns the days that lie in both periods.
func (p Period) Intersect(q Period) Period {
	return Period{max(p.First, q.First), min(p.Last, q.Last)}
}

// Days yields the days in order.
func (p Period) Days() iter.Seq[Day] {
	return func(yield func(Day) bool) {
		for i := range p.Len() { // a Day may overflow where the period ends
			if !yield(p.First + Day(i)) {
				return
			}
		}
	}
}

// String writes the period as FIRST..LAST.
func (p Period) String() string { return p.First.String() + ".." + p.Last.String() }
