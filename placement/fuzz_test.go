package placement_test

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"cohort/placement"
)

var brandedShape = regexp.MustCompile(`\A[A-Z]{3}[0-9A-Za-z]{11}\z`)

// snowflakeOf decodes a branded id by other means: math/big, whose base 62 has
// the lower-case digits before the upper-case ones.
func snowflakeOf(id string) (snowflake uint64, ok bool) {
	if !brandedShape.MatchString(id) {
		return 0, false
	}
	swapped := strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, id[3:])
	n, ok := new(big.Int).SetString(swapped, 62)
	if !ok || n.BitLen() > 63 {
		return 0, false
	}
	return n.Uint64(), true
}

func FuzzParseBranded(f *testing.F) {
	for _, id := range []string{
		"", "USR0KHTOWnGLuC", "AAA00000000000", "ZZZAzL8n0Y58m7", "USRAzL8n0Y58m8",
		"USRLygHa16AHYG", "USRzzzzzzzzzzz", "USR0KHTOWnGL-C", "ÜSR0KHTOWnGLu", "USR0KHTOWnGLu\x00",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		want, ok := snowflakeOf(id)
		got, err := placement.ParseBranded(id)
		if !ok {
			checkRefused(t, err, id, "")
			return
		}
		if err != nil || got.Snowflake != want || got.String() != id {
			t.Fatalf("ParseBranded(%q) = %v, %v, want snowflake %d", id, got, err, want)
		}
		checkKind(t, placement.Branded, id, got.Brand, got.Mixed())
	})
}

func FuzzParseNumber(f *testing.F) {
	for _, id := range []string{
		"", "0", "00", "7", "007", "-1", "+1", "4294967295", "4294967296", "18446744073709551616", "1\xff",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		want, err := strconv.ParseUint(id, 10, 32)
		ok := err == nil && strconv.FormatUint(want, 10) == id
		got, err := placement.ParseNumber(id)
		if !ok {
			checkRefused(t, err, id, "")
			return
		}
		if err != nil || uint64(got) != want {
			t.Fatalf("ParseNumber(%q) = %d, %v, want %d", id, got, err, want)
		}
		checkKind(t, placement.Number, id, placement.Brand{}, placement.Join(got, 0))
	})
}

func FuzzParseString(f *testing.F) {
	for _, id := range []string{
		"", "a", "0f8fad5b-d9cb-469f-a165-70867728950e", "купил", "\x00", "\u0085", "\x7f", "\xff", "\ufffd",
		strings.Repeat("x", 255), strings.Repeat("x", 256),
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		ok := len(id) >= 1 && len(id) <= 255 && utf8.ValidString(id) &&
			!strings.ContainsFunc(id, unicode.IsControl)
		brand, mixed, err := placement.String.Parse(id)
		if !ok {
			checkRefused(t, err, id, "")
			return
		}
		if err != nil || !brand.IsZero() || mixed != placement.MixString(id) {
			t.Fatalf("String.Parse(%q) = %v, %d, %v", id, brand, mixed, err)
		}
		if got, ok := placement.String.Format(brand, mixed); ok || got != "" {
			t.Fatalf("String.Format = %q, %t", got, ok)
		}
	})
}
