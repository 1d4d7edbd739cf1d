package placement

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

var (
	// ErrInvalidID is matched by every error that refuses an id.
	ErrInvalidID = errors.New("invalid id")
	// ErrInvalidBrand is matched by the errors of [ParseBrand].
	ErrInvalidBrand = errors.New("invalid brand")
	// ErrInvalidKind is matched by the errors of [ParseKind], and by those of
	// [Kind.Parse] on a Kind that is none of the constants.
	ErrInvalidKind = errors.New("invalid id kind")
)

// InvalidIDError says which id was refused and why. Errors that refuse an id
// are of type *InvalidIDError and match [ErrInvalidID].
type InvalidIDError struct {
	ID     string // the whole id as it was given, of any length and content
	Reason string // what is wrong with it, to be read after the id
}

// maxShown is the number of bytes of an id that an error text shows.
const maxShown = 64

// Error returns one line: the id, quoted and cut to its first 64 bytes, and the
// reason.
func (e *InvalidIDError) Error() string {
	return "id " + quote(e.ID) + ": " + e.Reason
}

// Unwrap returns [ErrInvalidID].
func (e *InvalidIDError) Unwrap() error { return ErrInvalidID }

// quote returns s as a Go string literal; beyond maxShown bytes it is cut before
// a whole rune and followed by its length.
func quote(s string) string {
	if len(s) <= maxShown {
		return fmt.Sprintf("%q", s)
	}
	cut := maxShown
	for cut > maxShown-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q… (%d bytes)", s[:cut], len(s))
}

// quoteRune returns the first character of s as a Go rune literal, or the first
// byte in hexadecimal where s does not begin with valid UTF-8. s is not empty.
func quoteRune(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf("byte 0x%02x", s[0])
	}
	return fmt.Sprintf("%q", r)
}

// isASCII reports whether every byte of s is below 0x80.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
