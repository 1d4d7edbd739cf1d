package ingest

import (
	"encoding/json"
	"fmt"
	"io"
)

// jsonLayout is text of which each line is a JSON object.
type jsonLayout struct {
	keys      [3]string // of id, event and time
	eventName string    // of every row, or "" where the key is looked at
}

func newJSONLayout(cols Columns) *jsonLayout {
	return &jsonLayout{keys: [3]string{cols.ID, cols.Event, cols.Time}, eventName: cols.EventName}
}

func (l *jsonLayout) parser() parser { return &jsonParser{jsonLayout: l} }

// jsonParser takes such text apart. [json.Valid] says what is JSON, and of what
// is, the members of the object are found by a scan that need not check it: a
// fifth of the time that decoding takes, and a number is its digits, never a
// float.
type jsonParser struct {
	*jsonLayout
	lines
	found [3]jsonValue // of the keys; nil where there is none
	out   []byte
}

// next implements parser. An id, event or time is a string or a number, of which
// the text is taken. Of a key that stands twice the last counts, as for
// encoding/json.
func (p *jsonParser) next() (Row, error) {
	if !p.advance() {
		return Row{}, io.EOF
	}
	row := Row{Line: p.number, Event: p.eventName, start: p.start}
	if !json.Valid(p.line) {
		return row, &RowError{"not JSON: " + jsonFault(p.line)}
	}
	p.found = [3]jsonValue{}
	if !eachMember(p.line, p.note) {
		return row, &RowError{"not a JSON object"}
	}
	// The texts are made one string: one allocation a row. Of several faults the
	// first is told, but what is in order is shown.
	var err error
	var ends [3]int
	p.out = p.out[:0]
	for i := range p.keys {
		if i == 1 && p.eventName != "" {
			ends[i] = len(p.out)
			continue
		}
		if fault := p.take(i); err == nil {
			err = fault
		}
		ends[i] = len(p.out)
	}
	text := string(p.out)
	row.ID, row.Time = text[:ends[0]], text[ends[1]:]
	if p.eventName == "" {
		row.Event = text[ends[0]:ends[1]]
	}
	return row, err
}

// take appends the text of the member of key i.
func (p *jsonParser) take(i int) error {
	v, ok := p.found[i], false
	if v == nil {
		return &RowError{fmt.Sprintf("no key %q", p.keys[i])}
	}
	if p.out, ok = v.appendText(p.out); !ok {
		return &RowError{fmt.Sprintf("%q is %s, not a string or a number", p.keys[i], v.kind())}
	}
	return nil
}

// note keeps a member that is asked for.
func (p *jsonParser) note(key, value jsonValue) {
	for i, name := range p.keys {
		if key.is(name) {
			p.found[i] = value
		}
	}
}

// jsonFault says what is wrong with text that is not JSON.
func jsonFault(text []byte) string {
	var v json.RawMessage
	err := json.Unmarshal(text, &v)
	if err == nil {
		return "unknown fault"
	}
	return err.Error()
}
