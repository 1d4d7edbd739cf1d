package redisbits

import "strings"

// The keys of bitmapist and bitmapist4, Python libraries that mark an id in one
// bitmap per event and hour, day, week and month. A key is a prefix, the event,
// an underscore, and the period in numbers without leading zeros:
//
//	trackist_active_2012-10-3-7    hour 7 of 2012-10-03, in UTC
//	trackist_active_2012-10-3      day
//	trackist_active_W2012-40       ISO week
//	trackist_active_2012-10        month
//	trackist_active_u              ever
//	trackist_bitop_AND_KEY-KEY     the result of a BITOP
//
// bitmapist4 has the prefix bitmapist_. An event may have underscores. Periods
// come from the current time in UTC unless the caller gave one.

// bitmapistPrefixes are the prefixes that the two libraries have by default.
func bitmapistPrefixes() []string { return []string{"trackist_", "bitmapist_"} }

func bitmapistPatterns() []string {
	var patterns []string
	for _, prefix := range bitmapistPrefixes() {
		patterns = append(patterns, prefix+"*")
	}
	return patterns
}

// splitBitmapist takes a key of bitmapist apart.
func splitBitmapist(key string) (event string, d date, why Reason) {
	rest := key
	for _, prefix := range bitmapistPrefixes() {
		rest = strings.TrimPrefix(rest, prefix)
		if len(rest) < len(key) {
			break
		}
	}
	at := strings.LastIndexByte(rest, '_')
	switch {
	case len(rest) == len(key):
		return "", d, OutsideLayout
	case strings.HasPrefix(rest, "bitop_"):
		// The libraries take it for a result too, and delete it with the others.
		return "", d, Bitop
	case at <= 0:
		return "", d, OutsideLayout
	}
	event, period := rest[:at], rest[at+1:]
	if period == "u" {
		return "", d, Unique
	}
	week := strings.HasPrefix(period, "W")
	parts := strings.Split(strings.TrimPrefix(period, "W"), "-")
	for i, part := range parts {
		if !digits(part, i == 0) {
			return "", d, OutsideLayout
		}
	}
	switch {
	case week && len(parts) == 2:
		return "", d, Week
	case week:
	case len(parts) == 1:
		return "", d, Year
	case len(parts) == 2:
		return "", d, Month
	case len(parts) == 3:
		return event, date{parts[0], parts[1], parts[2], ""}, ""
	case len(parts) == 4:
		return event, date{parts[0], parts[1], parts[2], parts[3]}, ""
	}
	return "", d, OutsideLayout
}

// digits reports whether s is a year of four digits, or a number of one or two.
func digits(s string, year bool) bool {
	switch {
	case year && len(s) != 4:
		return false
	case !year && len(s) != 1 && len(s) != 2:
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}
