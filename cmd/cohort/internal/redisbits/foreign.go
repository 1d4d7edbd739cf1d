package redisbits

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/redis/go-redis/v9"
)

// A bitmap is a string to Redis, and so are a counter, a text and a HyperLogLog
// under a key such as visits:2026-01-30. Their bits would be taken for ids, so
// those that can be told from a bitmap are not imported.

// foreignHead is how much of a value's start is looked at.
const foreignHead = 256

// textMin is the length from which what can be a text is taken for one. Of a
// hundred bytes in a bitmap of any density fewer than 40 are printable: that 16
// in a row are happens once in millions.
const textMin = 16

// checkBitmap returns a [*ValueError] if a value is something else than a bitmap,
// by its first piece.
func (s *Server) checkBitmap(ctx context.Context, key string, value []byte) error {
	switch number, integer := isNumber(value); {
	case isHyperLogLog(value):
		return &ValueError{key, HyperLogLog}
	case isText(value):
		return &ValueError{key, Text}
	case integer:
		return s.checkInteger(ctx, key)
	case number:
		return &ValueError{key, Counter}
	}
	return nil
}

// checkInteger tells a number in digits from a bitmap of the same bytes, such as
// "0" of the ids 2 and 3: Redis encodes a number that was set or counted as one,
// but not what SETBIT wrote, until it is loaded from a file.
func (s *Server) checkInteger(ctx context.Context, key string) error {
	var encoding string
	err := s.do(ctx, func() (err error) {
		encoding, err = s.client.ObjectEncoding(ctx, key).Result()
		return err
	})
	var reply redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return &ValueError{key, Vanished}
	case err != nil && !errors.As(err, &reply):
		return err
	case err != nil || encoding == "int": // a server that does not tell: likely a number
		return &ValueError{key, Counter}
	}
	return nil
}

// isHyperLogLog reports whether a value begins with the header of PFADD's: "HYLL",
// an encoding of 0 or 1, three zeros, and 8 bytes more.
func isHyperLogLog(value []byte) bool {
	return len(value) >= 16 && bytes.HasPrefix(value, []byte("HYLL")) && value[4] <= 1 &&
		value[5] == 0 && value[6] == 0 && value[7] == 0
}

// isText reports whether a value begins with text: UTF-8 without control
// characters but line ends and tabs.
func isText(value []byte) bool {
	if len(value) < textMin {
		return false
	}
	head := value[:min(len(value), foreignHead)]
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		switch {
		case r == utf8.RuneError && n == 1:
			// The head may end within a character.
			return len(value) > foreignHead && !utf8.FullRune(head)
		case r == 0x7f || r < ' ' && r != '\t' && r != '\n' && r != '\r':
			return false
		}
		head = head[n:]
	}
	return true
}

// isNumber reports whether a value is a number in digits, and whether it is an
// integer.
func isNumber(value []byte) (number, integer bool) {
	if len(value) > 40 {
		return false, false
	}
	if _, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return true, true
	}
	f, err := strconv.ParseFloat(string(value), 64)
	return err == nil && !math.IsNaN(f) && !math.IsInf(f, 0), false
}
