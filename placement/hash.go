package placement

// Hash returns 64 bits of which each depends on all of the value's, for what
// needs a uniform hash of an id: sketches read the high bits and the run of zeros
// behind them, where a mixed value will not do (a number is its own, and of a
// snowflake's the low half is mixed better than the high). It is MurmurHash3's
// fmix64 (Appleby, MurmurHash3.cpp, public domain), a bijection: distinct values
// have distinct hashes. The hash does not depend on the brand.
func (m Mixed) Hash() uint64 {
	h := uint64(m)
	h ^= h >> 33
	h *= mixFactor
	h ^= h >> 33
	h *= finalFactor
	h ^= h >> 33
	return h
}

// finalFactor is the second multiplier of fmix64.
const finalFactor = 0xc4ceb9fe1a85ec53
