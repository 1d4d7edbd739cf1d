package redisbits

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cohort/store"
)

// field is what stands in braces in a template.
type field struct {
	name    string
	regexp  string   // one group for each part
	parts   []string // of event, year, month, day and hour
	glob    string   // a pattern of Redis that takes all that regexp does
	elastic bool     // digits whose number varies: no other digit may follow
}

// fields are the fields of a template. Anything else in it stands for itself; {{
// and }} are braces.
func fields() []field {
	const d, d2, d4 = `[0-9]`, `[0-9][0-9]`, `[0-9][0-9][0-9][0-9]`
	ymd := []string{"year", "month", "day"}
	return []field{
		{"event", `(.+)`, []string{"event"}, "*", false},
		{"date", `(\d{4})-(\d\d)-(\d\d)`, ymd, d4 + "-" + d2 + "-" + d2, false},
		{"yyyymmdd", `(\d{4})(\d\d)(\d\d)`, ymd, d4 + d2 + d2, false},
		{"yyyy", `(\d{4})`, []string{"year"}, d4, false},
		{"mm", `(\d\d)`, []string{"month"}, d2, false},
		{"dd", `(\d\d)`, []string{"day"}, d2, false},
		{"hh", `(\d\d)`, []string{"hour"}, d2, false},
		{"m", `(\d\d?)`, []string{"month"}, d + "*", true},
		{"d", `(\d\d?)`, []string{"day"}, d + "*", true},
		{"h", `(\d\d?)`, []string{"hour"}, d + "*", true},
	}
}

// parseTemplate returns the layout of a template. The event is that of all keys
// where the template has none, else empty.
func parseTemplate(text, event string) (*Layout, error) {
	t, err := compileTemplate(text, fields())
	if err != nil {
		return nil, err
	}
	named := slices.Contains(t.parts, "event")
	switch {
	case named && event != "":
		return nil, errNamesEvent
	case !named && event == "":
		return nil, errors.New("it has no {event}, and no event was given")
	case !named:
		if err := store.CheckEvent(event); err != nil {
			return nil, err
		}
	}
	for _, part := range []string{"year", "month", "day"} {
		if !slices.Contains(t.parts, part) {
			return nil, fmt.Errorf("it has no %s: give {date}, {yyyymmdd}, or fields such as {yyyy}, {mm} and {dd}", part)
		}
	}
	l := &Layout{patterns: []string{t.glob}}
	var coarse []template
	for _, c := range coarser() {
		with, err := compileTemplate(text, c.fields)
		if err != nil {
			return nil, err
		}
		with.why = c.why
		if with.glob != t.glob { // it has a {date}
			coarse = append(coarse, with)
			l.patterns = append(l.patterns, with.glob)
		}
	}
	l.split = func(key string) (string, date, Reason) {
		m := t.keys.FindStringSubmatch(key)
		if m == nil {
			for _, c := range coarse {
				if c.keys.MatchString(key) {
					return "", date{}, c.why
				}
			}
			return "", date{}, OutsideLayout
		}
		of := event
		var d date
		for i, part := range t.parts {
			switch text := m[i+1]; part {
			case "event":
				of = text
			case "year":
				d.year = text
			case "month":
				d.month = text
			case "day":
				d.day = text
			case "hour":
				d.hour = text
			}
		}
		return of, d, ""
	}
	return l, nil
}

// longer is what a {date} can be in keys of a longer period.
type longer struct {
	why    Reason
	fields []field
}

// coarser returns the periods whose keys are not imported, but named: the keys of
// days say the same. A year is one of this century, lest every number be taken for
// one.
func coarser() []longer {
	with := func(re, glob string) []field {
		all := fields()
		at := slices.IndexFunc(all, func(f field) bool { return f.name == "date" })
		all[at] = field{name: "date", regexp: re, glob: glob}
		return all
	}
	const d2, d4 = "[0-9][0-9]", "[0-9][0-9][0-9][0-9]"
	return []longer{
		{Month, with(`\d{4}-\d\d`, d4+"-"+d2)},
		{Week, with(`\d{4}-W\d\d`, d4+"-W"+d2)},
		{Year, with(`20\d\d`, "20"+d2)},
	}
}

// template is a template translated.
type template struct {
	keys  *regexp.Regexp // takes the keys of the template
	parts []string       // of its groups
	glob  string         // a pattern of Redis that takes all of them
	why   Reason         // they are not imported, or ""
}

// compileTemplate translates a template of some fields, from left to right.
func compileTemplate(text string, all []field) (t template, err error) {
	pattern := ""
	var before *field // the field that ends where text begins
	for text != "" {
		f, literal, rest, err := nextToken(text, all)
		if err != nil {
			return t, err
		}
		text = rest
		if f == nil {
			pattern += regexp.QuoteMeta(literal)
			t.glob += quoteGlob(literal)
			// A digit after a field such as {m} could be of either.
			if before != nil && before.elastic && '0' <= literal[0] && literal[0] <= '9' {
				return t, fmt.Errorf("{%s} is followed by the digit %c: put something between", before.name, literal[0])
			}
			before = nil
			continue
		}
		if before != nil && (before.elastic || f.elastic) {
			return t, fmt.Errorf("{%s} follows {%s}: put something between", f.name, before.name)
		}
		for _, part := range f.parts {
			if slices.Contains(t.parts, part) {
				return t, fmt.Errorf("{%s}: it has the %s already", f.name, part)
			}
		}
		pattern += f.regexp
		t.glob += f.glob
		t.parts = append(t.parts, f.parts...)
		before = f
	}
	t.keys, err = regexp.Compile("(?s)^" + pattern + "$")
	return t, err
}

// nextToken cuts the first field, or the text up to the next one, off a template.
func nextToken(text string, all []field) (f *field, literal, rest string, err error) {
	if text[0] != '{' && text[0] != '}' {
		end := strings.IndexAny(text, "{}")
		if end < 0 {
			end = len(text)
		}
		return nil, text[:end], text[end:], nil
	}
	if strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "}}") {
		return nil, text[:1], text[2:], nil
	}
	name, rest, ok := strings.Cut(text[1:], "}")
	if text[0] == '}' || !ok {
		return nil, "", "", errors.New("a brace stands alone: write {{ or }} for one")
	}
	at := slices.IndexFunc(all, func(f field) bool { return f.name == name })
	if at < 0 {
		return nil, "", "", fmt.Errorf("{%s} is no field", name)
	}
	return &all[at], "", rest, nil
}

// quoteGlob writes text as a pattern of Redis that takes nothing else.
func quoteGlob(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
