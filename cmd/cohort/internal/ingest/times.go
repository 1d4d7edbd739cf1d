package ingest

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"cohort/store"
)

var (
	// ErrTime: not a time of the format, or not one of the years 1 to 9999.
	ErrTime = errors.New("not a time")
	// ErrAmbiguousTime: a date with slashes, whose day and month nothing tells
	// apart.
	ErrAmbiguousTime = errors.New("ambiguous time")
)

// DayParser turns the times of a file into days. It is not safe for concurrent
// use.
type DayParser struct {
	format TimeFormat
	zone   *time.Location

	// The zone is offset seconds east of UTC from the Unix time from up to, not
	// including, to: asking a zone costs 200 ns, and files hardly leave a season.
	from, to int64
	offset   int64
	// days remembers a day for each date of a year, by month and day of the
	// month; working one out costs 60 ns.
	days [13 * 32]struct {
		year int
		day  store.Day
	}
}

// NewDayParser returns a parser of one format. A time without an offset is in
// the zone, so its civil date is the day; any other time is an instant, and the
// day is the civil date that the zone has then.
func NewDayParser(format TimeFormat, zone *time.Location) *DayParser {
	return &DayParser{format: format, zone: zone}
}

// Day returns the day of a time. The error is [ErrTime] or [ErrAmbiguousTime].
func (p *DayParser) Day(s string) (store.Day, error) {
	switch p.format.name {
	case "auto":
		return p.auto(s)
	case "unix":
		seconds, ok := wholeSeconds(s)
		if !ok {
			return 0, ErrTime
		}
		return p.instant(seconds)
	case "unix-ms":
		ms, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, ErrTime
		}
		return p.instant(floorDiv(ms, 1000))
	}
	t, err := time.Parse(p.format.layout, s)
	switch {
	case err != nil:
		return 0, ErrTime
	case p.format.offset:
		return p.instant(t.Unix())
	}
	return valid(store.Date(t.Date()))
}

// auto tells the format by the shape: an ISO date with or without a time, or 8,
// 10 or 13 digits.
func (p *DayParser) auto(s string) (store.Day, error) {
	switch {
	case len(s) >= len(time.DateOnly) && s[4] == '-' && s[7] == '-':
		return p.iso(s)
	case hasSlashDate(s):
		return 0, ErrAmbiguousTime
	}
	n, ok := digits(s)
	switch {
	case !ok:
	case len(s) == 8:
		return p.civil(n/1e4, n/100%100, n%100)
	case len(s) == 10:
		return p.instant(int64(n))
	case len(s) == 13:
		return p.instant(int64(n) / 1000)
	}
	return 0, ErrTime
}

// iso reads a date, and after it T or a blank and a time of day.
func (p *DayParser) iso(s string) (store.Day, error) {
	day, err := p.isoDate(s[:len(time.DateOnly)])
	if err != nil {
		return 0, err
	}
	rest := s[len(time.DateOnly):]
	if rest == "" {
		return day, nil
	}
	if c := rest[0]; c != 'T' && c != 't' && c != ' ' {
		return 0, ErrTime
	}
	seconds, rest, ok := clock(rest[1:])
	if !ok {
		return 0, ErrTime
	}
	if rest == "" {
		return day, nil
	}
	offset, ok := isoOffset(rest)
	if !ok {
		return 0, ErrTime
	}
	return p.instant(int64(day)*secondsPerDay + int64(seconds-offset))
}

// isoDate reads YYYY-MM-DD.
func (p *DayParser) isoDate(s string) (store.Day, error) {
	year, ok1 := digits(s[:4])
	month, ok2 := digits(s[5:7])
	dom, ok3 := digits(s[8:])
	if !ok1 || !ok2 || !ok3 {
		return 0, ErrTime
	}
	return p.civil(year, month, dom)
}

// instant returns the day of a Unix time.
func (p *DayParser) instant(seconds int64) (store.Day, error) {
	if seconds < int64(store.MinDay-1)*secondsPerDay || seconds > int64(store.MaxDay+2)*secondsPerDay {
		return 0, ErrTime // far from any valid day, and days would overflow
	}
	if seconds < p.from || seconds >= p.to {
		p.season(time.Unix(seconds, 0).In(p.zone))
	}
	return valid(store.Day(floorDiv(seconds+p.offset, secondsPerDay)))
}

// season remembers the offset at an instant, and for how long it holds.
func (p *DayParser) season(t time.Time) {
	p.from, p.to = math.MinInt64, math.MaxInt64
	start, end := t.ZoneBounds()
	if !start.IsZero() {
		p.from = start.Unix()
	}
	if !end.IsZero() {
		p.to = end.Unix()
	}
	_, offset := t.Zone()
	p.offset = int64(offset)
}

const secondsPerDay = 86400

func valid(d store.Day) (store.Day, error) {
	if !d.Valid() {
		return 0, ErrTime
	}
	return d, nil
}

// civil returns the day of a civil date, which must exist.
func (p *DayParser) civil(year, month, dom int) (store.Day, error) {
	if year < 1 || month < 1 || month > 12 || dom < 1 || dom > 31 {
		return 0, ErrTime
	}
	known := &p.days[month*32+dom]
	if known.year == year {
		return known.day, nil
	}
	day := store.Date(year, time.Month(month), dom)
	if dom > 28 {
		if _, m, _ := day.Date(); int(m) != month {
			return 0, ErrTime
		}
	}
	known.year, known.day = year, day
	return day, nil
}

// clock reads HH:MM, HH:MM:SS or HH:MM:SS.fraction and returns the seconds since
// midnight and what follows. There is no 24:00 and no leap second.
func clock(s string) (seconds int, rest string, ok bool) {
	hour, s, ok1 := twoDigits(s, 23)
	minute, s, ok2 := twoDigits(strings.TrimPrefix(s, ":"), 59)
	if !ok1 || !ok2 {
		return 0, "", false
	}
	seconds = hour*3600 + minute*60
	if !strings.HasPrefix(s, ":") {
		return seconds, s, true
	}
	second, s, ok := twoDigits(s[1:], 59)
	if !ok {
		return 0, "", false
	}
	if s != "" && (s[0] == '.' || s[0] == ',') {
		fraction := s[1:]
		s = strings.TrimLeft(fraction, "0123456789")
		if len(s) == len(fraction) {
			return 0, "", false
		}
	}
	return seconds + second, s, true
}

// isoOffset reads Z, +HH, +HHMM or +HH:MM, in seconds east of UTC.
func isoOffset(s string) (seconds int, ok bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hours, rest, ok := twoDigits(s[1:], 23)
	minutes := 0
	if ok && rest != "" {
		minutes, rest, ok = twoDigits(strings.TrimPrefix(rest, ":"), 59)
	}
	seconds = hours*3600 + minutes*60
	if s[0] == '-' {
		seconds = -seconds
	}
	return seconds, ok && rest == ""
}

// twoDigits reads two digits that make at most limit.
func twoDigits(s string, limit int) (n int, rest string, ok bool) {
	if len(s) < 2 {
		return 0, "", false
	}
	n, ok = digits(s[:2])
	return n, s[2:], ok && n <= limit
}

// digits reads decimal digits only, at most 18.
func digits(s string) (n int, ok bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int(d)
	}
	return n, true
}

// wholeSeconds reads a decimal number of seconds and rounds it down.
func wholeSeconds(s string) (int64, bool) {
	whole, fraction, dot := strings.Cut(s, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, false
	}
	if dot {
		if fraction == "" || strings.Trim(fraction, "0123456789") != "" {
			return 0, false
		}
		if whole[0] == '-' && strings.Trim(fraction, "0") != "" {
			seconds--
		}
	}
	return seconds, true
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// hasSlashDate reports whether s begins with three numbers parted by slashes.
func hasSlashDate(s string) bool {
	for i := range 3 {
		rest := strings.TrimLeft(s, "0123456789")
		if len(rest) == len(s) {
			return false
		}
		s = rest
		if i == 2 {
			return true
		}
		if s == "" || s[0] != '/' {
			return false
		}
		s = s[1:]
	}
	return false
}
