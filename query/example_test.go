package query_test

import (
	"context"
	"encoding/json"
	"errors"
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

func ExampleParsePeriod() {
	for _, s := range []string{"2026-W05", "2026-01..2026-02-15", "7d@2026-01-30", "2025-W53"} {
		p, err := query.ParsePeriod(s)
		if err != nil {
			fmt.Println(err)
			continue
		}
		days, err := p.Resolve(query.Env{WeekStart: store.Monday})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p, "is", days)
	}
	// Output:
	// 2026-W05 is 2026-01-26..2026-02-01
	// 2026-01..2026-02-15 is 2026-01-01..2026-02-15
	// 7d@2026-01-30 is 2026-01-24..2026-01-30
	// period "2025-W53": the year has weeks 01 to 52
}

func ExamplePeriod_Resolve() {
	env := query.Env{
		AsOf:      store.Date(2026, time.February, 10),
		WeekStart: store.Sunday,
		Stored:    store.Period{First: store.Date(2026, time.January, 5), Last: store.Date(2026, time.January, 20)},
	}
	for _, p := range []query.Period{query.Last(7), query.Week(2026, 5), query.From(query.Day(store.Date(2026, time.January, 10))), query.All()} {
		days, err := p.Resolve(env)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-12v %v\n", p, days)
	}
	// Output:
	// 7d           2026-02-04..2026-02-10
	// 2026-W05     2026-01-25..2026-01-31
	// 2026-01-10.. 2026-01-10..2026-01-20
	// all          2026-01-05..2026-01-20
}

func ExampleStepping() {
	months := query.Stepping{By: query.ByMonth, WeekStart: store.Monday}
	n := months.Number(store.Date(2026, time.January, 31))
	fmt.Println(months.Period(n), months.Days(n))
	fmt.Println(months.Period(n+1), months.Days(n+1))
	// Output:
	// 2026-01 2026-01-01..2026-01-31
	// 2026-02 2026-02-01..2026-02-28
}

func ExampleParse() {
	x, err := query.Parse(`(active[2026-W05] | "at desk"[2026-01]) & paid[2026-01] - bots[all]`)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(x)
	fmt.Printf("%q\n", query.Events(x))
	// Output:
	// (active[2026-W05] | "at desk"[2026-01]) & paid[2026-01] - bots[all]
	// ["active" "at desk" "paid" "bots"]
}

func ExampleSyntaxError() {
	_, err := query.Parse("active[2026-01] & paid[2026-13]")
	var syntax *query.SyntaxError
	if errors.As(err, &syntax) {
		fmt.Println(syntax)
		fmt.Printf("%q\n", syntax.Text[syntax.Offset:])
	}
	// Output:
	// expression, at byte 23, "2026-13]": period "2026-13": months are 01 to 12
	// "2026-13]"
}

func ExampleAnd() {
	january := query.Month(2026, time.January)
	x := query.AndNot(query.And(query.Of("active", january), query.Of("paid", january)), query.Of("bots", query.All()))
	fmt.Println(x)
	parsed, err := query.Parse("active[2026-01] & paid[2026-01] - bots[all]")
	fmt.Println(parsed == x, err)
	// Output:
	// active[2026-01] & paid[2026-01] - bots[all]
	// true <nil>
}

func ExampleCount() {
	db, cleanup := exampleStore()
	defer cleanup()
	n, err := query.Count(context.Background(), db, "active", query.Week(2026, 2))
	fmt.Println(n, err)
	n, err = query.Count(context.Background(), db, "active", query.All(), query.AsOf(store.Date(2026, time.January, 6)))
	fmt.Println(n, err)
	// Output:
	// 5 <nil>
	// 4 <nil>
}

func ExampleSize() {
	db, cleanup := exampleStore()
	defer cleanup()
	for _, text := range []string{
		"registered[2026-01] & active[2026-W02] - bots[all]",
		"active[2026-01-05] ^ active[2026-01-07]",
		"every(active[2026-01-05+3d])",
		"seen - paid[all]",
	} {
		x, err := query.Parse(text)
		if err != nil {
			log.Fatal(err)
		}
		size, err := query.Size(context.Background(), db, x)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(size.Count, size.Expr)
	}
	// Output:
	// 3 registered[2026-01] & active[2026-W02] - bots[all]
	// 3 active[2026-01-05] ^ active[2026-01-07]
	// 2 every(active[2026-01-05+3d])
	// 4 seen - paid[all]
}

func ExampleMembers() {
	db, cleanup := exampleStore()
	defer cleanup()
	x, err := query.Parse("active[2026-W02] - paid[2026-01]")
	if err != nil {
		log.Fatal(err)
	}
	for id, err := range query.Members(context.Background(), db, x, query.Limit(2)) {
		if err != nil {
			log.Fatal(err)
		}
		// The loop may write: the ids were copied before the first of them.
		result, err := db.Mark(context.Background(), "reminded", id, db.Today())
		fmt.Println(id, result, err)
	}
	// Output:
	// 1 new <nil>
	// 3 new <nil>
}

func ExampleBitmap() {
	db, cleanup := exampleStore()
	defer cleanup()
	x, err := query.Parse("active[2026-W02] - paid[2026-01]")
	if err != nil {
		log.Fatal(err)
	}
	set, err := query.Bitmap(context.Background(), db, x)
	if err != nil {
		log.Fatal(err)
	}
	data, err := set.ToBytes() // any roaring library reads them
	fmt.Println(set, len(data), err)
	// Output: {1,3,4} 22 <nil>
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

func ExampleSource() {
	db, cleanup := exampleStore()
	defer cleanup()
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	if _, err := db.Mark(context.Background(), "active", "7", db.Today()); err != nil {
		log.Fatal(err)
	}
	for _, src := range []query.Source{snap, db} {
		n, err := query.Count(context.Background(), src, "active", query.Today())
		fmt.Println(n, err)
	}
	fmt.Println(snap.Close())
	// Output:
	// 0 <nil>
	// 1 <nil>
	// <nil>
}

func ExampleNewEnv() {
	db, cleanup := exampleStore()
	defer cleanup()
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	env, err := query.NewEnv(snap, "active", nil)
	if err != nil {
		log.Fatal(err)
	}
	days, err := query.All().Resolve(env)
	if err != nil {
		log.Fatal(err)
	}
	presence, err := snap.Has("active", "6", days)
	fmt.Println(days, presence.Has, err)
	fmt.Println(snap.Close())
	// Output:
	// 2026-01-05..2026-01-12 true <nil>
	// <nil>
}

func ExampleSave() {
	db, cleanup := exampleStore()
	defer cleanup()
	ctx := context.Background()

	bots, err := query.Save(ctx, db, "bots", query.Of("bots", query.All()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bots.Name, bots.Count)
	x, err := query.Parse("active[2026-01] - @bots")
	if err != nil {
		log.Fatal(err)
	}
	size, err := query.Size(ctx, db, x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(size.Count)
	// Output:
	// bots 1
	// 4
}

func ExampleUniques() {
	db, cleanup := exampleStore()
	defer cleanup()
	ctx := context.Background()
	for _, v := range []store.Visit{{Page: "/docs", ID: "1", Day: day("2026-01-05")}, {Page: "/docs", ID: "2", Day: day("2026-01-06")}, {Page: "/docs", ID: "1", Day: day("2026-01-06")}} {
		if _, err := db.Observe(ctx, v.Page, v.ID, v.Day); err != nil {
			log.Fatal(err)
		}
	}
	over := []query.Period{query.Week(2026, 2)}
	pages, err := query.Uniques(ctx, db, []string{"/docs"}, over)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(pages[0].Page, pages[0].Count)
	// Sketches are united, not intersected.
	_, err = query.Uniques(ctx, db, []string{"/docs[2026-W02] & /home[2026-W02]"}, over)
	fmt.Println(errors.Is(err, query.ErrSketchSets))
	// Output:
	// /docs 2
	// true
}

func ExampleTop() {
	db, cleanup := exampleStore()
	defer cleanup()

	top, err := query.Top(context.Background(), db, "", query.Month(2026, time.January), 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range top {
		fmt.Println(e.Event, e.Marks, "marks on", e.Days, "days, at most", e.Best)
	}
	// Output:
	// active 12 marks on 4 days, at most 4
	// registered 5 marks on 1 days, at most 5
}

// Comparisons of a field are sets like any others.
func ExampleSumField() {
	db, cleanup := exampleStore()
	defer cleanup()
	ctx := context.Background()
	if _, err := db.DefineField(ctx, "level", store.FieldOptions{Bits: 8}); err != nil {
		log.Fatal(err)
	}
	for id, level := range map[string]int64{"1": 3, "2": 12, "3": 7, "6": 40} {
		if err := db.SetField(ctx, "level", id, level); err != nil {
			log.Fatal(err)
		}
	}
	x, err := query.Parse("level>=7 & active[2026-01-07]")
	if err != nil {
		log.Fatal(err)
	}
	size, err := query.Size(ctx, db, x)
	if err != nil {
		log.Fatal(err)
	}
	sum, err := query.SumField(ctx, db, "level", query.Of("paid", query.All()))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(size.Count, sum.Sum, sum.Count)
	// Output: 2 52 2
}
