package query_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// openStore opens a new store on whose day today it is noon.
func openStore(t testing.TB, today string, opts store.Options) *store.DB {
	t.Helper()
	opts.Now = func() time.Time { return day(today).Time().Add(12 * time.Hour) }
	if dense() && opts.Positions == 0 && opts.IDs != placement.Number {
		opts.Positions = store.Dense
	}
	db, err := store.Open(filepath.Join(t.TempDir(), "test.db"), &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Error(err)
		}
	})
	return db
}

// dense says that these tests make dense stores where they are not about one kind
// or both: all of them run on either kind.
func dense() bool { return os.Getenv("COHORT_POSITIONS") == "dense" }

// numbers is a store of decimal ids: numbers, and strings in a dense store, for numbers
// are their own positions.
func numbers(t testing.TB, today string) *store.DB {
	kind := placement.Number
	if dense() {
		kind = placement.String
	}
	return openStore(t, today, store.Options{IDs: kind})
}

// marks marks ids, separated by blanks, on a day.
func marks(t testing.TB, db *store.DB, event, date, ids string) {
	t.Helper()
	for id := range strings.FieldsSeq(ids) {
		if _, err := db.Mark(t.Context(), event, id, day(date)); err != nil {
			t.Fatal(err)
		}
	}
}

// branded makes the n-th id of a brand.
func branded(brand string, n uint64) string {
	return placement.BrandedID{Brand: placement.Brand([]byte(brand)), Snowflake: n}.String()
}

// wantJSON compares an answer with the JSON it should have.
func wantJSON(t *testing.T, got any, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if want = strings.Join(strings.Fields(want), ""); string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}

func parse(t testing.TB, text string) query.Expr {
	t.Helper()
	x, err := query.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestFunnelReport(t *testing.T) {
	db := numbers(t, "2026-02-10")
	marks(t, db, "registered", "2026-01-05", "1 2 3 4")
	marks(t, db, "played", "2026-01-03", "1 2 3 5")
	marks(t, db, "paid", "2026-01-20", "1 9")
	marks(t, db, "paid", "2026-02-11", "2 3")
	marks(t, db, "odd[7d]", "2026-01-20", "4")
	f, err := query.AndCount(t.Context(), db, query.Month(2026, 1), "registered", "played", "paid", "never", "paid")
	wantJSON(t, f, err, `{"as_of":"2026-02-10","open":0,"expected_false_overlap":0,"steps":[
		{"event":"registered","reached":4,"of_previous":null,"of_first":1,"dropped":null},
		{"event":"played","reached":3,"of_previous":0.75,"of_first":0.75,"dropped":1},
		{"event":"paid","reached":1,"of_previous":0.3333333333333333,"of_first":0.25,"dropped":2},
		{"event":"never","reached":0,"of_previous":0,"of_first":0,"dropped":1},
		{"event":"paid","reached":0,"of_previous":null,"of_first":0,"dropped":0}]}`)

	f, err = query.AndCount(t.Context(), db, query.All(), "never", "paid")
	wantJSON(t, f, err, `{"as_of":"2026-02-10","open":0,"expected_false_overlap":0,"steps":[
		{"event":"never","reached":0,"of_previous":null,"of_first":null,"dropped":null},
		{"event":"paid","reached":0,"of_previous":null,"of_first":null,"dropped":0}]}`)

	// Marks after as-of are not read, given or not; an event keeps its name
	// even where it looks like an expression.
	steps := []query.Step{query.TextStep("seen - registered[..2025]"), query.TextStep("paid"), query.TextStep("odd[7d]")}
	f, err = query.Funnel(t.Context(), db, steps, query.FunnelOptions{})
	wantJSON(t, reached(f), err, `[6,2,0]`)
	f, err = query.Funnel(t.Context(), db, steps[:2], query.FunnelOptions{AsOf: new(day("2026-01-19"))})
	wantJSON(t, reached(f), err, `[6,0]`)

	snap, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	for text, want := range map[string]string{
		"paid": "", "odd[7d]": "", "never": "", "not yet & here": "", "a=b": "", "level=": "",
		"even[7d] & odd[8d]": "even[7d] & odd[8d]", "seen": "seen", "seen(USR)": "seen(USR)", "@x - y[7d]": "@x - y[7d]",
		"level>=10": "level>=10", `"at desk" = 3..7 & seen`: `"at desk"=3..7 & seen`, "every(odd[7d])": "every(odd[7d])",
	} {
		x, err := query.EventOrSet(snap, text)
		if got := fmt.Sprint(x); err != nil || got != want && (x != nil || want != "") {
			t.Errorf("%s is %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"paid[7", "@", "even@", "seen(signup)", "every(paid)", "level>=10 & paid[", strings.Repeat("a[7d] | ", 60)} {
		if x, err := query.EventOrSet(snap, text); !errors.Is(err, query.ErrUsage) {
			t.Errorf("%s is %v, %v", text, x, err)
		}
	}
	for _, text := range []string{"", "a\nb", strings.Repeat("a", 256)} {
		if x, err := query.EventOrSet(snap, text); !errors.Is(err, store.ErrInvalidEvent) {
			t.Errorf("%s is %v, %v", text, x, err)
		}
	}
	f, err = query.AndCount(t.Context(), db, query.All(), "registered", "seen")
	wantJSON(t, reached(f), err, `[4,0]`)
	f, err = query.Funnel(t.Context(), db, []query.Step{query.TextStep("registered"), query.TextStep("seen - level<3")}, query.FunnelOptions{})
	wantJSON(t, reached(f), err, `[4,4]`)
}

func reached(f *query.FunnelReport) []uint64 {
	if f == nil {
		return nil
	}
	var n []uint64
	for _, s := range f.Steps {
		n = append(n, s.Reached)
	}
	return n
}

func TestFalseOverlap(t *testing.T) {
	db := openStore(t, "2026-02-10", store.Options{Positions: store.Hashed})
	for n := range uint64(40) {
		marks(t, db, "a", "2026-01-05", branded("PLR", n))
		if n < 30 {
			marks(t, db, "b", "2026-01-06", branded("PLR", 5*n))
			marks(t, db, "c", "2026-01-06", branded("PLR", n))
		}
	}
	const m = 1 << 32
	// The prefix a & b has 8 ids, so the widest pair is a and b.
	f, err := query.AndCount(t.Context(), db, query.All(), "a", "b", "c")
	if err != nil || f.ExpectedFalseOverlap != 40*30.0/m {
		t.Errorf("funnel: got %v, %v", f, err)
	}
	r, err := query.Retention(t.Context(), db, "a", query.RetentionOptions{Return: "b"})
	if err != nil || r.ExpectedFalseOverlap != 40*30.0/m {
		t.Errorf("retention: got %v, %v", r, err)
	}
	s, err := query.Size(t.Context(), db, parse(t, "a[all] | b[all]"))
	if want := placement.ExpectedColliding(62); err != nil || s.Count != 62 || s.ExpectedCollisions < want*0.999 || s.ExpectedCollisions > want*1.001 {
		t.Errorf("size: got %v, %v, want collisions %g", s, err, want)
	}
}

func TestActiveReport(t *testing.T) {
	db := numbers(t, "2026-02-03")
	marks(t, db, "active", "2026-01-30", "1 2 3")
	marks(t, db, "active", "2026-02-01", "1 4")
	marks(t, db, "active", "2026-02-03", "5")
	marks(t, db, "active", "2026-02-04", "6 7")

	r, err := query.Active(t.Context(), db, "active", query.ActiveOptions{From: query.Day(day("2026-01-31")), Trailing: []int{2, 28}})
	wantJSON(t, r, err, `{"as_of":"2026-02-03","rows":[
		{"period":"2026-01-31","active":0,"w2":3,"w28":3,"stickiness":0,"incomplete":false},
		{"period":"2026-02-01","active":2,"w2":2,"w28":4,"stickiness":0.5,"incomplete":false},
		{"period":"2026-02-02","active":0,"w2":2,"w28":4,"stickiness":0,"incomplete":false},
		{"period":"2026-02-03","active":1,"w2":1,"w28":5,"stickiness":0.2,"incomplete":true},
		{"period":"2026-02-04","active":0,"w2":0,"w28":0,"stickiness":null,"incomplete":true}],
		"mean_stickiness":0.16666666666666666}`)

	r, err = query.Active(t.Context(), db, "active", query.ActiveOptions{By: query.ByMonth, Trailing: []int{7}, To: query.Month(2026, 3)})
	wantJSON(t, r, err, `{"as_of":"2026-02-03","rows":[
		{"period":"2026-01","active":3,"incomplete":false},
		{"period":"2026-02","active":3,"incomplete":true},
		{"period":"2026-03","active":0,"incomplete":true}]}`)

	r, err = query.Active(t.Context(), db, "active", query.ActiveOptions{By: query.ByWeek, AsOf: new(day("2026-02-01"))})
	wantJSON(t, r, err, `{"as_of":"2026-02-01","rows":[
		{"period":"2026-W05","active":4,"incomplete":false},
		{"period":"2026-W06","active":0,"incomplete":true}]}`)

	r, err = query.Active(t.Context(), db, "never", query.ActiveOptions{})
	wantJSON(t, r, err, `{"as_of":"2026-02-03","rows":[]}`)
	r, err = query.Active(t.Context(), db, "never", query.ActiveOptions{From: query.Day(day("2026-02-01")), To: query.Day(day("2026-02-01"))})
	wantJSON(t, r, err, `{"as_of":"2026-02-03","rows":[
		{"period":"2026-02-01","active":0,"w7":0,"w30":0,"stickiness":null,"incomplete":false}],"mean_stickiness":null}`)
}

// TestTrailingWindows slides windows over marks of which the answer is plain: id n
// is marked on day n only, so a window of w days holds w ids.
func TestTrailingWindows(t *testing.T) {
	db := numbers(t, "2026-12-31")
	first := day("2026-01-01")
	var all []store.Mark
	for n := range store.Day(200) {
		all = append(all, store.Mark{Event: "active", ID: fmt.Sprint(int(n) << 12), Day: first + n})
	}
	if _, err := db.MarkMany(t.Context(), slices.Values(all)); err != nil {
		t.Fatal(err)
	}
	for from := first; from < first+210; from += 7 {
		r, err := query.Active(t.Context(), db, "active", query.ActiveOptions{
			From: query.Day(from), To: query.Day(first + 240), Trailing: []int{1, 7, 30, 100}})
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range r.Rows {
			n := int(from-first) + i // the row's day
			for _, w := range row.Trailing {
				want := max(0, min(n, 199)-max(0, n-w.Days+1)+1)
				if w.Active != uint64(want) {
					t.Fatalf("from %v, %v, %d days: got %d, want %d", from, row.Period, w.Days, w.Active, want)
				}
			}
		}
	}
}

func TestRetentionReport(t *testing.T) {
	db := numbers(t, "2026-01-08")
	marks(t, db, "active", "2026-01-05", "1 2 3 4")
	marks(t, db, "active", "2026-01-06", "1 2 5")
	marks(t, db, "active", "2026-01-07", "1 5 6")
	marks(t, db, "active", "2026-01-08", "1 7")
	marks(t, db, "paid", "2026-01-06", "1")
	marks(t, db, "paid", "2026-01-07", "2 5 6")

	r, err := query.Retention(t.Context(), db, "active", query.RetentionOptions{})
	wantJSON(t, r, err, `{"as_of":"2026-01-08","expected_false_overlap":0,"cohorts":[
		{"period":"2026-01-05","size":4,"cells":[
			{"count":4,"rate":1,"incomplete":false},{"count":2,"rate":0.5,"incomplete":false},
			{"count":1,"rate":0.25,"incomplete":false},{"count":null,"rate":null,"incomplete":true}]},
		{"period":"2026-01-06","size":1,"cells":[
			{"count":1,"rate":1,"incomplete":false},{"count":1,"rate":1,"incomplete":false},
			{"count":null,"rate":null,"incomplete":true},{"count":null,"rate":null,"incomplete":true}]},
		{"period":"2026-01-07","size":1,"cells":[
			{"count":1,"rate":1,"incomplete":false},{"count":null,"rate":null,"incomplete":true},
			{"count":null,"rate":null,"incomplete":true},{"count":null,"rate":null,"incomplete":true}]},
		{"period":"2026-01-08","size":1,"cells":[
			{"count":null,"rate":null,"incomplete":true},{"count":null,"rate":null,"incomplete":true},
			{"count":null,"rate":null,"incomplete":true},{"count":null,"rate":null,"incomplete":true}]}],
		"mean":[{"rate":1,"cohorts":3},{"rate":0.6,"cohorts":2},{"rate":0.25,"cohorts":1},{"rate":null,"cohorts":0}]}`)

	// Another event to come back by: offset 0 is not 100 %.
	r, err = query.Retention(t.Context(), db, "active", query.RetentionOptions{
		Return: "paid", Periods: 2, Cohort: query.CohortEach, To: query.Day(day("2026-01-07")), SimpleMean: true})
	wantJSON(t, r, err, `{"as_of":"2026-01-08","expected_false_overlap":0,"cohorts":[
		{"period":"2026-01-05","size":4,"cells":[
			{"count":0,"rate":0,"incomplete":false},{"count":1,"rate":0.25,"incomplete":false}]},
		{"period":"2026-01-06","size":3,"cells":[
			{"count":1,"rate":0.3333333333333333,"incomplete":false},{"count":2,"rate":0.6666666666666666,"incomplete":false}]},
		{"period":"2026-01-07","size":3,"cells":[
			{"count":2,"rate":0.6666666666666666,"incomplete":false},{"count":null,"rate":null,"incomplete":true}]}],
		"mean":[{"rate":0.3333333333333333,"cohorts":3},{"rate":0.4583333333333333,"cohorts":2}]}`)

	b, err := query.RetentionBetween(t.Context(), db, "active", day("2026-01-05"), day("2026-01-06"))
	wantJSON(t, b, err, `{"from":"2026-01-05","to":"2026-01-06","size":4,"count":2,"rate":0.5,"incomplete":false,"expected_false_overlap":0}`)
	b, err = query.RetentionBetween(t.Context(), db, "active", day("2026-01-05"), day("2026-01-08"))
	wantJSON(t, b, err, `{"from":"2026-01-05","to":"2026-01-08","size":4,"count":null,"rate":null,"incomplete":true,"expected_false_overlap":0}`)
	b, err = query.RetentionBetween(t.Context(), db, "never", day("2026-01-05"), day("2026-01-06"))
	wantJSON(t, b, err, `{"from":"2026-01-05","to":"2026-01-06","size":0,"count":0,"rate":null,"incomplete":false,"expected_false_overlap":0}`)
}
