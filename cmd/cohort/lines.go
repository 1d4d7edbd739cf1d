package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxIDLine is the length of the longest line of an id list, in bytes. No id is
// nearly as long.
const maxIDLine = 4096

// lines are the lines of a list of ids.
type lines struct {
	*bufio.Scanner
	n int
}

func newLines(in io.Reader) *lines {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, maxIDLine), maxIDLine)
	return &lines{Scanner: s}
}

func (l *lines) Scan() bool {
	if !l.Scanner.Scan() {
		return false
	}
	l.n++
	return true
}

// id returns the id on the line; ok is false for a blank one.
func (l *lines) id() (id string, ok bool) {
	id = l.Text()
	if l.n == 1 {
		id = strings.TrimPrefix(id, "\ufeff")
	}
	return id, strings.TrimSpace(id) != ""
}

// Err returns why the lines ended early, with the line, or nil.
func (l *lines) Err() error {
	err := l.Scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("longer than %d bytes", maxIDLine)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("line %d: %w", l.n+1, err)
}
