package query

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Rate is a fraction from 0 to 1, or no answer: that of a zero denominator, or of
// a period that has not ended. The zero Rate is no answer. Rates compare with ==.
type Rate struct {
	value float64
	known bool
}

// Ratio returns part/whole, and no answer where whole is 0.
func Ratio(part, whole uint64) Rate {
	if whole == 0 {
		return Rate{}
	}
	return Rate{float64(part) / float64(whole), true}
}

// Float returns the fraction; ok is false where there is no answer.
func (r Rate) Float() (fraction float64, ok bool) { return r.value, r.known }

// String writes the rate as a percentage with two decimals, such as 12.34%, and
// no answer as -.
func (r Rate) String() string {
	if !r.known {
		return "-"
	}
	return strconv.FormatFloat(100*r.value, 'f', 2, 64) + "%"
}

// MarshalJSON writes the fraction, and no answer as null.
func (r Rate) MarshalJSON() ([]byte, error) {
	if !r.known {
		return []byte("null"), nil
	}
	return json.Marshal(r.value)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Rate) UnmarshalJSON(data []byte) error {
	*r = Rate{}
	if string(data) == "null" {
		return nil
	}
	if err := json.Unmarshal(data, &r.value); err != nil {
		return fmt.Errorf("rate: %w", err)
	}
	r.known = true
	return nil
}

// meanRate returns the mean of the rates that are known, each weighing the same.
func meanRate(rates []Rate) Rate {
	var sum float64
	var n int
	for _, r := range rates {
		if r.known {
			sum += r.value
			n++
		}
	}
	if n == 0 {
		return Rate{}
	}
	return Rate{min(sum/float64(n), 1), true}
}
