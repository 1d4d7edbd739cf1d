/*
Package placement turns an id into the 32-bit number at which its bit stands in
a bitmap, and says what that costs in accuracy.

It does no I/O and keeps no state: every function is pure, and safe for
concurrent use.

# Branded ids

A branded id is 14 ASCII characters: a brand of three letters A–Z, then a
snowflake below 2⁶³ as 11 base62 digits (0-9A-Za-z, most significant first).

	USR0KHTOWnGLuC
	└┬┘└────┬────┘
	 │      └ snowflake 274557032793636864
	 └ brand USR

A snowflake is made of a clock and a counter, so neither its low nor its high
bits are evenly spread. The first half of MurmurHash3's 64-bit finalizer spreads
them:

	h ^= h >> 33;  h *= 0xff51afd7ed558ccd;  h ^= h >> 33

Its low 32 bits are the id's placement, its high 32 bits the residue. Each step
can be undone, so placement and residue together give the snowflake back. The
brand takes no part: one bitmap holds ids of one brand.

# String and number ids

A string id is mixed by 64-bit MurmurHash3 and split the same way; it cannot be
had back from its mixed value. A number id, below 2³², is its own placement and
has residue 0.

# Collisions

Two ids of one brand may share a placement, and then a bitmap counts them as
one. [ExpectedColliding], [IDsBehind] and [ExpectedFalseOverlap] give the bias to
expect. Number ids never collide.

# Stability

Bitmaps outlive the program that wrote them, so placements are frozen: the same
id gives the same placement in every version. [CheckFrozen] asserts it.
*/
package placement
