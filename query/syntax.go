package query

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SyntaxError says where and why a text is not a set expression. It matches
// ErrUsage, and a *PeriodError where a period is what is wrong.
type SyntaxError struct {
	Text   string // the whole text
	Offset int    // where in it the error was found, in bytes
	Reason string // what was found, or missed, there
	Err    error  // the error of the period at Offset, or nil
}

// Error returns one line: the place, what stands there, and the reason.
func (e *SyntaxError) Error() string {
	if e.Offset >= len(e.Text) {
		return fmt.Sprintf("expression, at its end: %s", e.Reason)
	}
	rest := e.Text[e.Offset:]
	if runes := []rune(rest[:min(len(rest), 4*shownRunes)]); len(runes) > shownRunes {
		rest = string(runes[:shownRunes]) + "…"
	}
	return fmt.Sprintf("expression, at byte %d, %q: %s", e.Offset, rest, e.Reason)
}

// Is makes the error match ErrUsage.
func (e *SyntaxError) Is(target error) bool { return target == ErrUsage }

// Unwrap returns the error of the period, if that is what is wrong.
func (e *SyntaxError) Unwrap() error { return e.Err }

const (
	shownRunes  = 16 // characters that an error shows from the place on
	aroundCaret = 60 // characters that Caret shows on either side of the place
)

// Caret returns two lines for a person to see the place by: the text around it,
// and a ^ below the character where the error was found. Blanks and control
// characters are shown as spaces; each character is taken to be one column wide.
func (e *SyntaxError) Caret() string {
	offset := min(e.Offset, len(e.Text))
	before, after := []rune(e.Text[:offset]), []rune(e.Text[offset:])
	lead, trail := "", ""
	if len(before) > aroundCaret {
		before, lead = before[len(before)-aroundCaret:], "…"
	}
	if len(after) > aroundCaret {
		after, trail = after[:aroundCaret], "…"
	}
	line := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return ' '
		}
		return r
	}, string(before)+string(after))
	indent := utf8.RuneCountInString(lead) + len(before)
	return lead + line + trail + "\n" + strings.Repeat(" ", indent) + "^"
}
