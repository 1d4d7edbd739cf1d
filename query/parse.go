package query

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"cohort/placement"
	"cohort/store"
)

const (
	// maxText is the length of the longest text Parse reads, in bytes.
	maxText = 1 << 16
	// maxDepth is how deep parentheses may nest.
	maxDepth = 200
	// maxEvent is the length of the longest event name, in bytes.
	maxEvent = 255
)

// Parse reads a set expression:
//
//	active[2026-W05]          ids marked active on any day of the period
//	every(active[2026-W05])   ids marked on every day of it
//	seen  seen(USR)           all registered ids, of the store or of a brand
//	@bots                     a saved set
//	level>=10  level=3..7     ids whose value of a field compares so: = != < <= > >=
//	x & y                     in both
//	x - y                     in x but not in y
//	x ^ y                     in exactly one
//	x | y                     in any
//
// & and - bind most, from left to right, then ^, then |; parentheses group. The
// operator - has a blank on either side, since a - within a name belongs to it.
// A bare name has no whitespace and none of "'[]()&|^<>=! and does not begin with
// - or @; any other event name is written as a JSON string: "at desk"[2026-01].
// For what stands in the brackets see [ParsePeriod].
//
// The text has at most 64 KiB and nests at most 200 parentheses deep. Otherwise
// the error is a *[SyntaxError].
func Parse(text string) (Expr, error) {
	p := parser{text: text}
	x, err := p.parse()
	if err != nil {
		return nil, err
	}
	return x, nil
}

// parser reads an expression by recursive descent, one method a rank. Each method
// leaves pos behind what it has read, and skips blanks only before what it needs.
type parser struct {
	text  string
	pos   int
	depth int // of parentheses
}

func (p *parser) parse() (Expr, error) {
	if len(p.text) > maxText {
		return nil, p.failAt(maxText, "longer than %d bytes", maxText)
	}
	for i, r := range p.text {
		if r == utf8.RuneError && !strings.HasPrefix(p.text[i:], "\ufffd") {
			return nil, p.failAt(i, "not valid UTF-8")
		}
	}
	x, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.skipBlanks(); p.pos < len(p.text) {
		return nil, p.failAt(p.pos, "%s", p.strayReason())
	}
	return x, nil
}

// strayReason says why an expression cannot go on as it does.
func (p *parser) strayReason() string {
	switch c := p.text[p.pos]; c {
	case ')':
		return "no parenthesis is open"
	case '-':
		return "the operator - needs a blank on either side"
	case '<', '>', '=', '!':
		return "not an operator of sets"
	}
	return "expected one of the operators & | ^ - or the end"
}

// or reads x | y | …
func (p *parser) or() (Expr, error) { return p.leftToRight(p.xor, "|") }

// xor reads x ^ y ^ …
func (p *parser) xor() (Expr, error) { return p.leftToRight(p.and, "^") }

// and reads x & y - z …
func (p *parser) and() (Expr, error) { return p.leftToRight(p.operand, "&-") }

// leftToRight reads operations of one rank.
func (p *parser) leftToRight(operand func() (Expr, error), operators string) (Expr, error) {
	x, err := operand()
	for err == nil && p.atOperator(operators) {
		op := operator(p.text[p.pos])
		p.pos++
		var y Expr
		y, err = operand()
		x = binary{op, x, y}
	}
	return x, err
}

// atOperator skips blanks and reports whether one of the operators follows.
func (p *parser) atOperator(operators string) bool {
	p.skipBlanks()
	if p.pos == len(p.text) || strings.IndexByte(operators, p.text[p.pos]) < 0 {
		return false
	}
	if p.text[p.pos] != '-' {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(p.text[:p.pos])
	after, _ := utf8.DecodeRuneInString(p.text[p.pos+1:])
	return unicode.IsSpace(before) && unicode.IsSpace(after)
}

// operand reads a set that is not an operation, or one in parentheses.
func (p *parser) operand() (Expr, error) {
	p.skipBlanks()
	if p.pos == len(p.text) {
		return nil, p.failAt(p.pos, "expected a set, such as active[2026-01]")
	}
	switch p.text[p.pos] {
	case '(':
		return p.group()
	case '@':
		return p.saved()
	case '"':
		start := p.pos
		name, err := p.quotedName()
		if err != nil {
			return nil, err
		}
		if op := p.compares(); op != "" {
			return p.comparison(start, name, op)
		}
		return p.eventSet(start, name)
	}
	start := p.pos
	name := p.bareName()
	op := p.compares()
	switch {
	case name == "":
		return nil, p.failAt(start, "%s", p.noSetReason())
	case op != "":
		return p.comparison(start, name, op)
	case name == "every" && p.opens():
		return p.every()
	case name == "seen" && p.opens():
		return p.seenOf()
	case name == "seen" && !strings.HasPrefix(p.text[p.pos:], "["):
		return Seen(), nil
	}
	return p.eventSet(start, name)
}

// noSetReason says why no set begins at pos.
func (p *parser) noSetReason() string {
	switch p.text[p.pos] {
	case '\'':
		return `a name is quoted with " as a JSON string`
	case '[':
		return "expected the name of an event before its period"
	case '-':
		return `expected a set; a name that begins with - is written "-name"`
	}
	return "expected a set, such as active[2026-01]"
}

// group reads an expression in parentheses.
func (p *parser) group() (Expr, error) {
	start := p.pos
	if p.depth++; p.depth > maxDepth {
		return nil, p.failAt(start, "parentheses nest deeper than %d", maxDepth)
	}
	p.pos++
	x, err := p.or()
	if err != nil {
		return nil, err
	}
	p.depth--
	return x, p.closing(start)
}

// closing reads the parenthesis that closes the one at start.
func (p *parser) closing(start int) error {
	if p.skipBlanks(); p.pos == len(p.text) {
		return p.failAt(start, "the parenthesis is not closed")
	}
	if c := p.text[p.pos]; c == '-' {
		return p.failAt(p.pos, "%s", p.strayReason())
	} else if c != ')' {
		return p.failAt(p.pos, "expected )")
	}
	p.pos++
	return nil
}

// opens reports whether a parenthesis follows, and moves to it.
func (p *parser) opens() bool {
	rest := strings.TrimLeftFunc(p.text[p.pos:], unicode.IsSpace)
	if !strings.HasPrefix(rest, "(") {
		return false
	}
	p.pos = len(p.text) - len(rest)
	return true
}

// every reads (name[period]).
func (p *parser) every() (Expr, error) {
	open := p.pos
	p.pos++
	p.skipBlanks()
	start := p.pos
	var name string
	if strings.HasPrefix(p.text[p.pos:], `"`) {
		var err error
		if name, err = p.quotedName(); err != nil {
			return nil, err
		}
	} else if name = p.bareName(); name == "" {
		return nil, p.failAt(start, "every takes one event and its period: every(active[2026-W05])")
	}
	x, err := p.eventSet(start, name)
	if err != nil {
		return nil, err
	}
	set := x.(eventSet)
	return Every(set.event, set.period), p.closing(open)
}

// seenOf reads (BRAND).
func (p *parser) seenOf() (Expr, error) {
	open := p.pos
	p.pos++
	p.skipBlanks()
	start := p.pos
	brand, err := placement.ParseBrand(p.bareName())
	if err != nil || brand.IsZero() {
		return nil, p.failAt(start, "seen takes a brand, three letters A-Z: seen(USR)")
	}
	return SeenOf(brand), p.closing(open)
}

// saved reads @name.
func (p *parser) saved() (Expr, error) {
	start := p.pos
	p.pos++
	name := p.bareName()
	if name == "" {
		return nil, p.failAt(start, "expected the name of a saved set after @")
	}
	if err := p.checkName(start, name); err != nil {
		return nil, err
	}
	if strings.HasPrefix(p.text[p.pos:], "[") {
		return nil, p.failAt(p.pos, "a saved set has no period")
	}
	return Saved(name), nil
}

// eventSet reads the [period] of an event whose name, at start, was read.
func (p *parser) eventSet(start int, name string) (Expr, error) {
	if err := p.checkName(start, name); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(p.text[p.pos:], "[") {
		if rest := strings.TrimLeftFunc(p.text[p.pos:], unicode.IsSpace); strings.HasPrefix(rest, "[") {
			return nil, p.failAt(p.pos, "a period follows its event without a blank")
		}
		return nil, p.failAt(p.pos, "expected a period in brackets after the event, such as [2026-01] or [all]")
	}
	inside := p.pos + 1
	n := strings.IndexByte(p.text[inside:], ']')
	if n < 0 {
		return nil, p.failAt(p.pos, "the bracket is not closed")
	}
	period, err := ParsePeriod(p.text[inside : inside+n])
	if err != nil {
		return nil, &SyntaxError{Text: p.text, Offset: inside, Reason: err.Error(), Err: err}
	}
	p.pos = inside + n + 1
	return Of(name, period), nil
}

// checkName returns an error for a name that no store accepts.
func (p *parser) checkName(start int, name string) error {
	if len(name) < 1 || len(name) > maxEvent || strings.ContainsFunc(name, unicode.IsControl) {
		return p.failAt(start, "a name has 1 to %d bytes and no control characters", maxEvent)
	}
	return nil
}

// bareName reads a bare name; none is "".
func (p *parser) bareName() string {
	n := store.BareLen(p.text[p.pos:])
	p.pos += n
	return p.text[p.pos-n : p.pos]
}

// quotedName reads a JSON string.
func (p *parser) quotedName() (string, error) {
	start := p.pos
	for i := start + 1; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '"':
			var name string
			if err := json.Unmarshal([]byte(p.text[start:i+1]), &name); err != nil {
				return "", p.failAt(start, "not a JSON string: %v", err)
			}
			p.pos = i + 1
			return name, nil
		}
	}
	return "", p.failAt(start, "the quote is not closed")
}

// skipBlanks moves to the next character that is not whitespace.
func (p *parser) skipBlanks() {
	p.pos = len(p.text) - len(strings.TrimLeftFunc(p.text[p.pos:], unicode.IsSpace))
}

// failAt returns a syntax error at an offset.
func (p *parser) failAt(offset int, format string, args ...any) error {
	return &SyntaxError{Text: p.text, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
