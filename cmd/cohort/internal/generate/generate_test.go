package generate_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"cohort/cmd/cohort/internal/generate"
	"cohort/placement"
	"cohort/store"

	"pgregory.net/rapid"
)

// sum returns the SHA-256 of the rows as CSV.
func sum(t *testing.T, o generate.Options) string {
	t.Helper()
	rows, err := generate.Rows(o.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	if _, err := generate.WriteCSV(t.Context(), hash, rows); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// The rows of some options stay what they are: in every version, on every machine.
func TestFrozen(t *testing.T) {
	for _, test := range []struct {
		o    generate.Options
		want string
	}{
		{generate.Options{Seed: 1, IDs: 3000}, "5dcaea3d84d037bdc9b051b8420088f09f5268b9e8f2cbcd72e8dab6f98e5a0c"},
		{generate.Options{Seed: 2, IDs: 1000, From: store.Date(2024, time.February, 20), Days: 20, Brand: placement.Brand{'U', 'S', 'R'}}, "9248098ebe7924f0239194e7219e61d75ecb619374af758aa1ab6036a3a09501"},
	} {
		if got := sum(t, test.o); got != test.want {
			t.Errorf("%+v: SHA-256 %s, want %s", test.o, got, test.want)
		}
	}
}

func TestSeeds(t *testing.T) {
	a, again, b := sum(t, generate.Options{Seed: 1, IDs: 500}), sum(t, generate.Options{Seed: 1, IDs: 500}), sum(t, generate.Options{Seed: 2, IDs: 500})
	if a != again {
		t.Error("one seed made different rows")
	}
	if a == b {
		t.Error("two seeds made the same rows")
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []generate.Options{
		{IDs: -1}, {IDs: generate.MaxIDs + 1}, {Days: -1}, {Days: generate.MaxDays + 1},
		{From: generate.MinFrom - 1}, {From: generate.MaxFrom + 1}, {Brand: placement.Brand{'u', 's', 'r'}},
	} {
		if _, err := generate.Rows(o.Defaults()); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if _, err := generate.Rows(generate.Options{}); err == nil {
		t.Error("options that are not set: no error")
	}
	got := generate.Options{}.Defaults().Period()
	want := store.Period{First: store.Date(2026, time.January, 1), Last: store.Date(2026, time.January, 31)}
	if got != want {
		t.Errorf("period %v, want %v", got, want)
	}
}

// Rows hold together: they are in order of time and within the days; there are as
// many ids as asked for; each registers at most once, at the time its id was made,
// before all else it does; none plays before it is active, or pays before it
// plays, on the same day.
func TestRowsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := generate.Options{
			Seed:  rapid.Uint64().Draw(t, "seed"),
			IDs:   rapid.IntRange(1, 400).Draw(t, "ids"),
			Days:  rapid.IntRange(1, 40).Draw(t, "days"),
			From:  generate.MinFrom + store.Day(rapid.IntRange(0, int(generate.MaxFrom-generate.MinFrom)).Draw(t, "from")),
			Brand: placement.Brand{'X', 'Y', 'Z'},
		}
		rows, err := generate.Rows(o)
		if err != nil {
			t.Fatal(err)
		}
		last := o.From.Time()
		end := (o.From + store.Day(o.Days)).Time()
		seen := map[string]map[string]time.Time{} // the last time of each event of an id
		for row := range rows {
			if row.Time.Before(last) || !row.Time.Before(end) {
				t.Fatalf("%v after %v, before the end at %v", row, last, end)
			}
			last = row.Time
			if seen[row.ID] == nil {
				seen[row.ID] = map[string]time.Time{}
			}
			checkRow(t, o, row, seen[row.ID])
			seen[row.ID][row.Event] = row.Time
		}
		if len(seen) != o.IDs {
			t.Errorf("%d ids, want %d", len(seen), o.IDs)
		}
	})
}

// checkRow checks a row against what its id did before.
func checkRow(t *rapid.T, o generate.Options, row generate.Row, before map[string]time.Time) {
	id, err := placement.ParseBranded(row.ID)
	if err != nil || id.Brand != o.Brand {
		t.Fatalf("%v: %v", row, err)
	}
	made := time.Date(2010, time.January, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(id.Snowflake>>22) * time.Millisecond)
	isNew := !made.Before(o.From.Time())
	today := func(event string) bool {
		at, ok := before[event]
		return ok && at.YearDay() == row.Time.YearDay() && at.Year() == row.Time.Year()
	}
	switch row.Event {
	case generate.Registered:
		if len(before) > 0 || !row.Time.Equal(made) {
			t.Fatalf("%v: made at %v, had done %v", row, made, before)
		}
	case generate.Active:
		if _, ok := before[generate.Registered]; ok != isNew {
			t.Fatalf("%v: made at %v, had done %v", row, made, before)
		}
	case generate.Played:
		if !today(generate.Active) {
			t.Fatalf("%v: had done %v", row, before)
		}
	case generate.Paid:
		if !today(generate.Played) {
			t.Fatalf("%v: had done %v", row, before)
		}
	default:
		t.Fatalf("%v: no such event", row)
	}
}

// A loop may end early, and begin anew.
func TestBreak(t *testing.T) {
	rows, err := generate.Rows(generate.Options{IDs: 100}.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	var first [2][]generate.Row
	for i := range first {
		for row := range rows {
			if first[i] = append(first[i], row); len(first[i]) == 5 {
				break
			}
		}
	}
	for i, got := range first[0] {
		if want := first[1][i]; got != want {
			t.Errorf("row %d: %v, then %v", i, got, want)
		}
	}
}

func TestWriteCSVEnds(t *testing.T) {
	rows, err := generate.Rows(generate.Options{IDs: 2000}.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := generate.WriteCSV(ctx, io.Discard, rows); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled context: %d rows, error %v", n, err)
	}
	full := errors.New("full")
	if _, err := generate.WriteCSV(t.Context(), failing{full}, rows); !errors.Is(err, full) {
		t.Errorf("a writer that fails: error %v", err)
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

func ExampleRows() {
	rows, err := generate.Rows(generate.Options{Seed: 1, IDs: 1000, Days: 7}.Defaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	n := 0
	for row := range rows {
		fmt.Println(row.ID, row.Event, row.Time.Format(time.DateTime))
		if n++; n == 3 {
			break
		}
	}
	// Output:
	// PLR2OAlcdyeu6C active 2026-01-01 00:03:58
	// PLR2OAlcdyeu6C played 2026-01-01 00:10:11
	// PLR2VhK4fTrWtc active 2026-01-01 00:11:23
}

func ExampleWriteCSV() {
	rows, err := generate.Rows(generate.Options{Seed: 1, IDs: 3, Days: 1}.Defaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	var text bytes.Buffer
	n, err := generate.WriteCSV(context.Background(), &text, rows)
	fmt.Println(n, "rows", err)
	_, _ = text.WriteTo(os.Stdout)
	// Output:
	// 4 rows <nil>
	// id,event,time
	// PLR2KOdmI6Vb7I,active,2026-01-01T07:55:56Z
	// PLR2WSjBjd3nwu,registered,2026-01-01T17:26:57Z
	// PLR2WSjBjd3nwu,active,2026-01-01T17:26:57Z
	// PLR2H76GHe8pXM,active,2026-01-01T19:59:29Z
}

func BenchmarkWriteCSV(b *testing.B) {
	rows, err := generate.Rows(generate.Options{IDs: 20_000}.Defaults())
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		if n, err = generate.WriteCSV(b.Context(), io.Discard, rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
}
