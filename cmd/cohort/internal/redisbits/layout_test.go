package redisbits_test

import (
	"errors"
	"strings"
	"testing"

	"cohort/cmd/cohort/internal/redisbits"
	"cohort/store"
)

// layout returns a layout; a text without {event} is of the event "all".
func layout(t *testing.T, text string) *redisbits.Layout {
	t.Helper()
	event := "all"
	if text == "" || text == "dated" || text == "bitmapist" || strings.Contains(text, "{event}") {
		event = ""
	}
	l, err := redisbits.ParseLayout(text, event)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLayoutKey(t *testing.T) {
	for _, test := range []struct {
		layout, key string
		event, day  string
		why         redisbits.Reason
	}{
		{layout: "bitmapist", key: "trackist_active_2012-10-30", event: "active", day: "2012-10-30"},
		{layout: "bitmapist", key: "trackist_active_2012-1-3", event: "active", day: "2012-01-03"},
		{layout: "bitmapist", key: "bitmapist_song:played_2024-2-29", event: "song:played", day: "2024-02-29"},
		{layout: "bitmapist", key: "trackist_task_done_2012-10-3", event: "task_done", day: "2012-10-03"},
		{layout: "bitmapist", key: "trackist_active_2012-10-3-0", event: "active", day: "2012-10-03"},
		{layout: "bitmapist", key: "trackist_active_2012-10-3-23", event: "active", day: "2012-10-03"},
		{layout: "bitmapist", key: "trackist_active_2012-10-3-24", why: redisbits.BadDate},
		{layout: "bitmapist", key: "trackist_active_2012-2-30", why: redisbits.BadDate},
		{layout: "bitmapist", key: "trackist_active_0000-2-3", why: redisbits.BadDate},
		{layout: "bitmapist", key: "trackist_active_2012-10", why: redisbits.Month},
		{layout: "bitmapist", key: "trackist_active_W2012-44", why: redisbits.Week},
		{layout: "bitmapist", key: "trackist_active_2012", why: redisbits.Year},
		{layout: "bitmapist", key: "trackist_premium_u", why: redisbits.Unique},
		{layout: "bitmapist", key: "trackist_bitop_AND_trackist_a_2012-10-3-trackist_b_2012-10-3", why: redisbits.Bitop},
		{layout: "bitmapist", key: "bitmapist_bitop_NOT_x", why: redisbits.Bitop},
		{layout: "bitmapist", key: "trackist_\x01_2012-10-3", why: redisbits.BadEvent},
		{layout: "bitmapist", key: "trackist_" + strings.Repeat("e", 256) + "_2012-10-3", why: redisbits.BadEvent},
		{layout: "bitmapist", key: "trackist_active", why: redisbits.OutsideLayout},
		{layout: "bitmapist", key: "trackist__2012-10-3", why: redisbits.OutsideLayout},
		{layout: "bitmapist", key: "trackist_active_W2012-44-1", why: redisbits.OutsideLayout},
		{layout: "bitmapist", key: "trackist_active_2012-10-3-7-5", why: redisbits.OutsideLayout},
		{layout: "bitmapist", key: "trackist_active_2012-010-3", why: redisbits.OutsideLayout},
		{layout: "bitmapist", key: "trackist_active_2012-10-", why: redisbits.OutsideLayout},
		{layout: "bitmapist", key: "trackist_active_", why: redisbits.OutsideLayout},
		{layout: "bitmapist", key: "other_active_2012-10-3", why: redisbits.OutsideLayout},
		{layout: "bitmapist", key: "", why: redisbits.OutsideLayout},
		// Only one prefix is taken off.
		{layout: "bitmapist", key: "trackist_bitmapist_a_2012-10-3", event: "bitmapist_a", day: "2012-10-03"},

		{layout: "dated", key: "active:2026-01-30", event: "active", day: "2026-01-30"},
		{layout: "", key: "prod:dau:2026-01-30", event: "prod:dau", day: "2026-01-30"},
		{layout: "dated", key: "a\nb:2026-01-30", why: redisbits.BadEvent},
		{layout: "dated", key: "a\xff:2026-01-30", why: redisbits.BadEvent},
		{layout: "dated", key: "active:2026-02-30", why: redisbits.BadDate},
		{layout: "dated", key: ":2026-01-30", why: redisbits.OutsideLayout},
		{layout: "dated", key: "active:2026-1-30", why: redisbits.OutsideLayout},
		{layout: "dated", key: "active:2026-01", why: redisbits.Month},
		{layout: "dated", key: "active:2026-W05", why: redisbits.Week},
		{layout: "dated", key: "active:2026", why: redisbits.Year},
		{layout: "dated", key: "user:4711", why: redisbits.OutsideLayout},
		{layout: "dated", key: "active:2026-01-30:3", why: redisbits.OutsideLayout},
		{layout: "dated", key: "active:2026-01-30\n", why: redisbits.OutsideLayout},

		{layout: "stats:{event}:{date}", key: "stats:active:2026-01-30", event: "active", day: "2026-01-30"},
		{layout: "stats:{event}:{date}", key: "stats:active:2026-01", why: redisbits.Month},
		{layout: "stats:{event}:{date}", key: "active:2026-01", why: redisbits.OutsideLayout},
		{layout: "{date}{event}", key: "2026-01x", why: redisbits.Month},
		{layout: "stats:{event}:{date}", key: "xstats:active:2026-01-30", why: redisbits.OutsideLayout},
		{layout: "{event}_{yyyymmdd}", key: "new_user_20260130", event: "new_user", day: "2026-01-30"},
		{layout: "{event}{yyyymmdd}", key: "a120260130", event: "a1", day: "2026-01-30"},
		{layout: "{yyyymmdd}{event}", key: "202601301", event: "1", day: "2026-01-30"},
		{layout: "{dd}.{mm}.{yyyy}/{event}", key: "30.01.2026/active", event: "active", day: "2026-01-30"},
		{layout: "my_{event}_{yyyy}-{m}-{d}", key: "my_active_2026-1-3", event: "active", day: "2026-01-03"},
		{layout: "my_{event}_{yyyy}-{m}-{d}-{h}", key: "my_active_2026-1-3-23", event: "active", day: "2026-01-03"},
		{layout: "{event}:{date}:{hh}", key: "active:2026-01-30:07", event: "active", day: "2026-01-30"},
		{layout: "{event}:{date}:{hh}", key: "active:2026-01-30:24", why: redisbits.BadDate},
		{layout: "dau:{date}", key: "dau:2026-01-30", event: "all", day: "2026-01-30"},
		{layout: "{{{event}}}:{date}", key: "{active}:2026-01-30", event: "active", day: "2026-01-30"},
		{layout: `a*[?]\{event}:{date}`, key: `a*[?]\x:2026-01-30`, event: "x", day: "2026-01-30"},
	} {
		event, day, why := layout(t, test.layout).Key(test.key)
		switch {
		case why != test.why || event != test.event:
			t.Errorf("%s: %q: event %q, not imported for %q; want %q, %q", test.layout, test.key, event, why, test.event, test.why)
		case why == "" && day.String() != test.day:
			t.Errorf("%s: %q: %v, want %s", test.layout, test.key, day, test.day)
		}
	}
}

func TestParseLayoutErrors(t *testing.T) {
	for _, test := range []struct{ layout, event, want string }{
		{"daily", "", "must be bitmapist, dated or a template"},
		{"bitmapist", "active", "its keys name the event"},
		{"dated", "active", "its keys name the event"},
		{"{event}:{date}", "active", "its keys name the event"},
		{"dau:{date}", "", "no {event}"},
		{"dau:{date}", "a\n", "invalid event name"},
		{"{event}", "", "has no year"},
		{"{event}:{yyyy}-{mm}", "", "has no day"},
		{"{event}:{date}:{dd}", "", "{dd}: it has the day already"},
		{"{event}:{event}:{date}", "", "{event}: it has the event already"},
		{"{event}:{day}", "", "{day} is no field"},
		{"{event}:{date", "", "a brace stands alone"},
		{"{event}:date}", "", "a brace stands alone"},
		{"{event}:{yyyy}{m}-{d}", "", "{m} follows {yyyy}"},
		{"{event}{d}.{m}.{yyyy}", "", "{d} follows {event}"},
		{"{event}:{d}{m}:{yyyy}", "", "{m} follows {d}"},
		{"{event}:{yyyy}.{m}.{d}0", "", "{d} is followed by the digit 0"},
		{"\xff{event}:{date}", "", "invalid UTF-8"},
	} {
		_, err := redisbits.ParseLayout(test.layout, test.event)
		if !errors.Is(err, redisbits.ErrLayout) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q, event %q: %v, want %s", test.layout, test.event, err, test.want)
		}
	}
}

// FuzzLayout: no template and no key makes trouble, and what a layout takes is an
// event and a day that a store takes.
func FuzzLayout(f *testing.F) {
	f.Add("bitmapist", "trackist_active_2012-10-3-7")
	f.Add("dated", "active:2026-01-30")
	f.Add("{{{event}}}_{yyyy}-{m}-{d}:{h}", "{a}_2026-1-3:4")
	f.Add(`*{yyyymmdd}[{event}`, "*20260130[x")
	f.Fuzz(func(t *testing.T, text, key string) {
		for _, event := range []string{"", "all"} {
			l, err := redisbits.ParseLayout(text, event)
			if err != nil {
				if !errors.Is(err, redisbits.ErrLayout) {
					t.Errorf("%q: %v", text, err)
				}
				continue
			}
			of, day, why := l.Key(key)
			if why == "" && (store.CheckEvent(of) != nil || !day.Valid()) {
				t.Errorf("%q: %q is of event %q, day %d", text, key, of, day)
			}
		}
	})
}
