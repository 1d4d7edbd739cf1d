package ingest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cohort/cmd/cohort/internal/ingest"
	"cohort/placement"
	"cohort/store"
)

// fake takes ids of a kind as a store does: it checks the event, the id, the day
// and the brand, in this order.
type fake struct {
	kind  placement.Kind
	today store.Day
}

func (f fake) Add(event, id string, day store.Day) error {
	if err := store.CheckEvent(event); err != nil {
		return err
	}
	brand, _, err := f.kind.Parse(id)
	switch {
	case err != nil:
		return err
	case day > f.today:
		return store.ErrFutureDay
	case f.kind == placement.Branded && brand.String() != "PLR":
		return &store.BrandError{Event: event, ID: id, OffendBrand: brand}
	}
	return nil
}

func TestRefusals(t *testing.T) {
	const id, day = "PLR0KHTOWnGLuC", "2026-01-30"
	long := strings.Repeat("x", 256)
	for _, test := range []struct {
		kind placement.Kind
		row  string
		want ingest.Reason
	}{
		{placement.Branded, id + ",played," + day, ""},
		{placement.Branded, id + ",pläyed," + day + ",\xff", ""}, // a column that is not asked for
		{placement.String, " anna ,played," + day, ""},
		{placement.String, "null,played," + day, ""},
		{placement.String, long[1:] + ",played," + day, ""},
		{placement.String, "a," + long[1:] + "," + day, ""},

		{placement.Branded, "\xff\"," + long + ",noon", ingest.BadRow},
		{placement.Branded, "\xff,,noon", ingest.InvalidUTF8},
		{placement.Branded, ",\xff,noon", ingest.InvalidUTF8},
		{placement.Branded, ",,noon\xff", ingest.InvalidUTF8},
		{placement.Branded, ",,noon", ingest.BadTime},
		{placement.Branded, ",,01/02/2026", ingest.AmbiguousTime},
		{placement.Branded, ",," + day, ingest.BadEvent},
		{placement.Branded, ",a\x00b," + day, ingest.BadEvent},
		{placement.Branded, "," + long + "," + day, ingest.TooLong},
		{placement.Branded, ",played,9999-12-31", ingest.EmptyID},
		{placement.String, " \u00a0,played,9999-12-31", ingest.EmptyID},
		{placement.Number, " ,played,9999-12-31", ingest.EmptyID},
		{placement.Branded, "bad,played,9999-12-31", ingest.BadID},
		{placement.Branded, " " + id + ",played," + day, ingest.BadID},
		{placement.Branded, long + ",played," + day, ingest.BadID},
		{placement.String, long + ",played," + day, ingest.TooLong},
		{placement.String, "a\x7f,played," + day, ingest.BadID},
		{placement.Number, "007,played," + day, ingest.BadID},
		{placement.Branded, "USR0KHTOWnGLuC,played,9999-12-31", ingest.FutureDay},
		{placement.Branded, "USR0KHTOWnGLuC,played," + day, ingest.OtherBrand},
	} {
		cols := ingest.Columns{ID: "1", Event: "2", Time: "3", NoHeader: true}
		f, err := ingest.Open("file", "csv", strings.NewReader(test.row), cols)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for b, err := range batches(t, f, 1) {
			if err != nil {
				t.Fatalf("%q: %v", test.row, err)
			}
			for _, m := range b.Marks {
				n++
				if m.Refused == nil {
					if err := m.Add(fake{test.kind, store.Date(2026, 2, 1)}, test.kind); err != nil {
						t.Errorf("%v, %q: %v", test.kind, test.row, err)
						continue
					}
				}
				var got ingest.Reason
				if m.Refused != nil {
					got = m.Refused.Reason
				}
				if got != test.want {
					t.Errorf("%v, %q: refused for %q, want %q", test.kind, test.row, got, test.want)
				}
			}
		}
		if n != 1 {
			t.Errorf("%q: %d rows", test.row, n)
		}
	}
}

type broken struct{ err error }

func (b broken) Add(string, string, store.Day) error { return b.err }

// An error that is not the row's fault is not a refusal.
func TestAddFails(t *testing.T) {
	full := errors.New("disk full")
	m := ingest.Mark{Event: "played", ID: "PLR0KHTOWnGLuC"}
	err := m.Add(broken{fmt.Errorf("commit: %w", full)}, placement.Branded)
	if !errors.Is(err, full) || m.Refused != nil {
		t.Errorf("%v, %+v", err, m.Refused)
	}
}
