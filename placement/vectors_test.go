package placement_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cohort/placement"
)

// rows returns the tab-separated rows of a file in testdata, without comments.
func rows(t *testing.T, name string, columns int) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		row := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(row) != columns {
			t.Fatalf("%s: %q has %d columns, want %d", name, line, len(row), columns)
		}
		out = append(out, row)
	}
	if len(out) == 0 {
		t.Fatalf("%s has no rows", name)
	}
	return out
}

func parseUint(t *testing.T, s string, base, bits int) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(s, base, bits)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestVectorsBranded(t *testing.T) {
	for _, row := range rows(t, "placement.tsv", 6) {
		id := row[0]
		brand, err := placement.ParseBrand(row[1])
		if err != nil {
			t.Fatal(err)
		}
		snowflake := parseUint(t, row[2], 10, 64)
		mixed := placement.Mixed(parseUint(t, row[3], 16, 64))
		place := uint32(parseUint(t, row[4], 10, 32))
		residue := uint32(parseUint(t, row[5], 10, 32))
		want := placement.BrandedID{Brand: brand, Snowflake: snowflake}

		got, err := placement.ParseBranded(id)
		if err != nil || got != want {
			t.Errorf("ParseBranded(%q) = %v, %v, want %v", id, got, err, want)
		}
		if got := want.String(); got != id {
			t.Errorf("String of %q = %q", id, got)
		}
		if got := want.Mixed(); got != mixed {
			t.Errorf("%s: mixed %016x, want %016x", id, uint64(got), uint64(mixed))
		}
		if mixed.Placement() != place || mixed.Residue() != residue {
			t.Errorf("%s: placement %d residue %d, want %d and %d",
				id, mixed.Placement(), mixed.Residue(), place, residue)
		}
		if got := placement.Join(place, residue); got != mixed {
			t.Errorf("%s: Join = %016x, want %016x", id, uint64(got), uint64(mixed))
		}
		if got := mixed.Snowflake(); got != snowflake {
			t.Errorf("%s: snowflake back %d, want %d", id, got, snowflake)
		}
		checkKind(t, placement.Branded, id, brand, mixed)
	}
}

func TestVectorsCollisions(t *testing.T) {
	for _, row := range rows(t, "collisions.tsv", 3) {
		want := uint32(parseUint(t, row[2], 10, 32))
		var ids [2]placement.BrandedID
		for i := range ids {
			var err error
			if ids[i], err = placement.ParseBranded(row[i]); err != nil {
				t.Fatal(err)
			}
			if got := ids[i].Mixed().Placement(); got != want {
				t.Errorf("%s: placement %d, want %d", row[i], got, want)
			}
		}
		if a, b := ids[0].Mixed().Residue(), ids[1].Mixed().Residue(); a == b {
			t.Errorf("%s and %s share the residue %d", row[0], row[1], a)
		}
		if ids[0].Brand != ids[1].Brand {
			t.Errorf("%s and %s are of two brands", row[0], row[1])
		}
	}
}

func TestVectorsInvalid(t *testing.T) {
	// The texts for reasons that the rows put in other words.
	reasons := map[string]string{
		"payload is 2^63, one past the largest snowflake": "payload exceeds a signed 64-bit snowflake",
		"NUL is not base62": `'\x00' is not base62`,
	}
	for _, row := range rows(t, "invalid_ids.tsv", 2) {
		id, err := strconv.Unquote(row[0])
		if err != nil {
			t.Fatal(err)
		}
		reason := row[1]
		if r, ok := reasons[reason]; ok {
			reason = r
		}
		_, err = placement.ParseBranded(id)
		checkRefused(t, err, id, reason)
		_, _, err = placement.Branded.Parse(id)
		checkRefused(t, err, id, reason)
	}
}

func TestVectorsString(t *testing.T) {
	for _, row := range rows(t, "strings.tsv", 4) {
		s := row[0]
		mixed := placement.Mixed(parseUint(t, row[1], 16, 64))
		place := uint32(parseUint(t, row[2], 10, 32))
		residue := uint32(parseUint(t, row[3], 10, 32))

		if got := placement.MixString(s); got != mixed {
			t.Errorf("MixString(%q) = %016x, want %016x", s, uint64(got), uint64(mixed))
		}
		if got := placement.Join(place, residue); got != mixed {
			t.Errorf("%q: Join = %016x, want %016x", s, uint64(got), uint64(mixed))
		}
		brand, got, err := placement.String.Parse(s)
		if err != nil || !brand.IsZero() || got != mixed {
			t.Errorf("String.Parse(%q) = %v, %016x, %v", s, brand, uint64(got), err)
		}
	}
}

func TestCheckFrozen(t *testing.T) {
	if err := placement.CheckFrozen(); err != nil {
		t.Error(err)
	}
}
