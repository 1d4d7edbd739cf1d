package query_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"cohort/query"
	"cohort/store"
)

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

func ExampleEventOrSet() {
	db, cleanup := exampleStore()
	defer cleanup()
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	for _, text := range []string{"paid", "paid[all] - bots[all]", "level>=10", "not yet"} {
		x, err := query.EventOrSet(snap, text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text, "is a set:", x != nil)
	}
	// Output:
	// paid is a set: false
	// paid[all] - bots[all] is a set: true
	// level>=10 is a set: true
	// not yet is a set: false
}
