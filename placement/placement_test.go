package placement_test

import (
	"encoding"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"cohort/placement"
)

var _ encoding.TextAppender = placement.BrandedID{}

// newRand returns a random source whose seed a failing test prints.
func newRand(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// checkRefused checks that err refuses the id for the reason.
func checkRefused(t *testing.T, err error, id, reason string) {
	t.Helper()
	if err == nil {
		t.Errorf("%q was not refused, want %q", id, reason)
		return
	}
	if !errors.Is(err, placement.ErrInvalidID) {
		t.Errorf("%q: %v is not ErrInvalidID", id, err)
	}
	invalid, ok := errors.AsType[*placement.InvalidIDError](err)
	if !ok || invalid.ID != id {
		t.Errorf("%q: error %#v does not hold the id", id, err)
	}
	text := err.Error()
	if len(id) <= 64 && !strings.Contains(text, strconv.Quote(id)) {
		t.Errorf("%q: error %q does not name the id", id, text)
	}
	if !strings.Contains(text, reason) {
		t.Errorf("%q: error %q does not say %q", id, text, reason)
	}
}

// checkKind checks that the kind takes the id to brand and mixed, and back.
func checkKind(t *testing.T, kind placement.Kind, id string, brand placement.Brand, mixed placement.Mixed) {
	t.Helper()
	b, m, err := kind.Parse(id)
	if err != nil || b != brand || m != mixed {
		t.Errorf("%v.Parse(%q) = %v, %d, %v, want %v, %d", kind, id, b, m, err, brand, mixed)
	}
	if got, ok := kind.Format(brand, mixed); !ok || got != id {
		t.Errorf("%v.Format(%v, %d) = %q, %t, want %q", kind, brand, mixed, got, ok, id)
	}
	if got, ok := kind.AppendFormat([]byte("x"), brand, mixed); !ok || string(got) != "x"+id {
		t.Errorf("%v.AppendFormat(%v, %d) = %q, %t, want %q", kind, brand, mixed, got, ok, "x"+id)
	}
}

func TestParseBrand(t *testing.T) {
	for _, s := range []string{"", "AAA", "USR", "ZZZ"} {
		b, err := placement.ParseBrand(s)
		if err != nil || b.String() != s || b.IsZero() != (s == "") {
			t.Errorf("ParseBrand(%q) = %v, %v", s, b, err)
		}
	}
	for _, s := range []string{
		"US", "USRS", "usr", "U1R", "US@", "US[", " US", "U\x00\x00", "\x00\x00\x00", "ÜS", "É",
		strings.Repeat("USR", 100),
	} {
		b, err := placement.ParseBrand(s)
		if !errors.Is(err, placement.ErrInvalidBrand) || !b.IsZero() {
			t.Errorf("ParseBrand(%q) = %v, %v, want an error", s, b, err)
		}
		if err != nil && (len(err.Error()) > 150 || !strings.Contains(err.Error(), strconv.Quote(s[:min(len(s), 64)]))) {
			t.Errorf("ParseBrand(%q): error %q", s, err)
		}
	}
	if got, want := (placement.Brand{'u', 0, '"'}).String(), `Brand("u\x00\"")`; got != want {
		t.Errorf("String of a Brand that is none = %s, want %s", got, want)
	}
}

func TestParseBrandedRefuses(t *testing.T) {
	for _, test := range []struct{ id, reason string }{
		{"U", "has 1 characters, a branded id has 14"},
		{"@SR0KHTOWnGLuC", "brand not upper case"},
		{"US[0KHTOWnGLuC", "brand not upper case"},
		{"US\x000KHTOWnGLuC", "brand not upper case"},
		{"\x00\x00\x0000000000000", "brand not upper case"},
		{"USR/0000000000", "'/' is not base62"},
		{"USR0000:000000", "':' is not base62"},
		{"USR000000@0000", "'@' is not base62"},
		{"USR0000[000000", "'[' is not base62"},
		{"USR0000000000`", "'`' is not base62"},
		{"USR000000000{0", "'{' is not base62"},
		{"USR\x00KHTOWnGLuC", `'\x00' is not base62`},
		{"USR0KHTOWnGLu\x7f", `'\x7f' is not base62`},
		{"USR0KHTOWnGLu\n", `'\n' is not base62`},
		{"USR0KHTOWnGLu\xff", "not ASCII"},
		{"USR0KHTOWnGL\u00e9", "not ASCII"},
		{"USR0KHTOWnGLuC\u00e9", "not ASCII"},
		// 2⁶³ and its neighbours, then values that wrap modulo 2⁶⁴ to small ones.
		{"USRAzL8n0Y58m8", "payload exceeds"},
		{"USRAzL8n0Y58mz", "payload exceeds"},
		{"USRAzL8n0Y58n0", "payload exceeds"},
		{"USRB0000000000", "payload exceeds"},
		{"USRLygHa16AHYF", "payload exceeds"}, // 2⁶⁴ − 1
		{"USRLygHa16AHYG", "payload exceeds"}, // 2⁶⁴
		{"USRLygHa16AHYH", "payload exceeds"}, // 2⁶⁴ + 1
		{"USRhyN0C2CFEX0", "payload exceeds"}, // 2 · 2⁶⁴ + a little
		{"USRz0000000000", "payload exceeds"},
	} {
		id, err := placement.ParseBranded(test.id)
		checkRefused(t, err, test.id, test.reason)
		if id != (placement.BrandedID{}) {
			t.Errorf("ParseBranded(%q) = %v with an error", test.id, id)
		}
	}
}

func TestBrandedIDInvalid(t *testing.T) {
	usr := placement.Brand{'U', 'S', 'R'}
	for _, test := range []struct {
		id           placement.BrandedID
		text, reason string
	}{
		{placement.BrandedID{Brand: usr, Snowflake: 1 << 63}, `BrandedID("USR", 9223372036854775808)`, "payload exceeds"},
		{placement.BrandedID{Brand: usr, Snowflake: math.MaxUint64}, `BrandedID("USR", 18446744073709551615)`, "payload exceeds"},
		{placement.BrandedID{Snowflake: 1}, `BrandedID("\x00\x00\x00", 1)`, "brand not upper case"},
		{placement.BrandedID{Brand: placement.Brand{'u', 's', 'r'}}, `BrandedID("usr", 0)`, "brand not upper case"},
	} {
		if got := test.id.String(); got != test.text {
			t.Errorf("String() = %s, want %s", got, test.text)
		}
		out, err := test.id.AppendText([]byte("x"))
		checkRefused(t, err, test.text, test.reason)
		if string(out) != "x" {
			t.Errorf("AppendText of %v = %q with an error", test.id, out)
		}
	}
}

func TestParseNumber(t *testing.T) {
	for _, s := range []string{"0", "1", "9", "10", "23570", "999999999", "4294967294", "4294967295"} {
		want := uint32(parseUint(t, s, 10, 32))
		if got, err := placement.ParseNumber(s); err != nil || got != want {
			t.Errorf("ParseNumber(%q) = %d, %v", s, got, err)
		}
		checkKind(t, placement.Number, s, placement.Brand{}, placement.Join(want, 0))
	}
	for _, test := range []struct{ id, reason string }{
		{"", "empty"},
		{"00", "leading zero"},
		{"007", "leading zero"},
		{"00000000000", "leading zero"},
		{"-1", "'-' is not a decimal digit"},
		{"+1", "'+' is not a decimal digit"},
		{"1.0", "'.' is not a decimal digit"},
		{"1e3", "'e' is not a decimal digit"},
		{"0x1", "'x' is not a decimal digit"},
		{"1_000", "'_' is not a decimal digit"},
		{" 1", "' ' is not a decimal digit"},
		{"1\x00", `'\x00' is not a decimal digit`},
		{"1٣", "'٣' is not a decimal digit"},
		{"1\xff", "byte 0xff is not a decimal digit"},
		{"4294967296", "use string ids"},
		{"9999999999", "use string ids"},
		{"10000000000", "use string ids"},
		{"18446744073709551616", "use string ids"},
		{strings.Repeat("9", 1000), "use string ids"},
	} {
		_, err := placement.ParseNumber(test.id)
		checkRefused(t, err, test.id, test.reason)
		_, _, err = placement.Number.Parse(test.id)
		checkRefused(t, err, test.id, test.reason)
	}
}

func TestValidateString(t *testing.T) {
	for _, s := range []string{
		"a", " ", "00001", "\u00a0", "\ufffd", "\U0010ffff", "e\u0301", "купил",
		strings.Repeat("x", 255), strings.Repeat("€", 85),
	} {
		if err := placement.ValidateString(s); err != nil {
			t.Errorf("ValidateString(%q) = %v", s, err)
		}
	}
	for _, test := range []struct{ id, reason string }{
		{"", "empty"},
		{strings.Repeat("x", 256), "has 256 bytes, a string id has at most 255"},
		{strings.Repeat("€", 86), "has 258 bytes"},
		{"a\x00b", "control character U+0000"},
		{"a\tb", "control character U+0009"},
		{"line\n", "control character U+000A"},
		{"\x1f", "control character U+001F"},
		{"\x7f", "control character U+007F"},
		{"\u0080", "control character U+0080"},
		{"a\u009f", "control character U+009F"},
		{"a\x80", "not valid UTF-8"},
		{"\xff", "not valid UTF-8"},
		{"\xc0\x80", "not valid UTF-8"},
		{"\xed\xa0\x80", "not valid UTF-8"}, // a surrogate
		{"\ufffd\xf0\x9f\x98", "not valid UTF-8"},
	} {
		checkRefused(t, placement.ValidateString(test.id), test.id, test.reason)
		_, _, err := placement.String.Parse(test.id)
		checkRefused(t, err, test.id, test.reason)
	}
}

func TestErrorText(t *testing.T) {
	for _, test := range []struct{ id, want string }{
		{"USR0KHTOWnGLu", `id "USR0KHTOWnGLu": has 13 characters, a branded id has 14`},
		{"usr0KHTOWnGLuC", `id "usr0KHTOWnGLuC": brand not upper case A-Z`},
		{"", `id "": empty`},
		{strings.Repeat("x", 64), `id "` + strings.Repeat("x", 64) + `": has 64 characters, a branded id has 14`},
		{strings.Repeat("x", 65), `id "` + strings.Repeat("x", 64) + `"… (65 bytes): has 65 characters, a branded id has 14`},
		// A rune across the cut is left out; bytes that are no rune are cut anywhere.
		{strings.Repeat("x", 63) + "€€", `id "` + strings.Repeat("x", 63) + `"… (69 bytes): not ASCII`},
		{strings.Repeat("\x80", 70), `id "` + strings.Repeat(`\x80`, 60) + `"… (70 bytes): not ASCII`},
	} {
		if _, err := placement.ParseBranded(test.id); err == nil || err.Error() != test.want {
			t.Errorf("ParseBranded(%q): error\n%v, want\n%s", test.id, err, test.want)
		}
	}
}

func TestKind(t *testing.T) {
	for kind, name := range map[placement.Kind]string{
		placement.Branded: "branded", placement.String: "string", placement.Number: "number",
	} {
		if got, err := placement.ParseKind(name); err != nil || got != kind || got.String() != name {
			t.Errorf("ParseKind(%q) = %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "Branded", "strings", "Kind(0)", " number"} {
		if got, err := placement.ParseKind(name); !errors.Is(err, placement.ErrInvalidKind) || got != 0 {
			t.Errorf("ParseKind(%q) = %v, %v, want an error", name, got, err)
		}
	}
	for _, kind := range []placement.Kind{0, 4, 255} {
		if _, _, err := kind.Parse("1"); !errors.Is(err, placement.ErrInvalidKind) || errors.Is(err, placement.ErrInvalidID) {
			t.Errorf("%v.Parse: %v", kind, err)
		}
		if got, ok := kind.Format(placement.Brand{}, 1); ok || got != "" {
			t.Errorf("%v.Format = %q", kind, got)
		}
	}
}

func TestFormatRefuses(t *testing.T) {
	usr := placement.Brand{'U', 'S', 'R'}
	for _, test := range []struct {
		name  string
		kind  placement.Kind
		brand placement.Brand
		mixed placement.Mixed
	}{
		{"snowflake 2^63", placement.Branded, usr, placement.MixSnowflake(1 << 63)},
		{"snowflake 2^64-1", placement.Branded, usr, placement.MixSnowflake(math.MaxUint64)},
		{"no brand", placement.Branded, placement.Brand{}, placement.MixSnowflake(1)},
		{"lower-case brand", placement.Branded, placement.Brand{'u', 's', 'r'}, placement.MixSnowflake(1)},
		{"string", placement.String, placement.Brand{}, placement.MixString("a")},
		{"number with residue", placement.Number, placement.Brand{}, placement.Join(1, 1)},
		{"number with brand", placement.Number, usr, 1},
	} {
		if got, ok := test.kind.Format(test.brand, test.mixed); ok || got != "" {
			t.Errorf("%s: Format = %q, %t", test.name, got, ok)
		}
		if got, ok := test.kind.AppendFormat([]byte("x"), test.brand, test.mixed); ok || string(got) != "x" {
			t.Errorf("%s: AppendFormat = %q, %t", test.name, got, ok)
		}
	}
}

// Random ids of every magnitude go to their mixed value and back, and the mix is
// a bijection on all 64 bits.
func TestRoundTrip(t *testing.T) {
	r := newRand(t)
	for range 100_000 {
		bits := r.Uint64() >> r.IntN(64)
		m := placement.MixSnowflake(bits)
		if got := m.Snowflake(); got != bits {
			t.Fatalf("MixSnowflake(%d).Snowflake() = %d", bits, got)
		}
		if got := placement.MixSnowflake(placement.Mixed(bits).Snowflake()); got != placement.Mixed(bits) {
			t.Fatalf("MixSnowflake(Mixed(%d).Snowflake()) = %d", bits, got)
		}
		if got := placement.Join(m.Placement(), m.Residue()); got != m {
			t.Fatalf("Join of the halves of %d = %d", m, got)
		}

		id := placement.BrandedID{Snowflake: bits >> 1}
		for i := range id.Brand {
			id.Brand[i] = 'A' + byte(r.IntN(26))
		}
		if got, err := placement.ParseBranded(id.String()); err != nil || got != id {
			t.Fatalf("ParseBranded(%q) = %v, %v", id.String(), got, err)
		}
		checkKind(t, placement.Branded, id.String(), id.Brand, id.Mixed())

		n := uint32(bits)
		checkKind(t, placement.Number, strconv.FormatUint(uint64(n), 10), placement.Brand{}, placement.Join(n, 0))
		if t.Failed() {
			return
		}
	}
}

// The order of ids as text is the order of their snowflakes.
func TestTextOrder(t *testing.T) {
	r := newRand(t)
	for range 10_000 {
		a := placement.BrandedID{Brand: placement.Brand{'U', 'S', 'R'}, Snowflake: r.Uint64() >> 1}
		b := placement.BrandedID{Brand: a.Brand, Snowflake: r.Uint64() >> (1 + r.IntN(63))}
		if (a.String() < b.String()) != (a.Snowflake < b.Snowflake) {
			t.Fatalf("%v (%d) and %v (%d) are out of order", a, a.Snowflake, b, b.Snowflake)
		}
	}
}

func TestAllocs(t *testing.T) {
	buf := make([]byte, 0, 64)
	for _, test := range []struct {
		kind placement.Kind
		id   string
	}{
		{placement.Branded, "USR0KHTOWnGLuC"},
		{placement.String, "0f8fad5b-d9cb-469f-a165-70867728950e"},
		{placement.String, "пользователь-42"},
		{placement.Number, "4294967295"},
	} {
		allocs := testing.AllocsPerRun(100, func() {
			b, m, err := test.kind.Parse(test.id)
			if err != nil {
				t.Fatal(err)
			}
			if out, ok := test.kind.AppendFormat(buf, b, m); ok && string(out) != test.id {
				t.Fatalf("AppendFormat = %q, want %q", out, test.id)
			}
		})
		if allocs != 0 {
			t.Errorf("%v id %q: %v allocations", test.kind, test.id, allocs)
		}
	}
}
