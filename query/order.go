package query

import (
	"fmt"
	"strings"
)

// Order says how the days of a funnel's steps follow each other.
type Order uint8

const (
	// AnyOrder takes the steps on any days.
	AnyOrder Order = iota
	// Loose takes no step on an earlier day than the step before: steps on one
	// day count in the order in which they are listed. A step that is the same
	// event as the step before needs a later day.
	Loose
	// Strict takes each step on a later day than the step before.
	Strict
	// BothOrders gives Loose and Strict side by side. The order by time of day,
	// which is not stored, lies between them.
	BothOrders
)

// orderNames are the names of the orders, by value.
const orderNames = "any loose strict both"

// ParseOrder reads any, loose, strict or both. Any other text is an error that
// matches [ErrUsage].
func ParseOrder(s string) (Order, error) {
	for i, name := range strings.Fields(orderNames) {
		if s == name {
			return Order(i), nil
		}
	}
	return 0, usagef("order %s: must be any, loose, strict or both", quote(s))
}

// String returns the name that ParseOrder reads.
func (o Order) String() string {
	if o > BothOrders {
		return fmt.Sprintf("Order(%d)", uint8(o))
	}
	return strings.Fields(orderNames)[o]
}
