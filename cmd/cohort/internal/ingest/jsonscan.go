package ingest

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonValue is the text of one JSON value, valid and without blanks around it.
type jsonValue []byte

// eachMember calls fn with the members of a JSON object, in order; it returns
// false if the text is another value. The text must be valid JSON; key and value
// are parts of it.
func eachMember(text []byte, fn func(key, value jsonValue)) bool {
	i := skipBlanks(text, 0)
	if text[i] != '{' {
		return false
	}
	for i = skipBlanks(text, i+1); text[i] != '}'; i = skipBlanks(text, i) {
		if text[i] == ',' {
			i = skipBlanks(text, i+1)
		}
		end := skipString(text, i)
		key := jsonValue(text[i:end])
		i = skipBlanks(text, skipBlanks(text, end)+1) // past the colon
		end = skipValue(text, i)
		fn(key, jsonValue(text[i:end:end]))
		i = end
	}
	return true
}

// skipBlanks returns the offset of the first byte from i on that is not a blank.
func skipBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the offset past the string that begins at i.
func skipString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the offset past the value that begins at i.
func skipValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch c := text[i]; c {
		case '"':
			i = skipString(text, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of the object around a number or a word
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// kind names the value's kind, for a message.
func (v jsonValue) kind() string {
	switch v[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f', 'n':
		return string(v)
	}
	return "a number"
}

// is reports whether the value is a string of some text.
func (v jsonValue) is(text string) bool {
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == text
	}
	return string(unescape(nil, inner)) == text
}

// appendText appends the text of a string, or of a number as it is written; ok is
// false for any other value. What a string has that is no Unicode, bytes or half
// a surrogate pair, makes a text that is not valid UTF-8.
func (v jsonValue) appendText(out []byte) (_ []byte, ok bool) {
	switch {
	case v[0] == '"':
		return unescape(out, v[1:len(v)-1]), true
	case v[0] == '-' || '0' <= v[0] && v[0] <= '9':
		return append(out, v...), true
	}
	return out, false
}

// unescape appends what stands between quotes, with its escapes replaced.
func unescape(out, s []byte) []byte {
	for {
		plain, rest, found := bytes.Cut(s, []byte{'\\'})
		out = append(out, plain...)
		if !found {
			return out
		}
		s = rest[1:]
		switch c := rest[0]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(s)
			s = s[4:]
			if utf16.IsSurrogate(r) && len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
				if pair := utf16.DecodeRune(r, hex4(s[2:])); pair != utf8.RuneError {
					r = pair
					s = s[6:]
				}
			}
			out = appendRune(out, r)
		default: // " \ /
			out = append(out, c)
		}
	}
}

// appendRune appends a character. Half a surrogate pair is written in three
// bytes as if it were one, which is not valid UTF-8.
func appendRune(out []byte, r rune) []byte {
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(out, r)
	}
	return append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6&0x3f), 0x80|byte(r&0x3f))
}

// hex4 reads four hexadecimal digits.
func hex4(s []byte) (r rune) {
	for _, c := range s[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}
