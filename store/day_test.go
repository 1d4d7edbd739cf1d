package store_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"cohort/store"
)

func TestParseDay(t *testing.T) {
	for _, c := range []struct {
		in   string
		want store.Day
	}{
		{"1970-01-01", 0},
		{"1969-12-31", -1},
		{"1970-01-02", 1},
		{"0001-01-01", store.MinDay},
		{"9999-12-31", store.MaxDay},
		{"2000-02-29", 11016},
		{"2026-03-09", today},
		{"1900-03-01", -25508},
	} {
		got, err := store.ParseDay(c.in)
		if err != nil || got != c.want {
			t.Errorf("ParseDay(%q) = %d, %v, want %d", c.in, got, err, c.want)
		}
		if got.String() != c.in {
			t.Errorf("Day(%d) is written %q, want %q", got, got, c.in)
		}
	}
	for _, in := range []string{
		"", "2025-02-29", "1900-02-29", "2025-13-01", "2025-00-10", "2025-01-00", "2025-04-31", "0000-12-31", "10000-01-01",
		"-001-01-01", "2025-1-2", "20250102", "2025-01-02 ", " 2025-01-02", "2025-01-02T00:00:00Z", "２０２５-01-02", "today",
	} {
		if got, err := store.ParseDay(in); !errors.Is(err, store.ErrInvalidDay) {
			t.Errorf("ParseDay(%q) = %s, %v, want %v", in, got, err, store.ErrInvalidDay)
		}
	}
}

// TestDayEveryDate steps through the 3.65 million valid days beside the calendar
// of package time: through every fifth, or with COHORT_LONG=1 through all.
func TestDayEveryDate(t *testing.T) {
	t.Parallel()
	step := long(5, 1)
	date := time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)
	for d := store.MinDay; d <= store.MaxDay; d += store.Day(step) {
		y, m, dom := date.Date()
		if gotY, gotM, gotD := d.Date(); gotY != y || gotM != m || gotD != dom || store.Date(y, m, dom) != d || d.Weekday() != date.Weekday() {
			t.Fatalf("day %d is %d-%d-%d, %s, want %s, %s", d, gotY, gotM, gotD, d.Weekday(), date.Format(time.DateOnly), date.Weekday())
		}
		date = date.AddDate(0, 0, step)
		if !d.Valid() {
			t.Fatalf("day %d is not valid", d)
		}
	}
	if date.Year() != 10000 {
		t.Errorf("the day after the last is in %d, want 10000", date.Year())
	}
	if y, m, d := store.MaxDay.Date(); y != 9999 || m != time.December || d != 31 {
		t.Errorf("the last day is %d-%d-%d", y, m, d)
	}
	for _, d := range []store.Day{store.MinDay - 1, store.MaxDay + 1} {
		if d.Valid() {
			t.Errorf("day %d is valid", d)
		}
	}
	if got, want := store.Day(store.MaxDay+1).String(), "Day(2932897)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDateNormalizes(t *testing.T) {
	for _, c := range []struct {
		y    int
		m    time.Month
		d    int
		want string
	}{
		{2026, time.January, 32, "2026-02-01"},
		{2026, 13, 1, "2027-01-01"},
		{2026, time.March, 0, "2026-02-28"},
		{2024, time.March, 0, "2024-02-29"},
		{2026, time.January, 31 + 28, "2026-02-28"},
	} {
		if got := store.Date(c.y, c.m, c.d).String(); got != c.want {
			t.Errorf("Date(%d, %d, %d) = %s, want %s", c.y, c.m, c.d, got, c.want)
		}
	}
}

// TestDayOf: days are civil dates of the store's zone, through changes of the
// clock, and where the zone's offset is odd or once was.
func TestDayOf(t *testing.T) {
	for _, c := range []struct{ zone, instant, want string }{
		{"America/New_York", "2026-03-08T04:30:00Z", "2026-03-07"},
		{"America/New_York", "2026-03-09T03:30:00Z", "2026-03-08"},
		{"America/New_York", "2026-03-09T04:30:00Z", "2026-03-09"},
		{"America/New_York", "2026-11-01T03:59:59Z", "2026-10-31"},
		{"America/New_York", "2026-11-01T04:00:00Z", "2026-11-01"},
		{"America/New_York", "2026-11-02T04:59:59Z", "2026-11-01"},
		{"America/New_York", "2026-11-02T05:00:00Z", "2026-11-02"},
		{"UTC", "2026-03-08T23:59:59.999999999Z", "2026-03-08"},
		{"UTC", "2026-03-09T00:00:00Z", "2026-03-09"},
		{"UTC", "1969-12-31T23:59:59Z", "1969-12-31"},
		{"UTC", "0001-01-01T00:00:00Z", "0001-01-01"},
		{"UTC", "9999-12-31T23:59:59Z", "9999-12-31"},
		{"Pacific/Apia", "2011-12-30T09:59:59Z", "2011-12-29"}, // December 30 did not take place
		{"Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31"},
		{"Asia/Kathmandu", "2026-03-08T18:14:59Z", "2026-03-08"},
		{"Asia/Kathmandu", "2026-03-08T18:15:00Z", "2026-03-09"},
		{"Pacific/Kiritimati", "2026-03-08T10:00:00Z", "2026-03-09"},
		{"America/Sao_Paulo", "2018-11-04T03:00:00Z", "2018-11-04"}, // midnight did not take place
		{"Europe/Berlin", "1900-01-01T00:00:00Z", "1900-01-01"},
	} {
		t.Run(c.zone+" "+c.instant, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339Nano, c.instant)
			if err != nil {
				t.Fatal(err)
			}
			db := mustOpen(t, filepath.Join(t.TempDir(), "db"), &store.Options{TimeZone: c.zone, Now: func() time.Time { return at }})
			defer mustClose(t, db)
			for _, got := range []store.Day{db.Today(), db.DayOf(at), db.DayOf(at.In(time.FixedZone("", 3600)))} {
				if got.String() != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
			s, err := db.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, s)
			if s.Today().String() != c.want {
				t.Errorf("the snapshot's today is %s, want %s", s.Today(), c.want)
			}
		})
	}
}

func TestTimeZones(t *testing.T) {
	for _, zone := range []string{"Local", "Nowhere/City", "../UTC", "/etc/localtime"} {
		path := filepath.Join(t.TempDir(), "db")
		if db, err := store.Open(path, &store.Options{TimeZone: zone}); err == nil {
			mustClose(t, db)
			t.Errorf("time zone %q was accepted", zone)
		}
		if _, err := store.Open(path, &store.Options{Create: store.CreateNever}); !errors.Is(err, store.ErrNotExist) {
			t.Errorf("after time zone %q was refused: %v, want %v", zone, err, store.ErrNotExist)
		}
	}
}

func TestPeriod(t *testing.T) {
	p := store.Period{First: 3, Last: 6}
	if p.Len() != 4 || p.Empty() || !slices.Equal(slices.Collect(p.Days()), []store.Day{3, 4, 5, 6}) {
		t.Errorf("period %s: %d days, %v", p, p.Len(), slices.Collect(p.Days()))
	}
	for d := store.Day(0); d < 10; d++ {
		if got, want := p.Contains(d), d >= 3 && d <= 6; got != want {
			t.Errorf("contains %d: got %v, want %v", d, got, want)
		}
	}
	for d := range p.Days() {
		if d == 4 {
			break
		}
	}
	if got := len(slices.Collect(store.Period{First: math.MaxInt32 - 2, Last: math.MaxInt32}.Days())); got != 3 {
		t.Errorf("the last days of all: %d, want 3", got)
	}
	if got, want := p.Intersect(store.Period{First: 5, Last: 9}), (store.Period{First: 5, Last: 6}); got != want {
		t.Errorf("intersection %v, want %v", got, want)
	}
	for _, p := range []store.Period{p.Intersect(store.Period{First: 7, Last: 9}), {First: 1, Last: 0}, {First: store.MaxDay, Last: store.MinDay}} {
		if !p.Empty() || p.Len() != 0 || len(slices.Collect(p.Days())) != 0 || p.Contains(p.First) {
			t.Errorf("period %v is not empty: %d days", p, p.Len())
		}
	}
	if got, want := (store.Period{First: store.MinDay, Last: store.MaxDay}).Len(), 3652059; got != want {
		t.Errorf("all days: %d, want %d", got, want)
	}
	if got, want := (store.Period{First: 0, Last: today}).String(), "1970-01-01..2026-03-09"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWeekStart(t *testing.T) {
	for _, w := range []store.WeekStart{store.Monday, store.Sunday} {
		if got, err := store.ParseWeekStart(w.String()); got != w || err != nil {
			t.Errorf("ParseWeekStart(%q) = %v, %v", w, got, err)
		}
	}
	for _, s := range []string{"", "Monday", "tuesday"} {
		if got, err := store.ParseWeekStart(s); err == nil {
			t.Errorf("ParseWeekStart(%q) = %v, want an error", s, got)
		}
	}
}
