package query

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"cohort/placement"
	"cohort/store"
)

// Expr is a set expression: a set of ids, described by the events they were
// marked with. It is made by [Parse] or by the constructors below, and is
// evaluated when a question is asked about it.
//
// Two expressions of one structure compare equal with ==. String writes the
// canonical text, which Parse reads back to an equal expression; only event
// names that no store accepts, and texts longer than Parse reads, are excepted.
// Expressions are immutable and safe for concurrent use.
type Expr interface {
	String() string

	// appendTo appends the canonical text to b.
	appendTo(b *strings.Builder)
	// rank is the strength with which the expression's operator binds.
	rank() int
}

// Of is the set of the ids marked with an event on any day of a period:
// active[2026-W05] in text. An event never written is the empty set.
func Of(event string, p Period) Expr { return eventSet{event, p} }

// Every is the set of the ids marked with an event on every day of a period, of
// the days from the event's first stored day up to as-of:
// every(active[2026-W05]) in text. Over no days it is empty.
func Every(event string, p Period) Expr { return everyDay{event, p} }

// Seen is the set of the placements of all ids the store has registered,
// whenever that was: seen in text. A question about it gives [ErrManyBrands] if
// they are of several brands.
func Seen() Expr { return seenSet{} }

// SeenOf is the set of the placements of all ids of a brand that the store has
// registered: seen(USR) in text. Of the zero brand, that of string and number
// ids, it is Seen.
func SeenOf(b placement.Brand) Expr { return seenSet{b} }

// Saved is a saved set, which [Save] makes: @name in text. A question about one that
// was never saved gives [ErrUnknownSet].
func Saved(name string) Expr { return savedSet{name} }

// And is the set of the ids in all of the sets: x & y.
func And(x, y Expr, more ...Expr) Expr { return chain(opAnd, x, y, more) }

// Or is the set of the ids in any of the sets: x | y.
func Or(x, y Expr, more ...Expr) Expr { return chain(opOr, x, y, more) }

// Xor is the set of the ids in exactly one of the two sets, or, of more sets, in
// an odd number of them: x ^ y.
func Xor(x, y Expr, more ...Expr) Expr { return chain(opXor, x, y, more) }

// AndNot is the set of the ids in x and in none of the other sets: x - y.
func AndNot(x, y Expr, more ...Expr) Expr { return chain(opAndNot, x, y, more) }

// chain applies an operator from left to right.
func chain(o operator, x, y Expr, more []Expr) Expr {
	x = binary{o, x, y}
	for _, y := range more {
		x = binary{o, x, y}
	}
	return x
}

// Events lists the events of an expression, each once, in the order in which
// they first stand in it. The list is the caller's.
func Events(x Expr) []string {
	var events []string
	walk(x, func(leaf Expr) {
		var event string
		switch leaf := leaf.(type) {
		case eventSet:
			event = leaf.event
		case everyDay:
			event = leaf.event
		default:
			return
		}
		if !slices.Contains(events, event) {
			events = append(events, event)
		}
	})
	return events
}

// walk calls f with the operands of an expression, from left to right.
func walk(x Expr, f func(Expr)) {
	if b, ok := x.(binary); ok {
		walk(b.x, f)
		walk(b.y, f)
		return
	}
	if x != nil {
		f(x)
	}
}

// The operands and the operation.
type (
	eventSet struct {
		event  string
		period Period
	}
	everyDay struct {
		event  string
		period Period
	}
	// seenSet is of any brand where brand is zero.
	seenSet  struct{ brand placement.Brand }
	savedSet struct{ name string }
	binary   struct {
		op   operator
		x, y Expr
	}
)

// operator is a set operation, written as its character.
type operator byte

const (
	opAnd    operator = '&'
	opAndNot operator = '-'
	opXor    operator = '^'
	opOr     operator = '|'
)

// The ranks of operations, from the loosest; operands bind most.
const (
	rankOr = iota + 1
	rankXor
	rankAnd
	rankOperand
)

func (eventSet) rank() int { return rankOperand }
func (everyDay) rank() int { return rankOperand }
func (seenSet) rank() int  { return rankOperand }
func (savedSet) rank() int { return rankOperand }

func (x binary) rank() int {
	switch x.op {
	case opOr:
		return rankOr
	case opXor:
		return rankXor
	}
	return rankAnd
}

func (x eventSet) String() string { return text(x) }
func (x everyDay) String() string { return text(x) }
func (x seenSet) String() string  { return text(x) }
func (x savedSet) String() string { return text(x) }
func (x binary) String() string   { return text(x) }

func text(x Expr) string {
	var b strings.Builder
	x.appendTo(&b)
	return b.String()
}

func (x eventSet) appendTo(b *strings.Builder) { appendOperand(b, x.event, x.period) }

func (x everyDay) appendTo(b *strings.Builder) {
	b.WriteString("every(")
	appendOperand(b, x.event, x.period)
	b.WriteByte(')')
}

func (x seenSet) appendTo(b *strings.Builder) {
	b.WriteString("seen")
	if !x.brand.IsZero() {
		b.WriteString("(" + x.brand.String() + ")")
	}
}

func (x savedSet) appendTo(b *strings.Builder) { b.WriteString("@" + x.name) }

// appendTo puts parentheses where Parse would otherwise build another tree:
// operators of one rank bind from left to right.
func (x binary) appendTo(b *strings.Builder) {
	appendGrouped(b, x.x, x.rank())
	b.WriteString(" " + string(rune(x.op)) + " ")
	appendGrouped(b, x.y, x.rank()+1)
}

// appendGrouped appends x, in parentheses if its operator binds less than rank.
func appendGrouped(b *strings.Builder, x Expr, rank int) {
	switch {
	case x == nil:
		b.WriteString("<nil>")
	case x.rank() < rank:
		b.WriteByte('(')
		x.appendTo(b)
		b.WriteByte(')')
	default:
		x.appendTo(b)
	}
}

// appendOperand appends name[period].
func appendOperand(b *strings.Builder, event string, p Period) {
	appendName(b, event)
	b.WriteString("[" + p.String() + "]")
}

// appendName appends the name of an event or a field, in quotes where it needs them.
func appendName(b *strings.Builder, name string) {
	if isBare(name) {
		b.WriteString(name)
	} else {
		b.WriteString(quoteName(name))
	}
}

// quoteName writes a name as a JSON string.
func quoteName(name string) string {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(name); err != nil {
		panic("a string has no JSON: " + err.Error()) // cannot be
	}
	return strings.TrimSuffix(buf.String(), "\n")
}

// isBare reports whether a name can stand in an expression without quotes.
func isBare(name string) bool {
	return name != "" && store.BareLen(name) == len(name) && utf8.ValidString(name)
}
