package query

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"cohort/store"
)

// valueSet is the ids whose value of a field lies in a range, both ends included, or,
// with not, the other ids that have a value. Every comparison is one: that no value
// of a field is the least int64 makes the bounds enough.
type valueSet struct {
	field     string
	not       bool
	low, high bound
}

// bound is an end of a range: an int64, or one above all of them.
type bound struct {
	value int64
	above bool
}

var (
	lowest = bound{value: math.MinInt64}
	beyond = bound{above: true}
)

// Compare is the ids whose value of a field compares with a number as the operator,
// one of = != < <= > >=, says: level>=10 in text. Ids without a value are in no
// comparison. A field that was never defined gives the empty set; a number outside the
// field's range the empty set, or all ids that have a value. An unknown operator is an
// error when a question is asked.
func Compare(field, operator string, value int64) Expr {
	return comparison(field, operator, bound{value: value})
}

// ValueIn is the ids whose value of a field is in a range, both ends included:
// level=3..7 in text. It is empty where high is below low.
func ValueIn(field string, low, high int64) Expr {
	if high < low {
		return valueSet{field: field, low: beyond, high: beyond}
	}
	return inRange(field, false, bound{value: low}, bound{value: high})
}

// comparison returns the set of a comparison; that of an operator there is not has
// none.
func comparison(field, operator string, b bound) Expr {
	switch operator {
	case "=", "!=":
		return inRange(field, operator == "!=", b, b)
	case ">=":
		return inRange(field, false, b, beyond)
	case ">":
		return inRange(field, false, b.next(), beyond)
	case "<=":
		return inRange(field, false, lowest, b)
	case "<":
		if b.above {
			return inRange(field, false, lowest, beyond)
		}
		return inRange(field, false, lowest, bound{value: max(b.value, math.MinInt64+1) - 1})
	}
	return nil
}

// next returns the next number.
func (b bound) next() bound {
	if b.above || b.value == math.MaxInt64 {
		return beyond
	}
	return bound{value: b.value + 1}
}

// inRange returns the set of a range in its one form.
func inRange(field string, not bool, low, high bound) Expr {
	if not && low.above {
		return valueSet{field: field, low: lowest, high: beyond}
	}
	return valueSet{field, not, low, high}
}

// Fields lists the fields that an expression compares, each once, in the order in
// which they first stand in it.
func Fields(x Expr) (fields []string) {
	met := make(map[string]bool)
	walk(x, func(leaf Expr) {
		if v, ok := leaf.(valueSet); ok && !met[v.field] {
			met[v.field] = true
			fields = append(fields, v.field)
		}
	})
	return fields
}

func (valueSet) rank() int        { return rankOperand }
func (x valueSet) String() string { return text(x) }

func (b bound) String() string {
	if b.above {
		return "9223372036854775808"
	}
	return strconv.FormatInt(b.value, 10)
}

func (x valueSet) appendTo(b *strings.Builder) {
	appendName(b, x.field)
	switch {
	case x.not:
		b.WriteString("!=" + x.low.String())
		if x.low != x.high {
			b.WriteString(".." + x.high.String())
		}
	case x.high.above:
		b.WriteString(">=" + x.low.String())
	case x.low == x.high:
		b.WriteString("=" + x.low.String())
	case x.low == lowest:
		b.WriteString("<=" + x.high.String())
	default:
		b.WriteString("=" + x.low.String() + ".." + x.high.String())
	}
}

// comparisons are the operators, those that begin as another before it.
var comparisons = []string{"<=", ">=", "!=", "<", ">", "="}

// compares reports which operator of a comparison follows, behind blanks; "" where
// none does.
func (p *parser) compares() string {
	rest := strings.TrimLeftFunc(p.text[p.pos:], unicode.IsSpace)
	for _, op := range comparisons {
		if strings.HasPrefix(rest, op) {
			return op
		}
	}
	return ""
}

// comparison reads an operator and the number, or the range, behind it.
func (p *parser) comparison(start int, field, op string) (Expr, error) {
	if err := p.checkName(start, field); err != nil {
		return nil, err
	}
	p.skipBlanks()
	p.pos += len(op)
	p.skipBlanks()
	low, err := p.number()
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(p.text[p.pos:], "..") {
		return comparison(field, op, low), nil
	}
	at := p.pos
	if op != "=" && op != "!=" {
		return nil, p.failAt(at, "a range goes with = or != only")
	}
	p.pos += 2
	high, err := p.number()
	if err != nil {
		return nil, err
	}
	if low.above && !high.above || !low.above && !high.above && high.value < low.value {
		return nil, p.failAt(at, "the range is reversed")
	}
	return inRange(field, op == "!=", low, high), nil
}

// number reads a decimal number, of any length.
func (p *parser) number() (bound, error) {
	start := p.pos
	if strings.HasPrefix(p.text[p.pos:], "-") {
		p.pos++
	}
	digits := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	if p.pos == digits {
		return bound{}, p.failAt(start, "expected a whole number, such as 10, or a range, such as 3..7")
	}
	if rest := p.text[p.pos:]; store.BareLen(rest) > 0 && !strings.HasPrefix(rest, "..") {
		return bound{}, p.failAt(start, "not a whole number")
	}
	n, err := strconv.ParseInt(p.text[start:p.pos], 10, 64)
	switch {
	case err == nil:
		return bound{value: n}, nil
	case p.text[start] == '-':
		return lowest, nil // out of range: below every value
	}
	return beyond, nil
}

// values plans a comparison. It is empty where the field has no values.
func (p *planner) values(x valueSet) (node, error) {
	f, err := p.field(x.field)
	if err != nil || f.Count == 0 {
		return nothing{}, err
	}
	least, greatest := f.Limits()
	low, high, not := x.low.value, x.high.value, x.not
	if x.high.above {
		high = greatest
	}
	if x.low.above || low > greatest || high < least {
		if !not {
			return nothing{}, nil
		}
		low, high, not = least, greatest, false // all that have a value
	}
	set, err := p.view.snap.FieldBetween(f, low, high)
	if err == nil && not {
		var all *store.Bits
		if all, err = p.view.snap.FieldBetween(f, least, greatest); err == nil {
			set = all.AndNot(set)
		}
	}
	if err != nil {
		return nil, err
	}
	numbers, err := p.view.snap.FieldChunkNumbers(f)
	return made{set, numbers}, err
}

// field looks up a field and binds its brand. One never defined, or without a value
// yet, is of none.
func (p *planner) field(name string) (store.Field, error) {
	f, ok, err := p.view.snap.Field(name)
	if err != nil {
		return f, err
	}
	if !ok || f.Count == 0 {
		return f, nil
	}
	return f, p.bind(f.Brand, fmt.Sprintf("field %s", quote(name)))
}
