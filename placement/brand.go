package placement

import "fmt"

// Brand is the three letters A–Z that say what an id stands for. The zero Brand
// is the nameless one of string and number ids. Brands compare with ==.
type Brand [3]byte

// ParseBrand returns the brand written as three letters A–Z, and the zero Brand
// for "". Anything else is an error that matches [ErrInvalidBrand].
func ParseBrand(s string) (Brand, error) {
	if s == "" {
		return Brand{}, nil
	}
	var b Brand
	copy(b[:], s)
	if len(s) != len(b) || !b.named() {
		return Brand{}, fmt.Errorf("%w %s: a brand is three letters A-Z", ErrInvalidBrand, quote(s))
	}
	return b, nil
}

// String returns the three letters, and "" for the zero Brand. A Brand of other
// bytes, which ParseBrand never returns, is shown as Brand("…").
func (b Brand) String() string {
	if b.IsZero() {
		return ""
	}
	if !b.named() {
		return fmt.Sprintf("Brand(%q)", b[:])
	}
	return string(b[:])
}

// IsZero reports whether b is the nameless brand.
func (b Brand) IsZero() bool { return b == Brand{} }

// named reports whether b is three letters A–Z.
func (b Brand) named() bool {
	return b[0]-'A' < 26 && b[1]-'A' < 26 && b[2]-'A' < 26
}
