package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
)

// The exit statuses.
const (
	statusDone        = 0
	statusFailed      = 1
	statusUsage       = 2
	statusRefused     = 3
	statusInterrupted = 130
)

// errRefused: the work is done, but rows were refused. It has been told already.
var errRefused = errors.New("rows were refused")

// usageError is an error of what was typed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// report writes an error as one line and returns the exit status.
func (a *app) report(cmd *cobra.Command, err error) int {
	status := a.status(err)
	switch {
	case err == nil || errors.Is(err, errRefused):
	case errors.Is(err, syscall.EPIPE):
		// Whoever read the results has had enough of them.
		return statusDone
	default:
		where := ""
		if cmd.HasParent() {
			where = cmd.Name() + ": "
		}
		text := message(err)
		if !a.started {
			text += fmt.Sprintf("; see %q", cmd.CommandPath()+" --help")
		}
		a.errorf("%s%s", where, text)
	}
	return status
}

func (a *app) status(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return statusDone
	case !a.started || errors.As(err, &usage) || errors.Is(err, query.ErrUsage):
		return statusUsage
	case errors.Is(err, context.Canceled):
		return statusInterrupted
	case errors.Is(err, errRefused):
		return statusRefused
	}
	return statusFailed
}

// message returns the text of an error in one line, with what to do about it.
func message(err error) string {
	text, suggestions, _ := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	if names := strings.Fields(suggestions); len(names) > 0 {
		text += ": did you mean " + strings.Join(names, " or ") + "?"
	}
	// Only a reason of the system could span lines.
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	text = shorten(text)
	for _, advice := range []struct {
		err  error
		text string
	}{
		{store.ErrNotExist, `make one with "cohort init" or "cohort import", or name another with --db`},
		{store.ErrExist, "name another file"},
		{store.ErrInUse, "wait for it with --wait 30s"},
		{store.ErrNewerFormat, "use a newer cohort"},
		{store.ErrNoField, `list them with "cohort field list"`},
		{store.ErrNoSet, `list them with "cohort sets"`},
		{query.ErrUnknownSet, `list them with "cohort sets"`},
		{context.Canceled, ""},
	} {
		switch {
		case !errors.Is(err, advice.err):
		case advice.text == "":
			return strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
		default:
			return text + "; " + advice.text
		}
	}
	return text
}

// shorten cuts the middle out of a text that repeats an argument, or a header, too
// long to be read: what it is about stands in front, and the reason at the end.
func shorten(text string) string {
	const front, back = 300, 500
	runes := []rune(text)
	if len(runes) <= front+back {
		return text
	}
	return string(runes[:front]) + " … " + string(runes[len(runes)-back:])
}

// errorf writes a line of an error.
func (a *app) errorf(format string, args ...any) {
	fmt.Fprintf(a.err, "cohort: "+format+"\n", args...)
}
