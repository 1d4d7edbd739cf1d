package ingest_test

import (
	"errors"
	"testing"
	"time"
	_ "time/tzdata"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/store"
)

func parser(t testing.TB, format, zone string) *ingest.DayParser {
	t.Helper()
	f, err := ingest.ParseTimeFormat(format)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return ingest.NewDayParser(f, loc)
}

const (
	bad       = "bad"
	ambiguous = "ambiguous"
)

func TestDay(t *testing.T) {
	const utc, newYork, apia = "UTC", "America/New_York", "Pacific/Apia"
	for _, test := range []struct{ format, zone, in, want string }{
		// ISO dates.
		{"auto", utc, "2026-01-30", "2026-01-30"},
		{"auto", utc, "0001-01-01", "0001-01-01"},
		{"auto", utc, "9999-12-31", "9999-12-31"},
		{"auto", utc, "2024-02-29", "2024-02-29"},
		{"auto", utc, "2025-02-29", bad},
		{"auto", utc, "1900-02-29", bad},
		{"auto", utc, "2026-04-31", bad},
		{"auto", utc, "0000-01-01", bad},
		{"auto", utc, "2026-00-01", bad},
		{"auto", utc, "2026-13-01", bad},
		{"auto", utc, "2026-01-00", bad},
		{"auto", utc, "2026-01-32", bad},
		{"auto", utc, "2026-1-30", bad},
		{"auto", utc, "2026-01-3", bad},
		{"auto", utc, "26-01-30", bad},
		{"auto", utc, "2026-01-301", bad},
		{"auto", utc, "+2026-01-30", bad},
		{"auto", utc, "2026-0a-30", bad},
		{"auto", utc, " 2026-01-30", bad},
		{"auto", utc, "2026-01-30 ", bad},
		{"auto", utc, "2026-W05-5", bad},
		{"auto", utc, "", bad},
		{"auto", utc, "yesterday", bad},
		// Times of day.
		{"auto", utc, "2026-01-30T10:15:00Z", "2026-01-30"},
		{"auto", utc, "2026-01-30t10:15:00z", "2026-01-30"},
		{"auto", utc, "2026-01-30 10:15:00", "2026-01-30"},
		{"auto", utc, "2026-01-30T10:15", "2026-01-30"},
		{"auto", utc, "2026-01-30T10:15Z", "2026-01-30"},
		{"auto", utc, "2026-01-30T23:59:59.999999999999Z", "2026-01-30"},
		{"auto", utc, "2026-01-30T23:59:59,5", "2026-01-30"},
		{"auto", utc, "2026-01-30T24:00:00Z", bad},
		{"auto", utc, "2026-01-30T23:60", bad},
		{"auto", utc, "2026-01-30T23:59:60Z", bad},
		{"auto", utc, "2026-01-30T", bad},
		{"auto", utc, "2026-01-30T10", bad},
		{"auto", utc, "2026-01-30T10:1", bad},
		{"auto", utc, "2026-01-30T1:15", bad},
		{"auto", utc, "2026-01-30T10:15:", bad},
		{"auto", utc, "2026-01-30T10:15:0", bad},
		{"auto", utc, "2026-01-30T10:15:00.", bad},
		{"auto", utc, "2026-01-30T10:15:00.Z", bad},
		{"auto", utc, "2026-01-30_10:15", bad},
		{"auto", utc, "2026-01-30  10:15", bad},
		// Offsets.
		{"auto", utc, "2026-01-30T00:30:00+02:00", "2026-01-29"},
		{"auto", utc, "2026-01-30T00:30:00+0200", "2026-01-29"},
		{"auto", utc, "2026-01-30 00:30:00+02", "2026-01-29"},
		{"auto", utc, "2026-01-30T23:30-05:00", "2026-01-31"},
		{"auto", utc, "2026-01-30T23:30:00.25-0030", "2026-01-31"},
		{"auto", utc, "2026-01-30T23:30+00:00", "2026-01-30"},
		{"auto", utc, "0001-01-01T00:00+01:00", bad},
		{"auto", utc, "9999-12-31T23:30-01:00", bad},
		{"auto", utc, "2026-01-30T10:15+", bad},
		{"auto", utc, "2026-01-30T10:15+2", bad},
		{"auto", utc, "2026-01-30T10:15+24:00", bad},
		{"auto", utc, "2026-01-30T10:15+02:60", bad},
		{"auto", utc, "2026-01-30T10:15+02:", bad},
		{"auto", utc, "2026-01-30T10:15+020000", bad},
		{"auto", utc, "2026-01-30T10:15ZZ", bad},
		{"auto", utc, "2026-01-30T10:15 CET", bad},
		// The store's zone: instants around the start of summer time.
		{"auto", newYork, "2026-03-08T04:30:00Z", "2026-03-07"},
		{"auto", newYork, "2026-03-09T03:30:00Z", "2026-03-08"},
		{"auto", newYork, "2026-03-09T04:30:00Z", "2026-03-09"},
		{"auto", newYork, "2026-03-08T02:30:00", "2026-03-08"}, // skipped on the clock
		{"auto", newYork, "2026-11-01T01:30:00", "2026-11-01"}, // twice on the clock
		{"auto", newYork, "2026-01-30T23:59:59", "2026-01-30"},
		{"auto", newYork, "2026-01-30", "2026-01-30"},
		{"auto", apia, "2011-12-30T12:00", "2011-12-30"}, // a day Samoa left out
		{"auto", apia, "2011-12-30T09:59:59Z", "2011-12-29"},
		{"auto", apia, "2011-12-30T10:00:00Z", "2011-12-31"},
		// Digits.
		{"auto", utc, "20260130", "2026-01-30"},
		{"auto", utc, "20250229", bad},
		{"auto", utc, "00000101", bad},
		{"auto", newYork, "20260130", "2026-01-30"},
		{"auto", utc, "1769731200", "2026-01-30"},
		{"auto", utc, "0000000000", "1970-01-01"},
		{"auto", newYork, "1769731200", "2026-01-29"},
		{"auto", utc, "1769731199999", "2026-01-29"},
		{"auto", utc, "1769731200000", "2026-01-30"},
		{"auto", utc, "9999999999999", "2286-11-20"},
		{"auto", utc, "176973120", bad},
		{"auto", utc, "17697312000", bad},
		{"auto", utc, "-176973120", bad},
		{"auto", utc, "1769731200.5", bad},
		{"auto", utc, "99999999999999999999999999", bad},
		// Slashes.
		{"auto", utc, "01/02/2026", ambiguous},
		{"auto", utc, "2026/01/30", ambiguous},
		{"auto", utc, "30/01/26 10:15", ambiguous},
		{"auto", utc, "13/13/2026", ambiguous},
		{"auto", utc, "01/2026", bad},
		{"auto", utc, "/01/02", bad},
		{"auto", utc, "1/2/", bad},
		// Seconds and milliseconds.
		{"unix", utc, "0", "1970-01-01"},
		{"unix", utc, "-1", "1969-12-31"},
		{"unix", utc, "-0.5", "1969-12-31"},
		{"unix", utc, "-86400.0", "1969-12-31"},
		{"unix", utc, "-86400.1", "1969-12-30"},
		{"unix", utc, "1769731199.999", "2026-01-29"},
		{"unix", utc, "253402300799", "9999-12-31"},
		{"unix", utc, "253402300800", bad},
		{"unix", newYork, "1769731200", "2026-01-29"},
		{"unix", utc, "1e9", bad},
		{"unix", utc, "1.", bad},
		{"unix", utc, "1.-5", bad},
		{"unix", utc, ".5", bad},
		{"unix", utc, "", bad},
		{"unix", utc, "9223372036854775807", bad},
		{"unix", utc, "-9223372036854775808", bad},
		{"unix", utc, "01/02/2026", bad},
		{"unix-ms", utc, "-1", "1969-12-31"},
		{"unix-ms", utc, "1769731200000", "2026-01-30"},
		{"unix-ms", utc, "-9223372036854775808", bad},
		{"unix-ms", utc, "1.5", bad},
		// Layouts.
		{"02/01/2006", utc, "30/01/2026", "2026-01-30"},
		{"02/01/2006", utc, "01/30/2026", bad},
		{"2 Jan 2006", utc, "3 Feb 2026", "2026-02-03"},
		{time.RFC3339, newYork, "2026-01-30T02:00:00Z", "2026-01-29"},
		{time.RFC3339, newYork, "2026-01-30T02:00:00+05:30", "2026-01-29"},
		{"2006-01-02 15:04:05", newYork, "2026-03-08 02:30:00", "2026-03-08"},
		{"%d/%m/%Y", utc, "30/01/2026", "2026-01-30"},
		{"%d/%m/%Y", utc, "3/1/2026", "2026-01-03"},
		{"%d/%m/%Y", utc, "31/02/2026", bad},
		{"%d/%m/%Y", utc, "2026-01-30", bad},
		{"%m/%d/%y %I:%M %p", utc, "1/30/26 9:05 PM", "2026-01-30"},
		{"%Y-%m-%dT%H:%M:%S%z", newYork, "2026-01-30T02:00:00+0000", "2026-01-29"},
		{"%Y-%m-%d %H:%M:%S", utc, "2026-01-30 24:00:00", bad},
		{"%Y-%m-%d %H:%M:%S", utc, "2026-01-30 23:59:60", bad},
		{"%Y-%m-%d %H:%M:%S.%f", utc, "2026-01-30 23:59:59.123456", "2026-01-30"},
		{"%F %T", utc, "2026-01-30 10:00:00", "2026-01-30"},
		{"%d %b %Y", utc, "30 Jan 2026", "2026-01-30"},
	} {
		got, err := parser(t, test.format, test.zone).Day(test.in)
		switch {
		case test.want == bad:
			if err != ingest.ErrTime {
				t.Errorf("%s in %s: %q = %v, %v, want ErrTime", test.format, test.zone, test.in, got, err)
			}
		case test.want == ambiguous:
			if err != ingest.ErrAmbiguousTime {
				t.Errorf("%s in %s: %q = %v, %v, want ErrAmbiguousTime", test.format, test.zone, test.in, got, err)
			}
		case err != nil || got.String() != test.want:
			t.Errorf("%s in %s: %q = %v, %v, want %s", test.format, test.zone, test.in, got, err, test.want)
		}
	}
}

func TestParseTimeFormatRefuses(t *testing.T) {
	for _, s := range []string{"", "iso", "15:04", "2006-01", "01-02", "%H:%M", "%Y-%m", "%s", "%Q", "%d/%m/%Y 1", "2006-01-02 15:04 MST", "%F %Z", "%"} {
		if f, err := ingest.ParseTimeFormat(s); err == nil {
			t.Errorf("ParseTimeFormat(%q) = %+v", s, f)
		}
	}
}

// Whatever auto accepts lies in the years it may, and a time that package time
// can read as RFC 3339 gives the day that package time gives.
func FuzzDay(f *testing.F) {
	for _, s := range []string{"2026-01-30", "2026-01-30T10:15:00.5+02:00", "20260130", "1769731200", "1769731200000", "01/02/2026", "2026-01-30 10:15"} {
		f.Add(s)
	}
	loc, err := time.LoadLocation("America/New_York")
	if err != nil {
		f.Fatal(err)
	}
	auto, err := ingest.ParseTimeFormat("auto")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p := ingest.NewDayParser(auto, loc)
		got, err := p.Day(s)
		if err != nil && !errors.Is(err, ingest.ErrTime) && !errors.Is(err, ingest.ErrAmbiguousTime) {
			t.Fatalf("%q: %v", s, err)
		}
		if err == nil && !got.Valid() {
			t.Fatalf("%q = %d", s, int32(got))
		}
		if again, err2 := p.Day(s); again != got || err2 != err {
			t.Fatalf("%q = %v, %v, then %v, %v", s, got, err, again, err2)
		}
		// time.Parse takes offsets up to 24:00 in some versions; auto does not.
		if want, werr := time.Parse(time.RFC3339, s); werr == nil && err == nil {
			if w := store.Date(want.In(loc).Date()); got != w {
				t.Fatalf("%q = %v, want %v", s, got, w)
			}
		}
	})
}

func BenchmarkDay(b *testing.B) {
	for _, bench := range []struct{ name, zone string }{{"UTC", "UTC"}, {"zone", "America/New_York"}} {
		for _, s := range [][]string{
			{"2026-01-30T10:15:00Z", "2026-01-31T10:15:00Z"},
			{"2026-01-30 10:15:00", "2026-01-30 10:15:01"},
			{"1769731200", "1769831200"},
		} {
			b.Run(bench.name+"/"+s[0], func(b *testing.B) {
				p := parser(b, "auto", bench.zone)
				i := 0
				for b.Loop() {
					if _, err := p.Day(s[i&1]); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}
