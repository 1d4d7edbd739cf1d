package query_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

func mustPeriod(s string) query.Period {
	p, err := query.ParsePeriod(s)
	if err != nil {
		panic(err)
	}
	return p
}

func TestParse(t *testing.T) {
	var (
		a    = query.Of("a", query.All())
		b    = query.Of("b", query.Month(2026, 1))
		c    = query.Of("c", query.Last(7))
		d    = query.Of("d", query.Today())
		usr  = placement.Brand{'U', 'S', 'R'}
		with = func(name string) query.Expr { return query.Of(name, query.All()) }
	)
	for _, test := range []struct {
		text  string
		want  query.Expr
		text2 string // canonical, where it differs
	}{
		{"a[all]", a, ""},
		{"  a[all]\t", a, "a[all]"},
		{"((a[all]))", a, "a[all]"},
		{"a[all] & b[2026-01]", query.And(a, b), ""},
		{"a[all]&b[2026-01]", query.And(a, b), "a[all] & b[2026-01]"},
		{"a[all]\n-\u00a0b[2026-01]", query.AndNot(a, b), "a[all] - b[2026-01]"},
		{"a[all] & b[2026-01] - c[7d] & d[today]", query.And(query.AndNot(query.And(a, b), c), d), ""},
		{"a[all] - b[2026-01] & c[7d]", query.And(query.AndNot(a, b), c), ""},
		{"a[all] - (b[2026-01] & c[7d])", query.AndNot(a, query.And(b, c)), ""},
		{"a[all] | b[2026-01] & c[7d]", query.Or(a, query.And(b, c)), ""},
		{"a[all] | b[2026-01] ^ c[7d] & d[today]", query.Or(a, query.Xor(b, query.And(c, d))), ""},
		{"a[all] & b[2026-01] ^ c[7d] | d[today]", query.Or(query.Xor(query.And(a, b), c), d), ""},
		{"(a[all] | b[2026-01]) & c[7d]", query.And(query.Or(a, b), c), ""},
		{"a[all] | b[2026-01] | c[7d]", query.Or(a, b, c), ""},
		{"a[all] | (b[2026-01] | c[7d])", query.Or(a, query.Or(b, c)), ""},
		{"(a[all] ^ b[2026-01]) ^ c[7d]", query.Xor(a, b, c), "a[all] ^ b[2026-01] ^ c[7d]"},
		{"every(a[all])", query.Every("a", query.All()), ""},
		{"every ( \"a\"[all] )", query.Every("a", query.All()), "every(a[all])"},
		{"every[all]", with("every"), ""},
		{"every(every[all])", query.Every("every", query.All()), ""},
		{"seen", query.Seen(), ""},
		{"seen(USR)", query.SeenOf(usr), ""},
		{"seen ( USR )", query.SeenOf(usr), "seen(USR)"},
		{"seen[all]", with("seen"), ""},
		{"seen - a[all]", query.AndNot(query.Seen(), a), ""},
		{"(seen)&@bots", query.And(query.Seen(), query.Saved("bots")), "seen & @bots"},
		{"@every - @seen", query.AndNot(query.Saved("every"), query.Saved("seen")), ""},
		{"@a-b", query.Saved("a-b"), ""},
		{"sign-up[all]", with("sign-up"), ""},
		{"a-[all] - b-[all]", query.AndNot(with("a-"), with("b-")), ""},
		{"a@b.c[all]", with("a@b.c"), ""},
		{`"at desk"[all]`, with("at desk"), ""},
		{`"-x"[all] & "@x"[all]`, query.And(with("-x"), with("@x")), ""},
		{`"plain"[all]`, with("plain"), "plain[all]"},
		{`"a\"b\\c\u00e9"[all]`, with(`a"b\cé`), `"a\"b\\cé"[all]`},
		{`"it's"[all]`, with("it's"), ""},
		{`"<>=!&"[all]`, with("<>=!&"), ""},
		{"вход[all] | 登录[all]", query.Or(with("вход"), with("登录")), ""},
		{"\ufffd[all]", with("\ufffd"), ""},
		{"2026[2026]", query.Of("2026", query.Year(2026)), ""},
		{"a+b,c.d/e:f*g?{h}$i[2026-W01..]", query.Of("a+b,c.d/e:f*g?{h}$i", query.From(query.Week(2026, 1))), ""},
		{strings.Repeat("(", 200) + "a[all]" + strings.Repeat(")", 200), a, "a[all]"},
	} {
		t.Run(test.text[:min(40, len(test.text))], func(t *testing.T) {
			got, err := query.Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got != test.want || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			want := test.text2
			if want == "" {
				want = test.text
			}
			if got.String() != want {
				t.Errorf("String() = %s, want %s", got, want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct {
		text   string
		offset int
		reason string
	}{
		{"", 0, "expected a set"},
		{"  ", 2, "expected a set"},
		{"a", 1, "expected a period in brackets"},
		{"active & b[all]", 6, "expected a period in brackets"},
		{"a [all]", 1, "without a blank"},
		{"a[all", 1, "the bracket is not closed"},
		{"a[]", 2, "empty"},
		{"a[ all]", 2, "no blanks"},
		{"a[all ]", 2, "no blanks"},
		{"a[2025-W53]", 2, "weeks 01 to 52"},
		{"b[all] & a[7d@today]", 11, "not a day"},
		{"[all]", 0, "name of an event"},
		{`""[all]`, 0, "1 to 255 bytes"},
		{`"a`, 0, "the quote is not closed"},
		{`"a\"[all]`, 0, "the quote is not closed"},
		{`"\x"[all]`, 0, "not a JSON string"},
		{"\"a\tb\"[all]", 0, "not a JSON string"},
		{`"a\u0007"[all]`, 0, "no control characters"},
		{"a\x01b[all]", 0, "no control characters"},
		{"'a'[all]", 0, `quoted with "`},
		{"it's[all]", 2, "expected a period in brackets"},
		{`a"b"[all]`, 1, "expected a period in brackets"},
		{strings.Repeat("x", 256) + "[all]", 0, "1 to 255 bytes"},
		{"a[all] b[all]", 7, "expected one of the operators"},
		{"a[all]b[all]", 6, "expected one of the operators"},
		{"a[all]-b[all]", 6, "needs a blank"},
		{"a[all] -b[all]", 7, "needs a blank"},
		{"a[all]- b[all]", 6, "needs a blank"},
		{"(a[all]-b[all])", 7, "needs a blank"},
		{"a[all] - ", 9, "expected a set"},
		{"a[all] -", 7, "needs a blank"},
		{"- a[all]", 0, "expected a set"},
		{"-a[all]", 0, `is written "-name"`},
		{"a[all] &", 8, "expected a set"},
		{"a[all] && b[all]", 8, "expected a set"},
		{"a[all] & | b[all]", 9, "expected a set"},
		{"| a[all]", 0, "expected a set"},
		{"(a[all]", 0, "the parenthesis is not closed"},
		{"a[all])", 6, "no parenthesis is open"},
		{"()", 1, "expected a set"},
		{"(a[all] b[all])", 8, "expected )"},
		{"every", 5, "expected a period"},
		{"every()", 6, "every takes one event"},
		{"every(a)", 7, "expected a period"},
		{"every(a[all] & b[all])", 13, "expected )"},
		{"every(a[all]", 5, "the parenthesis is not closed"},
		{"every(@bots)", 6, "every takes one event"},
		{"every((a[all]))", 6, "every takes one event"},
		{`every("a)`, 6, "the quote is not closed"},
		{"seen(", 5, "three letters"},
		{"seen()", 5, "three letters"},
		{"seen(usr)", 5, "three letters"},
		{"seen(USER)", 5, "three letters"},
		{"seen(USR", 4, "the parenthesis is not closed"},
		{"seen(USR x)", 9, "expected )"},
		{"seen(a[all])", 5, "three letters"},
		{"seen a[all]", 5, "expected one of the operators"},
		{"@", 0, "name of a saved set"},
		{"@-a", 0, "name of a saved set"},
		{"@@a", 0, "name of a saved set"},
		{`@"a"`, 0, "name of a saved set"},
		{"@a[all]", 2, "no period"},
		{"a[all] >= 10", 7, "not an operator of sets"},
		{"a[all] ! b[all]", 7, "not an operator of sets"},
		{"a[all] + b[all]", 7, "expected one of the operators"},
		{"a[all] & \xff", 9, "not valid UTF-8"},
		{"\xc3(a[all])", 0, "not valid UTF-8"},
		{strings.Repeat("(", 201) + "a[all]" + strings.Repeat(")", 201), 200, "nest deeper"},
		{strings.Repeat("(", 60000), 200, "nest deeper"},
		{strings.Repeat(" ", 1<<16) + "a[all]", 1 << 16, "longer than"},
	} {
		t.Run(test.text[:min(40, len(test.text))], func(t *testing.T) {
			x, err := query.Parse(test.text)
			if err == nil {
				t.Fatalf("accepted as %v", x)
			}
			if x != nil {
				t.Errorf("an error and an expression")
			}
			var se *query.SyntaxError
			if !errors.As(err, &se) || !errors.Is(err, query.ErrUsage) {
				t.Fatalf("error %#v", err)
			}
			if se.Offset != test.offset || !strings.Contains(err.Error(), test.reason) {
				t.Errorf("error at %d, want %d: %v", se.Offset, test.offset, err)
			}
			if len(err.Error()) > 400 || strings.Contains(err.Error(), "\n") {
				t.Errorf("a long error: %v", err)
			}
		})
	}
}

func TestParsePeriodErrorIsWrapped(t *testing.T) {
	_, err := query.Parse("a[2026-13]")
	var pe *query.PeriodError
	if !errors.As(err, &pe) || pe.Text != "2026-13" {
		t.Errorf("error %v", err)
	}
}

func TestSyntaxErrorText(t *testing.T) {
	for text, want := range map[string]string{
		"active & b[all]":                       `expression, at byte 6, " & b[all]": expected a period in brackets after the event, such as [2026-01] or [all]`,
		"a[all] |":                              `expression, at its end: expected a set, such as active[2026-01]`,
		"a[2026-13] & bbbbbbbbbbbbbbbbbbb[all]": `expression, at byte 2, "2026-13] & bbbbb…": period "2026-13": months are 01 to 12`,
	} {
		if _, err := query.Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: got\n%v\nwant\n%s", text, err, want)
		}
	}
}

func TestEvents(t *testing.T) {
	x, err := query.Parse(`b[all] & every("a a"[7d]) | b[2026] - (c[all] ^ seen) & @d`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := query.Events(x), []string{"b", "a a", "c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := query.Events(query.Seen()); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

// randomExpr makes an expression of up to n operations.
func randomExpr(rng *rand.Rand, n int) query.Expr {
	if n == 0 {
		names := []string{"a", "every", "seen", "sign-up", "at desk", "-", "@x", `"`, `\`, "é", "a]b", "it's", "\u2028", "<", "0", "\ufffd"}
		periods := []string{"all", "2026", "2026-W05", "2026-01-30", "2026-Q1..2027", "..2026-01", "2026-02..", "7d", "7d@2026-01-30", "2026-01-30+7d", "today"}
		name, period := names[rng.IntN(len(names))], mustPeriod(periods[rng.IntN(len(periods))])
		switch rng.IntN(8) {
		case 0:
			return query.Every(name, period)
		case 1:
			return query.Seen()
		case 2:
			return query.SeenOf(placement.Brand{'A' + byte(rng.IntN(26)), 'B', 'Z'})
		case 3:
			return query.Saved([]string{"a", "bots", "every", "x-y"}[rng.IntN(4)])
		}
		return query.Of(name, period)
	}
	left := rng.IntN(n)
	x, y := randomExpr(rng, left), randomExpr(rng, n-1-left)
	switch rng.IntN(4) {
	case 0:
		return query.And(x, y)
	case 1:
		return query.Or(x, y)
	case 2:
		return query.Xor(x, y)
	}
	return query.AndNot(x, y)
}

func TestStringParsesBack(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	for range 20000 {
		x := randomExpr(rng, rng.IntN(8))
		y, err := query.Parse(x.String())
		if err != nil {
			t.Fatalf("%s: %v", x, err)
		}
		if x != y || y.String() != x.String() {
			t.Fatalf("%s is read as %s", x, y)
		}
	}
}

func TestNilExpr(t *testing.T) {
	x := query.And(nil, query.Of("a", query.Day(store.Date(2026, 1, 1))))
	if got := x.String(); got != "<nil> & a[2026-01-01]" {
		t.Errorf("got %s", got)
	}
}
