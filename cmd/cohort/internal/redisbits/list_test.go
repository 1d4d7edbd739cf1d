package redisbits_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cohort/cmd/cohort/internal/redisbits"
	"cohort/cmd/cohort/internal/redistest"

	"github.com/redis/go-redis/v9"
)

func TestList(t *testing.T) {
	r := redistest.Start(t)
	r.SetBits(t, "trackist_a_2026-1-9", 1)
	r.SetBits(t, "trackist_a_2026-1-10", 80)
	r.SetBits(t, "trackist_a_2026-1-10-3", 80)
	r.SetBits(t, "bitmapist_a_2026-1-10", 7)
	r.SetBits(t, "trackist_a_2026-1", 1)
	r.SetBits(t, "trackist_a_W2026-2", 1)
	r.Do(t, "hset", "trackist_b_2026-1-9", "f", "v")
	r.Do(t, "sadd", "trackist_c_2026-1-9", "v")
	r.Do(t, "set", "trackist_d_2026-1-9", "")
	r.SetBits(t, "active:2026-01-30", 1)
	r.SetBits(t, "active:2026-02-30", 1)
	r.Do(t, "hset", "session:2026-01-30", "f", "v")
	r.SetBits(t, "a*:2026-01-30", 1)
	r.SetBits(t, "ab:2026-01-30", 1)

	s := connect(t, r.URL())
	for _, test := range []struct {
		layout, pattern string
		keys            []string // name event day size
		skipped         []string // name reason
	}{
		{"bitmapist", "", []string{
			"trackist_a_2026-1-9 a 2026-01-09 1",
			"bitmapist_a_2026-1-10 a 2026-01-10 1",
			"trackist_a_2026-1-10 a 2026-01-10 11",
			"trackist_a_2026-1-10-3 a 2026-01-10 11",
		}, []string{
			"trackist_a_2026-1 month", "trackist_a_W2026-2 week", "trackist_b_2026-1-9 not_string",
			"trackist_c_2026-1-9 not_string", "trackist_d_2026-1-9 vanished",
		}},
		{"bitmapist", "*_a_2026-1-10", []string{
			"bitmapist_a_2026-1-10 a 2026-01-10 1", "trackist_a_2026-1-10 a 2026-01-10 11",
		}, nil},
		{"dated", "", []string{
			"a*:2026-01-30 a* 2026-01-30 1", "ab:2026-01-30 ab 2026-01-30 1", "active:2026-01-30 active 2026-01-30 1",
		}, []string{"active:2026-02-30 bad_date", "session:2026-01-30 not_string"}},
		{"dated", "*a_2026-1-9", nil, []string{"trackist_a_2026-1-9 outside_layout"}},
		// The layout's own pattern takes text for what it is.
		{"a*:{date}", "", []string{"a*:2026-01-30 all 2026-01-30 1"}, nil},
		{"none:{date}", "", nil, nil},
	} {
		list, err := s.List(t.Context(), layout(t, test.layout), test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		var keys, skipped []string
		size := int64(0)
		for _, k := range list.Keys {
			keys = append(keys, fmt.Sprint(k.Name, " ", k.Event, " ", k.Day, " ", k.Size))
			size += k.Size
		}
		for _, k := range list.Skipped {
			skipped = append(skipped, k.Name+" "+string(k.Reason))
		}
		if !slices.Equal(keys, test.keys) || !slices.Equal(skipped, test.skipped) || list.Size != size {
			t.Errorf("%s %s: keys %q\nwant %q\nskipped %q\nwant %q\n%d bytes, want %d",
				test.layout, test.pattern, keys, test.keys, skipped, test.skipped, list.Size, size)
		}
	}
}

// A database of many keys is listed whole, and an interrupted listing is none.
func TestListMany(t *testing.T) {
	r := redistest.Start(t)
	const n = 12_345
	_, err := r.Client.Pipelined(t.Context(), func(p redis.Pipeliner) error {
		for i := range n {
			p.SetBit(t.Context(), fmt.Sprintf("event%d:2026-01-30", i), 1, 1)
			p.Set(t.Context(), fmt.Sprintf("other%d", i), "x", 0)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, r.Addr)
	list, err := s.List(t.Context(), layout(t, "dated"), "")
	if err != nil || len(list.Keys) != n || len(list.Skipped) != 0 {
		t.Errorf("%d keys, %d skipped, %v", len(list.Keys), len(list.Skipped), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.List(ctx, layout(t, "dated"), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// A user that may not read gets told so.
func TestListNoPermission(t *testing.T) {
	r := redistest.Start(t)
	r.SetBits(t, "active:2026-01-30", 1)
	r.Do(t, "acl", "setuser", "visitor", "on", ">pass", "+ping", "+scan", "~*")
	s := connect(t, "redis://visitor:pass@"+r.Addr)
	if _, err := s.List(t.Context(), layout(t, "dated"), ""); err == nil || !strings.Contains(err.Error(), "'strlen'") || errors.Is(err, redisbits.ErrPassword) {
		t.Errorf("%v, want one that names the command", err)
	}
}
