package query

import "fmt"

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

// shownRunes is the number of characters that an error shows from the place on.
const shownRunes = 16
