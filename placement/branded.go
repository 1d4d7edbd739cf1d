package placement

import (
	"fmt"
	"math"
)

// BrandedID is a branded id taken apart. It compares with ==.
type BrandedID struct {
	Brand     Brand  // three letters A–Z; never zero in a valid id
	Snowflake uint64 // below 2⁶³ in a valid id
}

const (
	brandLen     = len(Brand{})
	payloadLen   = 11 // base62 digits that 2⁶³−1 needs
	brandedLen   = brandLen + payloadLen
	maxSnowflake = math.MaxInt64
)

// Why a branded id is refused, read after the id.
const (
	badBrand   = "brand not upper case A-Z"
	badPayload = "payload exceeds a signed 64-bit snowflake"
)

// ParseBranded takes a branded id apart. The error is an [*InvalidIDError].
// An accepted id has one spelling: String returns s again. It takes about 25 ns
// and allocates only on error.
func ParseBranded(s string) (BrandedID, error) {
	if len(s) != brandedLen {
		return BrandedID{}, refuseBranded(s)
	}
	// Ten digits stay below 2⁶⁰, so only the eleventh can overflow. Characters
	// that are not base62 decode to 0xff, which a digit's value never reaches:
	// OR-ing the values tells at the end whether there was one.
	var head uint64
	var all byte
	for i := brandLen; i < brandedLen-1; i++ {
		d := digitValue[s[i]]
		all |= d
		head = head*62 + uint64(d)
	}
	last := digitValue[s[brandedLen-1]]
	all |= last

	id := BrandedID{Brand{s[0], s[1], s[2]}, head*62 + uint64(last)}
	if all >= 0x80 || !id.Brand.named() ||
		head > maxSnowflake/62 || id.Snowflake > maxSnowflake {
		return BrandedID{}, refuseBranded(s)
	}
	return id, nil
}

// refuseBranded returns the error for s, which is not a branded id.
func refuseBranded(s string) error {
	return &InvalidIDError{ID: s, Reason: brandedReason(s)}
}

func brandedReason(s string) string {
	switch {
	case s == "":
		return "empty"
	case !isASCII(s):
		return "not ASCII"
	case len(s) != brandedLen:
		return fmt.Sprintf("has %d characters, a branded id has %d", len(s), brandedLen)
	case !Brand([]byte(s[:brandLen])).named():
		return badBrand
	}
	for i := brandLen; i < brandedLen; i++ {
		if digitValue[s[i]] >= 62 {
			return quoteRune(s[i:]) + " is not base62"
		}
	}
	return badPayload
}

// Mixed returns the value the id is known by within its brand.
func (id BrandedID) Mixed() Mixed { return MixSnowflake(id.Snowflake) }

// String returns the 14 characters of a valid id; one that is not valid, which
// ParseBranded never returns, is shown as BrandedID("…", n).
func (id BrandedID) String() string {
	if id.invalid() != "" {
		return fmt.Sprintf("BrandedID(%q, %d)", id.Brand[:], id.Snowflake)
	}
	var buf [brandedLen]byte
	return string(id.append(buf[:0]))
}

// AppendText appends the 14 characters of the id to b, as
// [encoding.TextAppender] asks, and allocates only to grow b. For an id that is
// not valid it returns b unchanged and an [*InvalidIDError].
func (id BrandedID) AppendText(b []byte) ([]byte, error) {
	if reason := id.invalid(); reason != "" {
		return b, &InvalidIDError{ID: id.String(), Reason: reason}
	}
	return id.append(b), nil
}

// invalid returns why the id has no text, or "".
func (id BrandedID) invalid() string {
	switch {
	case !id.Brand.named():
		return badBrand
	case id.Snowflake > maxSnowflake:
		return badPayload
	}
	return ""
}

// append appends the text of a valid id.
func (id BrandedID) append(b []byte) []byte {
	var payload [payloadLen]byte
	n := id.Snowflake
	for i := payloadLen - 1; i >= 0; i-- {
		payload[i] = digits[n%62]
		n /= 62
	}
	b = append(b, id.Brand[:]...)
	return append(b, payload[:]...)
}

// digits are the base62 digits by value.
const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// digitValue is the value of each byte as a base62 digit, 0xff for a byte that
// is none. It is a string because a string cannot be changed.
const digitValue = "" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\xff\xff\xff\xff\xff\xff" +
	"\xff\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18" +
	"\x19\x1a\x1b\x1c\x1d\x1e\x1f\x20\x21\x22\x23\xff\xff\xff\xff\xff" +
	"\xff\x24\x25\x26\x27\x28\x29\x2a\x2b\x2c\x2d\x2e\x2f\x30\x31\x32" +
	"\x33\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
