package query_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// exampleStore opens a new store of number ids, on 2026-02-10, with these marks:
//
//	registered  2026-01-05  1 2 3 4 5
//	active      2026-01-05  1 2 3 4
//	active      2026-01-06  1 2 3
//	active      2026-01-07  1 2 6
//	active      2026-01-12  1 6
//	paid        2026-01-20  2 6
//	bots        2026-01-01  4
func exampleStore() (db *store.DB, cleanup func()) {
	dir, err := os.MkdirTemp("", "cohort-example")
	if err != nil {
		log.Fatal(err)
	}
	db, err = store.Open(filepath.Join(dir, "cohort.db"), &store.Options{
		IDs: placement.Number,
		Now: func() time.Time { return time.Date(2026, 2, 10, 12, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range []struct{ event, date, ids string }{
		{"registered", "2026-01-05", "1 2 3 4 5"},
		{"active", "2026-01-05", "1 2 3 4"},
		{"active", "2026-01-06", "1 2 3"},
		{"active", "2026-01-07", "1 2 6"},
		{"active", "2026-01-12", "1 6"},
		{"paid", "2026-01-20", "2 6"},
		{"bots", "2026-01-01", "4"},
	} {
		for id := range strings.FieldsSeq(m.ids) {
			if _, err := db.Mark(context.Background(), m.event, id, day(m.date)); err != nil {
				log.Fatal(err)
			}
		}
	}
	return db, func() {
		if err := db.Close(); err != nil {
			log.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			log.Fatal(err)
		}
	}
}

func ExampleAndCount() {
	db, cleanup := exampleStore()
	defer cleanup()
	f, err := query.AndCount(context.Background(), db, query.Month(2026, time.January), "registered", "active", "paid")
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range f.Steps {
		fmt.Printf("%-10s %d %8v %8v\n", s.Event, s.Reached, s.OfPrevious, s.OfFirst)
	}
	// Output:
	// registered 5        -  100.00%
	// active     4   80.00%   80.00%
	// paid       1   25.00%   20.00%
}

func ExampleFunnel() {
	db, cleanup := exampleStore()
	defer cleanup()
	f, err := query.Funnel(context.Background(), db,
		[]query.Step{query.TextStep("registered"), query.TextStep("active[2026-W02] - bots[all]")},
		query.FunnelOptions{Over: query.Month(2026, time.January)})
	if err != nil {
		log.Fatal(err)
	}
	data, err := json.MarshalIndent(f, "", "  ")
	fmt.Println(string(data), err)
	// Output:
	// {
	//   "as_of": "2026-02-10",
	//   "open": 0,
	//   "expected_false_overlap": 0,
	//   "steps": [
	//     {
	//       "event": "registered",
	//       "reached": 5,
	//       "of_previous": null,
	//       "of_first": 1,
	//       "dropped": null
	//     },
	//     {
	//       "event": "active[2026-W02] - bots[all]",
	//       "reached": 3,
	//       "of_previous": 0.6,
	//       "of_first": 0.6,
	//       "dropped": 2
	//     }
	//   ]
	// } <nil>
}

func ExampleFunnel_ordered() {
	db, cleanup := exampleStore()
	defer cleanup()
	steps := []query.Step{query.EventStep("registered"), query.EventStep("active"), query.EventStep("active")}
	f, err := query.Funnel(context.Background(), db, steps, query.FunnelOptions{Order: query.BothOrders, Within: 1})
	if err != nil {
		log.Fatal(err)
	}
	for k, s := range f.Loose {
		fmt.Printf("%-10s %d on the day or later, %d later\n", s.Event, s.Reached, f.Strict[k].Reached)
	}
	fmt.Println(f.Open, "can go on")
	// Output:
	// registered 5 on the day or later, 5 later
	// active     4 on the day or later, 3 later
	// active     3 on the day or later, 0 later
	// 0 can go on
}

func ExampleActive() {
	db, cleanup := exampleStore()
	defer cleanup()
	r, err := query.Active(context.Background(), db, "active", query.ActiveOptions{
		From: query.Day(store.Date(2026, time.January, 5)),
		To:   query.Day(store.Date(2026, time.January, 8)),
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range r.Rows {
		fmt.Println(row.Period, row.Active, row.Trailing, row.Stickiness)
	}
	fmt.Println("mean stickiness", r.MeanStickiness)
	// Output:
	// 2026-01-05 4 [{7 4} {30 4}] 100.00%
	// 2026-01-06 3 [{7 4} {30 4}] 75.00%
	// 2026-01-07 3 [{7 5} {30 5}] 60.00%
	// 2026-01-08 0 [{7 5} {30 5}] 0.00%
	// mean stickiness 58.75%
}

func ExampleActive_byWeek() {
	db, cleanup := exampleStore()
	defer cleanup()
	r, err := query.Active(context.Background(), db, "active", query.ActiveOptions{By: query.ByWeek})
	if err != nil {
		log.Fatal(err)
	}
	data, err := json.Marshal(r)
	fmt.Println(string(data), err)
	// Output:
	// {"as_of":"2026-02-10","rows":[{"period":"2026-W02","active":5,"incomplete":false},{"period":"2026-W03","active":2,"incomplete":false}]} <nil>
}

func ExampleRetention() {
	db, cleanup := exampleStore()
	defer cleanup()
	r, err := query.Retention(context.Background(), db, "active", query.RetentionOptions{
		To:      query.Day(store.Date(2026, time.January, 7)),
		Periods: 3,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range r.Cohorts {
		fmt.Print(c.Period, " ", c.Size)
		for _, cell := range c.Cells {
			fmt.Printf(" %8v", cell.Rate)
		}
		fmt.Println()
	}
	fmt.Println("mean", r.Mean)
	// Output:
	// 2026-01-05 4  100.00%   75.00%   50.00%
	// 2026-01-06 0        -        -        -
	// 2026-01-07 1  100.00%    0.00%    0.00%
	// mean [{100.00% 2} {60.00% 2} {40.00% 2}]
}

// Who came back in the first two days after, or in the week that follows.
func ExampleRetention_bracket() {
	db, cleanup := exampleStore()
	defer cleanup()
	r, err := query.Retention(context.Background(), db, "active", query.RetentionOptions{
		To:       query.Day(store.Date(2026, time.January, 5)),
		Mode:     query.ModeBracket,
		Brackets: []query.Bracket{{From: 1, To: 2}, {From: 3, To: 9}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for k, b := range r.Brackets {
		fmt.Println(b, r.Cohorts[0].Cells[k+1].Count, "of", r.Cohorts[0].Size)
	}
	// Output:
	// 1-2 3 of 4
	// 3-9 1 of 4
}

func ExampleLifecycle() {
	db, cleanup := exampleStore()
	defer cleanup()
	r, err := query.Lifecycle(context.Background(), db, "active", query.LifecycleOptions{By: query.ByWeek})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range r.Rows {
		fmt.Println(row.Period, row.New, "new", row.Returning, "returning", row.Resurrecting, "resurrecting", row.Dormant, "dormant")
	}
	// Output:
	// 2026-W02 5 new 0 returning 0 resurrecting 0 dormant
	// 2026-W03 0 new 2 returning 0 resurrecting 3 dormant
}

// How many of the ids active in a week paid, without bots.
func ExampleScope() {
	db, cleanup := exampleStore()
	defer cleanup()
	size, err := query.Size(context.Background(), db, query.Of("active", query.Week(2026, 2)), query.In(query.Scope{
		Except:    []query.Expr{query.Of("bots", query.All())},
		Breakdown: []query.Expr{query.Of("paid", query.Month(2026, time.January))},
	}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("all", size.Count)
	for _, part := range size.Breakdown {
		fmt.Println(part.Set, part.Report.Count)
	}
	// Output:
	// all 4
	// paid[2026-01] 2
	// (none) 2
}

// How many ids were active on so many days.
func ExampleActiveReport_histogram() {
	db, cleanup := exampleStore()
	defer cleanup()
	r, err := query.Active(context.Background(), db, "active", query.ActiveOptions{
		From: query.Week(2026, 2), To: query.Week(2026, 2), Histogram: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range r.Histogram[:3] {
		fmt.Println(h.Periods, h.Exactly, h.AtLeast)
	}
	// Output:
	// 1 2 5
	// 2 1 3
	// 3 2 2
}

func ExampleRetentionBetween() {
	db, cleanup := exampleStore()
	defer cleanup()
	r, err := query.RetentionBetween(context.Background(), db, "active",
		store.Date(2026, time.January, 5), store.Date(2026, time.January, 12))
	fmt.Println(r.Size, r.Cell.Count, r.Cell.Rate, err)
	// Output:
	// 4 1 25.00% <nil>
}

// Several questions of one snapshot see the same marks, whatever is marked in
// between.
func ExampleStreak() {
	db, cleanup := exampleStore()
	defer cleanup()
	s, err := query.Streak(context.Background(), db, "active", "1", query.All(), query.AsOf(store.Date(2026, time.January, 8)))
	fmt.Println(s.Current, s.Longest, *s.LastDay, s.Shared, err)
	// Output: 3 3 2026-01-07 false <nil>
}

func ExampleStreaking() {
	db, cleanup := exampleStore()
	defer cleanup()
	asOf := query.AsOf(store.Date(2026, time.January, 7))
	n, err := query.Streaking(context.Background(), db, "active", 2, asOf)
	fmt.Println(n, "ids have been active for 2 days or more,", err)
	// Output: 3 ids have been active for 2 days or more, <nil>
}

func ExampleLongest() {
	db, cleanup := exampleStore()
	defer cleanup()
	r, err := query.Longest(context.Background(), db, "active", query.Month(2026, time.January))
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range r.Rows {
		fmt.Println(row.Days, "days:", row.Exactly, "ids")
	}
	// Output:
	// 1 days: 2 ids
	// 2 days: 1 ids
	// 3 days: 2 ids
}

func ExampleCalendar() {
	db, cleanup := exampleStore()
	defer cleanup()
	c, err := query.Calendar(context.Background(), db, "active", "6", query.Month(2026, time.January))
	fmt.Println(c.Days, c.Shared, err)
	// Output: [2026-01-07 2026-01-12] false <nil>
}

func ExampleCheckIn() {
	db, cleanup := exampleStore()
	defer cleanup()
	for range 2 {
		c, err := query.CheckIn(context.Background(), db, "active", "2", store.Date(2026, time.January, 8))
		fmt.Println(c.Result, c.FirstToday, c.Streak, err)
	}
	// Output:
	// new true 4 <nil>
	// already false 4 <nil>
}
