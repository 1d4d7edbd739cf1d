package store

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notBare are the characters, besides whitespace, that end a bare name.
const notBare = "\"'[]()&|^<>=!"

// BareLen returns the length of the bare name that s begins with: one that stands
// in an expression without quotes. It has no whitespace and none of "'[]()&|^<>=!
// and does not begin with - or @. Where none begins it is 0.
func BareLen(s string) int {
	if s == "" || s[0] == '-' || s[0] == '@' {
		return 0
	}
	for i, r := range s {
		if unicode.IsSpace(r) || strings.ContainsRune(notBare, r) {
			return i
		}
	}
	return len(s)
}

// CheckSetName returns ErrInvalidSet, with the reason, unless the name is a bare
// one (see BareLen) of 1 to 255 bytes of UTF-8 without control characters.
func CheckSetName(name string) error {
	reason := ""
	switch {
	case name == "":
		reason = "is empty"
	case len(name) > 255:
		reason = fmt.Sprintf("has %d bytes, the limit is 255", len(name))
	case !utf8.ValidString(name):
		reason = "is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		reason = "has a control character"
	case name[0] == '-' || name[0] == '@':
		reason = fmt.Sprintf("begins with %c", name[0])
	case BareLen(name) < len(name):
		reason = `has a blank or one of "'[]()&|^<>=!`
	default:
		return nil
	}
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	return fmt.Errorf("%w: %q %s", ErrInvalidSet, name, reason)
}
