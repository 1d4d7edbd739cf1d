package placement

import (
	"fmt"

	"github.com/twmb/murmur3"
)

// Mixed is the 64-bit value an id is known by within its brand: the low half is
// its placement, the high half its residue. Distinct snowflakes, and distinct
// numbers, have distinct values. Distinct strings almost always do: among n of
// them, about n²/2⁶⁵ pairs share a value and so are one id.
type Mixed uint64

// The odd multiplier of MurmurHash3's fmix64, and its inverse modulo 2⁶⁴.
const (
	mixFactor   = 0xff51afd7ed558ccd
	unmixFactor = 0x4f74430c22a54005
)

// MixSnowflake mixes all 64 bits of a snowflake by the first half of
// MurmurHash3's fmix64 (Appleby, MurmurHash3.cpp, public domain). It is a
// bijection: the multiplier is odd, and a shift of 33 ≥ 64/2 makes the xor-shift
// its own inverse. MixSnowflake(0) is 0.
func MixSnowflake(snowflake uint64) Mixed {
	h := snowflake
	h ^= h >> 33
	h *= mixFactor
	h ^= h >> 33
	return Mixed(h)
}

// MixString mixes the bytes of s by 64-bit MurmurHash3: the first half of its
// x64 128-bit form, seed 0. It accepts any bytes; see [ValidateString].
func MixString(s string) Mixed { return Mixed(murmur3.StringSum64(s)) }

// Join returns the value whose halves are placement and residue.
func Join(placement, residue uint32) Mixed {
	return Mixed(residue)<<32 | Mixed(placement)
}

// Placement returns the low 32 bits: the position of the id's bit in a bitmap.
func (m Mixed) Placement() uint32 { return uint32(m) }

// Residue returns the high 32 bits: what tells apart ids that share a placement.
func (m Mixed) Residue() uint32 { return uint32(m >> 32) }

// Snowflake undoes [MixSnowflake], on all 64 bits. It means nothing for the
// value of a string or number id.
func (m Mixed) Snowflake() uint64 {
	h := uint64(m)
	h ^= h >> 33
	h *= unmixFactor
	h ^= h >> 33
	return h
}

// CheckFrozen returns an error unless a known branded id and a known string id
// are placed where they have always been. A store calls it when it opens: a
// program that places ids elsewhere would misread every bitmap and spoil those
// it writes. It takes well under a microsecond.
func CheckFrozen() error {
	for _, frozen := range []struct {
		kind Kind
		id   string
		want Mixed
	}{
		{Branded, "USR0KHTOWnGLuC", Join(234878118, 1045265647)},
		{String, "0f8fad5b-d9cb-469f-a165-70867728950e", Join(3105485840, 537628451)},
	} {
		_, got, err := frozen.kind.Parse(frozen.id)
		if err != nil {
			return fmt.Errorf("frozen %v id: %w", frozen.kind, err)
		}
		if got != frozen.want {
			return fmt.Errorf("frozen %v id %q has placement %d and residue %d, must have %d and %d",
				frozen.kind, frozen.id, got.Placement(), got.Residue(),
				frozen.want.Placement(), frozen.want.Residue())
		}
	}
	return nil
}
