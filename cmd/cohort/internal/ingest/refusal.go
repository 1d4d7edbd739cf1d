package ingest

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"cohort/placement"
	"cohort/store"
)

// Reason is why a row is refused.
type Reason string

// The reasons. Of several faults the one that stands first here is given; a
// string id or an event that is too long stands where a bad one does.
const (
	BadRow        Reason = "bad_row"      // cannot be taken apart, or another number of fields
	InvalidUTF8   Reason = "invalid_utf8" // id, event or time
	BadTime       Reason = "bad_time"
	AmbiguousTime Reason = "ambiguous_time"
	BadEvent      Reason = "bad_event"
	EmptyID       Reason = "empty_id" // or only blanks
	BadID         Reason = "bad_id"
	TooLong       Reason = "too_long" // an event or a string id over 255 bytes
	FutureDay     Reason = "future_day"
	OtherBrand    Reason = "other_brand"

	// Of rows of numbers.
	BadValue   Reason = "bad_value"    // not a whole number within 64 bits
	OutOfRange Reason = "out_of_range" // of the field
	SharedID   Reason = "shared"       // an id that shares its placement
)

// maxName is the length of the longest event and string id, in bytes.
const maxName = 255

// Mark is a row that was read: a fact to store, or one that is refused.
type Mark struct {
	Line    int
	Event   string
	ID      string
	Day     store.Day
	Value   int64    // in place of Event and Day, of a reading without days
	start   int32    // offset of the row in its piece
	Refused *Refusal // nil unless the row is refused
}

// Refusal is why a row is refused.
type Refusal struct {
	Reason Reason
	Found  string // the text that is at fault; "" where there is none, or Why tells it
	Why    string // what is wrong, to be read after Found, where the reason alone does not tell
}

// newMark turns a row into a mark; err is what its parser said of it.
func newMark(row Row, err error, days *DayParser) Mark {
	m := Mark{Line: row.Line, Event: row.Event, ID: row.ID, start: int32(row.start)}
	if err != nil {
		m.Refused = &Refusal{Reason: BadRow, Why: err.Error()}
		return m
	}
	for _, text := range []string{row.ID, row.Event, row.Time} {
		if !utf8.ValidString(text) {
			m.refuse(InvalidUTF8, text)
			return m
		}
	}
	if days == nil {
		if m.Value, err = strconv.ParseInt(row.Time, 10, 64); err != nil {
			m.refuse(BadValue, row.Time)
		}
		return m
	}
	m.Day, err = days.Day(row.Time)
	switch {
	case err == ErrAmbiguousTime:
		m.refuse(AmbiguousTime, row.Time)
	case err != nil:
		m.refuse(BadTime, row.Time)
	}
	return m
}

func (m *Mark) refuse(r Reason, found string) { m.Refused = &Refusal{Reason: r, Found: found} }

// Adder takes marks, as a [store.Loader] does.
type Adder interface {
	Add(event, id string, day store.Day) error
}

// Add hands a mark that is not refused to the adder. A mark that the adder
// refuses is refused from then on; any other error is returned.
func (m *Mark) Add(to Adder, kind placement.Kind) error {
	blank := strings.TrimSpace(m.ID) == ""
	id := m.ID
	if blank {
		id = "" // refused in any store, after the event is checked
	}
	return m.refused(to.Add(m.Event, id, m.Day), kind, blank)
}

// ValueAdder takes numbers, as a [store.FieldLoader] does.
type ValueAdder interface {
	Add(id string, value int64) error
}

// AddValue is Add of a row of numbers.
func (m *Mark) AddValue(to ValueAdder, kind placement.Kind) error {
	blank := strings.TrimSpace(m.ID) == ""
	id := m.ID
	if blank {
		id = ""
	}
	return m.refused(to.Add(id, m.Value), kind, blank)
}

// RefuseValue refuses a row of numbers for a reason that its commit gave.
func (m *Mark) RefuseValue(err error) {
	reason := OutOfRange
	if errors.Is(err, store.ErrShared) {
		reason = SharedID
	}
	m.Refused = &Refusal{Reason: reason, Why: err.Error()}
}

// refused refuses a mark where an adder's error is that of the mark; any other error
// is returned.
func (m *Mark) refused(err error, kind placement.Kind, blank bool) error {
	switch {
	case err == nil:
	case errors.Is(err, store.ErrRange), errors.Is(err, store.ErrShared):
		m.RefuseValue(err)
	case errors.Is(err, store.ErrInvalidEvent):
		m.refuse(tooLong(m.Event, BadEvent), m.Event)
	case errors.Is(err, placement.ErrInvalidID) && blank:
		m.refuse(EmptyID, "")
	case errors.Is(err, placement.ErrInvalidID):
		m.refuseID(err, kind)
	case errors.Is(err, store.ErrFutureDay):
		m.refuse(FutureDay, m.Day.String())
	case errors.Is(err, store.ErrInvalidDay):
		m.refuse(BadTime, m.Day.String())
	case errors.Is(err, store.ErrOtherBrand):
		m.Refused = &Refusal{Reason: OtherBrand, Why: err.Error()}
	default:
		return err
	}
	return nil
}

// refuseID refuses a mark whose id is none of the store's kind.
func (m *Mark) refuseID(err error, kind placement.Kind) {
	m.refuse(BadID, m.ID)
	if kind == placement.String {
		m.Refused.Reason = tooLong(m.ID, BadID)
	}
	var invalid *placement.InvalidIDError
	if errors.As(err, &invalid) && m.Refused.Reason == BadID {
		m.Refused.Why = invalid.Reason
	}
}

// tooLong returns TooLong for a name that is, else another reason.
func tooLong(name string, other Reason) Reason {
	if len(name) > maxName {
		return TooLong
	}
	return other
}
