package store

import (
	"errors"
	"fmt"

	"cohort/placement"
	"cohort/store/internal/damage"
)

// Errors that callers can match with errors.Is. An id that does not parse is
// placement.ErrInvalidID.
var (
	// ErrInUse: another process has the store open.
	ErrInUse = errors.New("store is in use by another process")
	// ErrNotExist: there is no store at the path, and none was to be created.
	ErrNotExist = errors.New("store does not exist")
	// ErrExist: a store was to be created where a file already stands.
	ErrExist = errors.New("file already exists")
	// ErrReadOnly: a write on a store that is open for reading only.
	ErrReadOnly = errors.New("store is open for reading only")
	// ErrClosed: the store, or the snapshot, has been closed.
	ErrClosed = errors.New("store is closed")
	// ErrCorrupt: the file is damaged; the error names what and where.
	ErrCorrupt = damage.Err
	// ErrNewerFormat: the file was written by a later version of this library.
	ErrNewerFormat = errors.New("store has a newer format")
	// ErrMismatch: an option differs from what the store was created with.
	ErrMismatch = errors.New("option differs from the store's")
	// ErrInvalidEvent: not 1 to 255 bytes of UTF-8 without control characters.
	ErrInvalidEvent = errors.New("invalid event name")
	// ErrInvalidDay: not a civil date of the years 1 to 9999.
	ErrInvalidDay = errors.New("invalid day")
	// ErrFutureDay: a mark on a day later than tomorrow.
	ErrFutureDay = errors.New("day lies in the future")
	// ErrOtherBrand: an id of another brand than the event's; see BrandError.
	ErrOtherBrand = errors.New("id of another brand")
	// ErrNoEvent: the event to delete was never written.
	ErrNoEvent = errors.New("no such event")
	// ErrInvalidField: a field's name that is not as that of an event.
	ErrInvalidField = errors.New("invalid field name")
	// ErrNoField: the field was never defined.
	ErrNoField = errors.New("no such field")
	// ErrRange: a value outside a field's range; see RangeError.
	ErrRange = errors.New("value out of range")
	// ErrBatch: a batch was loaded with other rows.
	ErrBatch = errors.New("batch has other rows")
	// ErrShared: two ids would share the value of a field; see SharedError.
	ErrShared = errors.New("id shares its placement")
	// ErrInvalidSet: not a name that a saved set can have.
	ErrInvalidSet = errors.New("invalid name of a set")
	// ErrNoSet: the saved set to delete was never saved.
	ErrNoSet = errors.New("no such saved set")
)

// BrandError says that an id of one brand was given for an event that belongs
// to another. It matches ErrOtherBrand.
type BrandError struct {
	Event       string
	EventBrand  placement.Brand
	ID          string
	OffendBrand placement.Brand
}

// Error names the event, its brand and the id.
func (e *BrandError) Error() string {
	return fmt.Sprintf("event %q belongs to brand %s: id %q is of brand %s", e.Event, e.EventBrand, e.ID, e.OffendBrand)
}

// Is makes the error match ErrOtherBrand.
func (e *BrandError) Is(target error) bool { return target == ErrOtherBrand }
