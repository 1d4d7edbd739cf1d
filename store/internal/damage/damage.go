// Package damage has the error that says that a store is damaged, for the packages
// that the store is made of.
package damage

import (
	"errors"
	"fmt"
)

// Err is what every error of damage matches.
var Err = errors.New("store is damaged")

// Errorf returns an error of damage, formatted as by fmt.Sprintf.
func Errorf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", Err, fmt.Sprintf(format, args...))
}
