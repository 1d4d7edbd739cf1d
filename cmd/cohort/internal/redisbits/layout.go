package redisbits

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cohort/store"
)

// ErrLayout: a text that is no layout.
var ErrLayout = errors.New("invalid key layout")

// errNamesEvent: an event was given for keys that each name their own.
var errNamesEvent = errors.New("its keys name the event, and another was given")

// Reason is why a key is not imported.
type Reason string

// The reasons: three of keys of longer periods (what a week, a month or a year has is
// in the keys of its days too), two of bitmapist's keys, three of others, six of
// values.
const (
	Week   Reason = "week"
	Month  Reason = "month"
	Year   Reason = "year"
	Unique Reason = "unique" // an event without a day
	Bitop  Reason = "bitop"  // a result of BITOP, kept for a while

	OutsideLayout Reason = "outside_layout" // not a key of the layout
	BadDate       Reason = "bad_date"       // such as 2026-02-30
	BadEvent      Reason = "bad_event"      // see [store.CheckEvent]
	NotString     Reason = "not_string"     // the value is a hash, a set, …
	HyperLogLog   Reason = "hyperloglog"    // the value is PFADD's
	Counter       Reason = "counter"        // the value is a number in digits
	Text          Reason = "text"           // the value begins with 16 characters or more
	Vanished      Reason = "vanished"       // empty or gone when it was to be read, or cut short meanwhile
)

// Layout says which keys are bitmaps, and of which event and day each is. It is
// immutable, and may be used by several goroutines.
type Layout struct {
	patterns []string // of Redis, which find the keys, and perhaps a few others
	split    func(key string) (event string, date date, why Reason)
}

// dated is the layout of keys such as active:2026-01-30.
const dated = "{event}:{date}"

// ParseLayout returns a layout: "bitmapist"; "dated", which an empty text is too;
// or a template such as stats:{event}:{date}, see
// fields. The event is that of all keys of a template without
// {event}, and empty for the other layouts. Errors match [ErrLayout].
func ParseLayout(text, event string) (*Layout, error) {
	var l *Layout
	var err error
	switch {
	case text == "bitmapist" && event != "":
		err = errNamesEvent
	case text == "bitmapist":
		l = &Layout{patterns: bitmapistPatterns(), split: splitBitmapist}
	case text == "" || text == "dated":
		l, err = parseTemplate(dated, event)
	case strings.ContainsAny(text, "{}"):
		l, err = parseTemplate(text, event)
	default:
		err = errors.New("must be bitmapist, dated or a template such as stats:{event}:{date}")
	}
	if err != nil {
		return nil, fmt.Errorf("%w %q: %w", ErrLayout, text, err)
	}
	return l, nil
}

// Key returns the event and the day of a key, or why it is not to be imported.
func (l *Layout) Key(name string) (event string, day store.Day, why Reason) {
	event, date, why := l.split(name)
	if why != "" {
		return "", 0, why
	}
	day, ok := date.civil()
	switch {
	case !ok:
		return "", 0, BadDate
	case store.CheckEvent(event) != nil:
		return "", 0, BadEvent
	}
	return event, day, ""
}

// date is what a key says of its day, in digits. The hour is empty where the key
// is of a whole day.
type date struct{ year, month, day, hour string }

// civil returns the civil date, if there is one.
func (d date) civil() (store.Day, bool) {
	year, month, day := number(d.year), number(d.month), number(d.day)
	if year < 1 || number(d.hour) > 23 {
		return 0, false
	}
	c := store.Date(year, time.Month(month), day)
	y, m, dd := c.Date()
	return c, c.Valid() && y == year && int(m) == month && dd == day
}

// number returns the number that at most four digits are, 0 for none.
func number(digits string) int {
	n, _ := strconv.Atoi(digits) // the callers' patterns take digits only
	return n
}
