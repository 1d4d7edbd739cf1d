package query

import (
	"fmt"
	"strconv"
	"strings"
)

// Mode says what a cell of retention counts.
type Mode uint8

const (
	// ModeOn counts who came back in the n-th period.
	ModeOn Mode = iota
	// ModeOnOrAfter counts who came back in the n-th period or any later one, up
	// to as-of. It never rises with n, and grows as days go by.
	ModeOnOrAfter
	// ModeEvery counts who came back in each of the periods 0 to n.
	ModeEvery
	// ModeBracket counts who came back in any of the periods of a bracket.
	ModeBracket
)

// modeNames are the names of the modes, by value.
const modeNames = "on on-or-after every bracket"

// ParseMode reads on, on-or-after, every or bracket. Any other text is an error
// that matches [ErrUsage].
func ParseMode(s string) (Mode, error) {
	for i, name := range strings.Fields(modeNames) {
		if s == name {
			return Mode(i), nil
		}
	}
	return 0, usagef("mode %s: must be on, on-or-after, every or bracket", quote(s))
}

// String returns the name that ParseMode reads.
func (m Mode) String() string {
	if m > ModeBracket {
		return fmt.Sprintf("Mode(%d)", uint8(m))
	}
	return strings.Fields(modeNames)[m]
}

// Bracket is a run of offsets, both ends included, 0 ≤ From ≤ To.
type Bracket struct{ From, To int }

// ParseBracket reads a bracket such as 1-7. Any other text is an error that
// matches [ErrUsage].
func ParseBracket(s string) (Bracket, error) {
	a, b, ok := strings.Cut(s, "-")
	from, errFrom := strconv.ParseUint(a, 10, 31)
	to, errTo := strconv.ParseUint(b, 10, 31)
	if !ok || errFrom != nil || errTo != nil {
		return Bracket{}, usagef("bracket %s: must be two offsets such as 1-7", quote(s))
	}
	bracket := Bracket{int(from), int(to)}
	return bracket, bracket.check()
}

// check returns an error unless the bracket is one.
func (b Bracket) check() error {
	if b.From < 0 || b.To < b.From {
		return usagef("bracket %v: the second offset is before the first", b)
	}
	if b.To >= maxRows {
		return usagef("bracket %v: offsets are less than %d", b, maxRows)
	}
	return nil
}

// String returns the text that ParseBracket reads.
func (b Bracket) String() string { return fmt.Sprintf("%d-%d", b.From, b.To) }

// MarshalText writes the bracket as String does.
func (b Bracket) MarshalText() ([]byte, error) { return []byte(b.String()), nil }
