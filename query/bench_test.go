package query_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

var (
	benchIDs  = flag.Int("ids", 20_000, "ids active on each day of the benchmarks, of five times as many")
	benchDays = flag.Int("days", 60, "days of the benchmarks")
)

// benchStore fills a store of branded ids: each day, each of 5n ids is active with
// chance 1/5. It returns how many are active in the last 30 days, to check by.
func benchStore(b *testing.B) (db *store.DB, active30 uint64) {
	last := day("2026-06-30")
	db = openStore(b, "2026-07-01", store.Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([]string, 5**benchIDs)
	for i := range ids {
		ids[i] = placement.BrandedID{Brand: plr, Snowflake: rng.Uint64() >> 1}.String()
	}
	seen := map[uint32]bool{}
	l, err := db.Load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for d := last - store.Day(*benchDays) + 1; d <= last; d++ {
		for _, id := range ids {
			if rng.IntN(5) > 0 {
				continue
			}
			if err := l.Add("active", id, d); err != nil {
				b.Fatal(err)
			}
			if last-d < 30 {
				_, mixed, _ := placement.Branded.Parse(id)
				seen[mixed.Placement()] = true
			}
		}
	}
	if _, err := l.Close(); err != nil {
		b.Fatal(err)
	}
	if err := db.Fold(b.Context()); err != nil {
		b.Fatal(err)
	}
	return db, uint64(len(seen))
}

// BenchmarkQuestions times each question of one store, after checking those
// figures that must agree with each other and with a map of the ids.
func BenchmarkQuestions(b *testing.B) {
	db, active30 := benchStore(b)
	ctx, last := b.Context(), day("2026-06-30")
	n, err := query.Count(ctx, db, "active", query.Trailing(30, last))
	if err != nil || n != active30 {
		b.Fatalf("30 days have %d ids, %v, want %d", n, err, active30)
	}
	lastDay := query.ActiveOptions{From: query.Day(last - 29), To: query.Day(last)}
	r, err := query.Active(ctx, db, "active", lastDay)
	if err != nil || r.Rows[29].Trailing[1].Active != active30 {
		b.Fatalf("the last row is %v, %v, want w30 %d", r.Rows[29], err, active30)
	}
	x := query.And(query.Of("active", query.Day(last)), query.Of("active", query.Day(last-1)))
	for _, bench := range []struct {
		name string
		ask  func() error
	}{
		{"count of a day", func() error { _, err := query.Count(ctx, db, "active", query.Day(last)); return err }},
		{"count of 30 days", func() error { _, err := query.Count(ctx, db, "active", query.Trailing(30, last)); return err }},
		{"two days", func() error { _, err := query.Size(ctx, db, x); return err }},
		{"members of two days", func() error { return lastError(query.Members(ctx, db, x)) }},
		{"first 100 members", func() error { return lastError(query.Members(ctx, db, x, query.Limit(100))) }},
		{"funnel of five", func() error {
			var steps []query.Step
			for i := range store.Day(5) {
				steps = append(steps, query.SetStep(query.Of("active", query.Day(last-i))))
			}
			_, err := query.Funnel(ctx, db, steps, query.FunnelOptions{})
			return err
		}},
		{"funnel in order", func() error {
			steps := []query.Step{query.EventStep("active"), query.EventStep("active"), query.EventStep("active")}
			_, err := query.Funnel(ctx, db, steps, query.FunnelOptions{Order: query.BothOrders, Within: 7})
			return err
		}},
		{"streaks of at least 7", func() error { _, err := query.Streaking(ctx, db, "active", 7); return err }},
		{"longest streaks", func() error { _, err := query.Longest(ctx, db, "active", query.All()); return err }},
		{"active 30 days", func() error { _, err := query.Active(ctx, db, "active", lastDay); return err }},
		{"active by week", func() error {
			_, err := query.Active(ctx, db, "active", query.ActiveOptions{By: query.ByWeek})
			return err
		}},
		{"retention first", func() error { _, err := query.Retention(ctx, db, "active", query.RetentionOptions{}); return err }},
		{"retention each", func() error {
			_, err := query.Retention(ctx, db, "active", query.RetentionOptions{Cohort: query.CohortEach})
			return err
		}},
		{"retention by week", func() error {
			_, err := query.Retention(ctx, db, "active", query.RetentionOptions{By: query.ByWeek})
			return err
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := bench.ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
