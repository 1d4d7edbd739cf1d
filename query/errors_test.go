package query_test

import (
	"context"
	"errors"
	"testing"

	"cohort/query"
	"cohort/store"
)

// TestErrors sees every question give the errors of the context and the store.
func TestErrors(t *testing.T) {
	db := numbers(t, "2026-02-10")
	for d := day("2026-01-05"); d < day("2026-01-15"); d++ {
		marks(t, db, "active", d.String(), "1 2 3 4000000000")
	}
	questions := map[string]func(context.Context, query.Source) error{
		"count": func(ctx context.Context, src query.Source) error {
			_, err := query.Count(ctx, src, "active", query.All())
			return err
		},
		"size": func(ctx context.Context, src query.Source) error {
			_, err := query.Size(ctx, src, query.Seen())
			return err
		},
		"members": func(ctx context.Context, src query.Source) error {
			return lastError(query.Members(ctx, src, query.Seen()))
		},
		"funnel": func(ctx context.Context, src query.Source) error {
			_, err := query.AndCount(ctx, src, query.All(), "active", "active")
			return err
		},
		"ordered funnel": func(ctx context.Context, src query.Source) error {
			_, err := query.Funnel(ctx, src, []query.Step{query.EventStep("active"), query.EventStep("active")}, query.FunnelOptions{Order: query.Loose})
			return err
		},
		"streak": func(ctx context.Context, src query.Source) error {
			_, err := query.Streak(ctx, src, "active", "1", query.All())
			return err
		},
		"streaking": func(ctx context.Context, src query.Source) error {
			_, err := query.Streaking(ctx, src, "active", 2)
			return err
		},
		"longest": func(ctx context.Context, src query.Source) error {
			_, err := query.Longest(ctx, src, "active", query.All())
			return err
		},
		"calendar": func(ctx context.Context, src query.Source) error {
			_, err := query.Calendar(ctx, src, "active", "1", query.All())
			return err
		},
		"active by day": func(ctx context.Context, src query.Source) error {
			_, err := query.Active(ctx, src, "active", query.ActiveOptions{})
			return err
		},
		"active by week": func(ctx context.Context, src query.Source) error {
			_, err := query.Active(ctx, src, "active", query.ActiveOptions{By: query.ByWeek})
			return err
		},
		"retention": func(ctx context.Context, src query.Source) error {
			_, err := query.Retention(ctx, src, "active", query.RetentionOptions{})
			return err
		},
		"between": func(ctx context.Context, src query.Source) error {
			_, err := query.RetentionBetween(ctx, src, "active", day("2026-01-05"), day("2026-01-06"))
			return err
		},
	}
	for name, ask := range questions {
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := ask(canceled, db); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want canceled", name, err)
		}
		if err := ask(t.Context(), db); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	snap, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := snap.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, ask := range questions {
		for _, src := range []query.Source{db, snap} {
			if err := ask(t.Context(), src); !errors.Is(err, store.ErrClosed) || errors.Is(err, query.ErrUsage) {
				t.Errorf("%s: error %v, want closed", name, err)
			}
		}
	}
}
