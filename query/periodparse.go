package query

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"cohort/store"
)

// ParsePeriod reads a period:
//
//	2026-01-30  2026-W05  2026-01  2026-Q1  2026   a day, week, month, quarter, year
//	A..B  A..  ..B                                 with any of these at either end, inclusive
//	7d@2026-01-30                                  the seven days that end there
//	2026-01-30+7d                                  the seven days that begin there
//	today  yesterday  7d                           by the day of the question
//	all                                            all stored days of the event
//
// The text has no blanks, years have four digits, and each period has one
// spelling. Otherwise the error is a *[PeriodError].
func ParsePeriod(s string) (Period, error) {
	if len(s) > maxPeriodText {
		return Period{}, &PeriodError{s, "too long for a period"}
	}
	p := parsePeriod(s)
	if p.err != nil {
		return Period{}, &PeriodError{s, p.err.reasonFor(s)}
	}
	return p, nil
}

// maxPeriodText is more bytes than any period has.
const maxPeriodText = 64

// reasonFor returns the reason as it reads after text, which the error's own
// text is a part of, or another spelling.
func (e *PeriodError) reasonFor(text string) string {
	if e.Text == text {
		return e.Reason
	}
	return fmt.Sprintf("%s: %s", quote(e.Text), e.Reason)
}

func parsePeriod(s string) Period {
	switch s {
	case "":
		return badPeriod(s, "empty; write all for every stored day")
	case "all":
		return All()
	case "today":
		return Today()
	case "yesterday":
		return Yesterday()
	}
	if strings.ContainsFunc(s, unicode.IsSpace) {
		return badPeriod(s, "a period has no blanks")
	}
	if a, b, ok := strings.Cut(s, ".."); ok {
		return parseRange(s, a, b)
	}
	if n, d, ok := strings.Cut(s, "@"); ok {
		return parseRun(s, n, d, func(n int, d store.Day) Period { return Trailing(n, d) })
	}
	if d, n, ok := strings.Cut(s, "+"); ok {
		return parseRun(s, n, d, func(n int, d store.Day) Period { return Forward(d, n) })
	}
	if n, ok := parseCount(s); ok {
		return Last(n)
	}
	return parseSingle(s)
}

// parseRange reads a..b; either may be missing.
func parseRange(s, a, b string) Period {
	switch {
	case a == "" && b == "":
		return badPeriod(s, "a range has at least one end; write all for every stored day")
	case b == "":
		return From(parsePeriod(a))
	case a == "":
		return Until(parsePeriod(b))
	}
	return Between(parsePeriod(a), parsePeriod(b))
}

// parseRun reads the two parts of 7d@2026-01-30 or 2026-01-30+7d.
func parseRun(s, count, date string, build func(int, store.Day) Period) Period {
	n, ok := parseCount(count)
	if !ok {
		return badPeriod(s, fmt.Sprintf("%s is not a number of days; write 7d@2026-01-30 or 2026-01-30+7d", quote(count)))
	}
	d, err := store.ParseDay(date)
	if err != nil {
		return badPeriod(s, fmt.Sprintf("%s is not a day; write 7d@2026-01-30 or 2026-01-30+7d", quote(date)))
	}
	return build(n, d)
}

// parseCount reads a number of days, such as 7d. A number too large for any
// period is some number that is.
func parseCount(s string) (n int, ok bool) {
	digits, ok := strings.CutSuffix(s, "d")
	if !ok || !allDigits(digits) || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		n = maxRun + 1
	}
	return n, true
}

// parseSingle reads a day, week, month, quarter or year by its shape.
func parseSingle(s string) Period {
	year, rest, dashed := strings.Cut(s, "-")
	switch {
	case len(year) != 4 || !allDigits(year):
	case !dashed:
		return Year(number(year))
	case len(rest) == 3 && rest[0] == 'W' && allDigits(rest[1:]):
		return Week(number(year), number(rest[1:]))
	case len(rest) == 2 && rest[0] == 'Q' && allDigits(rest[1:]):
		return Quarter(number(year), number(rest[1:]))
	case len(rest) == 2 && allDigits(rest):
		return Month(number(year), time.Month(number(rest)))
	case len(rest) == 5 && rest[2] == '-' && allDigits(rest[:2]) && allDigits(rest[3:]):
		return parseDay(s, number(year), number(rest[:2]), number(rest[3:]))
	}
	return badPeriod(s, "not a period; write 2026-01-30, 2026-W05, 2026-01, 2026-Q1, 2026, A..B, 7d, today or all")
}

// parseDay reads the day s, of which the parts are numbers.
func parseDay(s string, year, month, day int) Period {
	if m := Month(year, time.Month(month)); m.err != nil {
		return badPeriod(s, m.err.Reason)
	}
	if n := store.Date(year, time.Month(month)+1, 1) - store.Date(year, time.Month(month), 1); day < 1 || day > int(n) {
		return badPeriod(s, fmt.Sprintf("%s has days 01 to %d", s[:len("2026-01")], n))
	}
	return Day(store.Date(year, time.Month(month), day))
}

// allDigits reports whether s is one or more ASCII digits.
func allDigits(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// number reads a few ASCII digits.
func number(digits string) int {
	n := 0
	for _, c := range []byte(digits) {
		n = n*10 + int(c-'0')
	}
	return n
}
