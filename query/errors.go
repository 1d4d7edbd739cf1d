package query

import (
	"errors"
	"fmt"
)

// Errors that callers can match with errors.Is. Those of the store pass through
// wrapped: store.ErrCorrupt, store.ErrClosed and so on.
var (
	// ErrUsage is matched by every error that says the question itself cannot
	// be asked, whatever the store holds: a period or an expression that does
	// not parse, an option out of range, and all of the errors below.
	ErrUsage = errors.New("the question cannot be asked")
	// ErrTwoBrands: sets of two brands meet in one expression or report.
	ErrTwoBrands error = &usageError{"sets of two brands"}
	// ErrManyBrands: a bare seen, in a store that knows ids of several brands.
	ErrManyBrands error = &usageError{"seen is of several brands"}
	// ErrUnknownSet: an expression names a set that was never saved.
	ErrUnknownSet error = &usageError{"no saved set of that name"}
)

// usageError is an error that matches ErrUsage.
type usageError struct{ text string }

func (e *usageError) Error() string        { return e.text }
func (e *usageError) Is(target error) bool { return target == ErrUsage }

// usagef formats an error that matches ErrUsage.
func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// PeriodError says why a text, or the arguments of a constructor, make no
// period. It matches ErrUsage.
type PeriodError struct {
	Text   string // the period as it was written, or as it would be
	Reason string // what is wrong with it, to be read after the text
}

func (e *PeriodError) Error() string {
	return fmt.Sprintf("period %s: %s", quote(e.Text), e.Reason)
}

// Is makes the error match ErrUsage.
func (e *PeriodError) Is(target error) bool { return target == ErrUsage }

// maxShown is the number of bytes of a text that an error shows.
const maxShown = 80

// quote returns s as a Go string literal, cut where it is long.
func quote(s string) string {
	if len(s) <= maxShown {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:maxShown], len(s))
}
