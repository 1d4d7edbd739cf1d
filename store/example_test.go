package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cohort/store"
)

// temporary opens a store that goes when the example ends.
func temporary() (db *store.DB, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	db, err = store.Open(filepath.Join(dir, "cohort.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	return db, func() {
		if err := errors.Join(db.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

var day = store.Date(2026, time.January, 30)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	db, err := store.Open(filepath.Join(dir, "cohort.db"), &store.Options{TimeZone: "Europe/Berlin"})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	fmt.Println(db.Config().IDs, db.Config().TimeZone, db.Config().WeekStart)
	fmt.Println(db.DayOf(time.Date(2026, time.January, 30, 23, 30, 0, 0, time.UTC)))

	// What a store was created with stays.
	_, err = store.Open(filepath.Join(dir, "cohort.db"), &store.Options{TimeZone: "UTC", LockTimeout: time.Millisecond})
	fmt.Println(errors.Is(err, store.ErrInUse))
	// Output:
	// branded Europe/Berlin monday
	// 2026-01-31
	// true
}

func ExampleDB_Mark() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()

	for range 2 {
		result, err := db.Mark(ctx, "active", "PLR0KHTOWnGLuC", day)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result)
	}
	// An event belongs to the brand of its first mark.
	_, err := db.Mark(ctx, "active", "USR0KHTOWnGLuC", day)
	fmt.Println(errors.Is(err, store.ErrOtherBrand))
	// Output:
	// new
	// already
	// true
}

func ExampleDB_Unmark() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()

	if _, err := db.Mark(ctx, "active", "PLR0KHTOWnGLuC", day); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		result, err := db.Unmark(ctx, "active", "PLR0KHTOWnGLuC", day)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result)
	}
	// Output:
	// cleared
	// absent
}

func ExampleDB_MarkMany() {
	db, remove := temporary()
	defer remove()

	tally, err := db.MarkMany(context.Background(), slices.Values([]store.Mark{
		{Event: "registered", ID: "PLR0KHTOWnGLuC", Day: day},
		{Event: "active", ID: "PLR0KHTOWnGLuC", Day: day},
		{Event: "active", ID: "PLR0KHTOWnGLuC", Day: day},
	}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d new, %d already\n", tally.New, tally.Already)
	// Output: 2 new, 1 already
}

func ExampleDB_Load() {
	db, remove := temporary()
	defer remove()

	l, err := db.Load(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	refused := 0
	for _, id := range []string{"PLR0KHTOWnGLuC", "not an id", "PLR0FEeBIAB8Z4"} {
		if err := l.Add("active", id, day); err != nil {
			refused++ // this row only
		}
	}
	tally, err := l.Close()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d new, %d refused\n", tally.New, refused)
	// Output: 2 new, 1 refused
}

func ExampleDB_Has() {
	db, remove := temporary()
	defer remove()

	if _, err := db.Mark(context.Background(), "active", "PLR0KHTOWnGLuC", day); err != nil {
		log.Fatal(err)
	}
	for _, d := range []store.Day{day, day + 1} {
		at, err := db.Has("active", "PLR0KHTOWnGLuC", d)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(d, at.Has)
	}
	// Output:
	// 2026-01-30 true
	// 2026-01-31 false
}

func ExampleDB_DeleteDay() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()

	for _, d := range []store.Day{day - 1, day} {
		if _, err := db.Mark(ctx, "active", "PLR0KHTOWnGLuC", d); err != nil {
			log.Fatal(err)
		}
	}
	if err := db.DeleteDay(ctx, "active", day-1); err != nil {
		log.Fatal(err)
	}
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	e, _, err := snap.Event("active")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(e.Period())
	// Output: 2026-01-30..2026-01-30
}

func ExampleDB_Erase() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()

	for _, event := range []string{"registered", "active"} {
		if _, err := db.Mark(ctx, event, "PLR0KHTOWnGLuC", day); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := db.Erase(ctx, "PLR0KHTOWnGLuC"); err != nil {
		log.Fatal(err)
	}
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	known, _, err := snap.Known("PLR0KHTOWnGLuC")
	fmt.Println(known, err)
	// Output: false <nil>
}

func ExampleDB_Snapshot() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()

	if _, err := db.Mark(ctx, "active", "PLR0KHTOWnGLuC", day); err != nil {
		log.Fatal(err)
	}
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	if _, err := db.Mark(ctx, "active", "PLR0FEeBIAB8Z4", day+1); err != nil {
		log.Fatal(err)
	}

	e, ok, err := snap.Event("active")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ok, e.Brand, e.Period(), e.Marks) // without the later mark
	b, err := snap.Bitmap("active", e.Period())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b)
	// Output:
	// true PLR 2026-01-30..2026-01-30 1
	// {234878118}
}

func ExampleSnapshot_Members() {
	db, remove := temporary()
	defer remove()

	ids := []string{"PLR0KHTOWnGLuC", "PLR0FEeBIAB8Z4", "PLR9w9kR6zInnb"}
	for _, id := range ids {
		if _, err := db.Mark(context.Background(), "active", id, day); err != nil {
			log.Fatal(err)
		}
	}
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	e, _, err := snap.Event("active")
	if err != nil {
		log.Fatal(err)
	}
	b, err := snap.Bitmap("active", store.Period{First: day, Last: day})
	if err != nil {
		log.Fatal(err)
	}
	// Two of the ids share a placement: one bit, of which both are members.
	fmt.Println(b.GetCardinality(), "bits")
	for id, err := range snap.Members(e.Brand, b) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id)
	}
	// Output:
	// 2 bits
	// PLR0KHTOWnGLuC
	// PLR0FEeBIAB8Z4
	// PLR9w9kR6zInnb
}

func ExampleSnapshot_Events() {
	db, remove := temporary()
	defer remove()

	for _, m := range []store.Mark{
		{Event: "page:home", ID: "PLR0KHTOWnGLuC", Day: day},
		{Event: "page:home", ID: "PLR0FEeBIAB8Z4", Day: day + 1},
		{Event: "page:shop", ID: "PLR0KHTOWnGLuC", Day: day},
		{Event: "paid", ID: "PLR0KHTOWnGLuC", Day: day},
	} {
		if _, err := db.Mark(context.Background(), m.Event, m.ID, m.Day); err != nil {
			log.Fatal(err)
		}
	}
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	events, err := snap.Events("page:")
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range events {
		fmt.Println(e.Name, e.Period(), e.Days, e.Marks)
	}
	// Output:
	// page:home 2026-01-30..2026-01-31 2 2
	// page:shop 2026-01-30..2026-01-30 1 1
}

// Two ids at one placement: a count loses one of them, and the store knows it.
func ExampleSnapshot_Known() {
	db, remove := temporary()
	defer remove()

	for _, id := range []string{"PLR0FEeBIAB8Z4", "PLR9w9kR6zInnb"} {
		if _, err := db.Mark(context.Background(), "active", id, day); err != nil {
			log.Fatal(err)
		}
	}
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	known, sharing, err := snap.Known("PLR0FEeBIAB8Z4")
	fmt.Println(known, sharing, err)
	brands, err := snap.Brands()
	for _, b := range brands {
		fmt.Println(b.Brand, b.IDs, "ids at", b.Placements, "placements")
	}
	fmt.Println(err)
	// Output:
	// true [PLR9w9kR6zInnb] <nil>
	// PLR 2 ids at 1 placements
	// <nil>
}

// Stores that hold the same facts have the same digest, whatever the order in
// which these came.
func ExampleSnapshot_Digest() {
	ids := []string{"PLR0KHTOWnGLuC", "PLR0FEeBIAB8Z4"}
	var digests []string
	for range 2 {
		db, remove := temporary()
		for _, id := range ids {
			if _, err := db.Mark(context.Background(), "active", id, day); err != nil {
				log.Fatal(err)
			}
		}
		snap, err := db.Snapshot()
		if err != nil {
			log.Fatal(err)
		}
		digest, err := snap.Digest()
		if err := errors.Join(err, snap.Close()); err != nil {
			log.Fatal(err)
		}
		digests = append(digests, digest)
		remove()
		slices.Reverse(ids)
	}
	fmt.Println(len(digests[0]), digests[0] == digests[1])
	// Output: 64 true
}

func ExampleDB_Observe() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()

	for _, id := range []string{"USR0KHTOWnGLuC", "USR0KHTOWnGLuC", "USR06ltY8okQpi"} {
		result, err := db.Observe(ctx, "/pricing", id, day)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result)
	}
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	pages, err := snap.Pages("/pricing")
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range pages {
		e, err := snap.Uniques(p, store.Period{First: day - 6, Last: day})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s: %d ± %.2f%%\n", p.Name, p.Brand, e.Count, 100*e.StdError)
	}
	// Output:
	// new
	// already
	// new
	// /pricing USR: 2 ± 0.81%
}

func ExampleDB_SaveIDs() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()

	bots := func(yield func(string, error) bool) {
		_ = yield("PLR0KHTOWnGLuC", nil) && yield("PLR0FEeBIAB8Z4", nil)
	}
	set, err := db.SaveIDs(ctx, "bots", bots)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Name, set.Brand, set.Count)
	// Output:
	// bots PLR 2
}

func ExampleDB_Verify() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()

	if _, err := db.Mark(ctx, "active", "PLR0KHTOWnGLuC", day); err != nil {
		log.Fatal(err)
	}
	v, err := db.Verify(ctx, store.VerifyOptions{Fault: func(f store.Fault) { fmt.Println(f) }})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Events, "event,", v.Faults, "faults")
	// Output:
	// 1 event, 0 faults
}

func ExampleDB_Remember() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()
	first := store.Date(2026, time.January, 5)
	for d := range store.Day(3) {
		if _, err := db.Mark(ctx, "active", "PLR0KHTOWnGLuC", first+d); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := db.Mark(ctx, "active", "PLR0FEeBIAB8Z4", first+2); err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(db.Fold(ctx), db.Remember(ctx)); err != nil {
		log.Fatal(err)
	}
	snap, err := db.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer snap.Close()
	e, _, err := snap.Event("active")
	if err != nil {
		log.Fatal(err)
	}
	days, known, err := snap.FirstCounts(e, e.Period())
	if err != nil {
		log.Fatal(err)
	}
	for _, d := range days {
		fmt.Println(d.Day, d.Count, known)
	}
	// Output:
	// 2026-01-05 1 true
	// 2026-01-07 1 true
}

// A field keeps a number per id. Adding is worked out in the order of commits, so that
// no addition of concurrent callers is lost.
func ExampleDB_AddField() {
	db, remove := temporary()
	defer remove()
	ctx := context.Background()
	if _, err := db.DefineField(ctx, "lives", store.FieldOptions{Bits: 4}); err != nil { // 0 to 15
		log.Fatal(err)
	}
	if err := db.SetField(ctx, "lives", "PLR0KHTOWnGLuC", 3); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		n, err := db.AddField(ctx, "lives", "PLR0KHTOWnGLuC", 10, store.Saturate)
		fmt.Println(n, err)
	}
	_, err := db.AddField(ctx, "lives", "PLR0KHTOWnGLuC", 1, store.Fail)
	fmt.Println(err)
	// Output:
	// 13 <nil>
	// 15 <nil>
	// field "lives", id "PLR0KHTOWnGLuC": adding 1 to 15 leaves the range 0 to 15
}
