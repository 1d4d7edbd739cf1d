package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"cohort/placement"
	"cohort/query"
	"cohort/store"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// dayFlag is a flag that is a day; day is nil where it is not given.
type dayFlag struct{ day *store.Day }

func (f *dayFlag) Set(s string) error {
	d, err := store.ParseDay(s)
	if err != nil {
		return errors.New("not a day such as 2026-01-30")
	}
	f.day = &d
	return nil
}

func (f *dayFlag) String() string {
	if f.day == nil {
		return ""
	}
	return f.day.String()
}

func (f *dayFlag) Type() string { return "day" }

// waitFlag is how long to wait for a store that is in use; 0 is not to wait.
type waitFlag struct{ time.Duration }

func (f *waitFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if n, errInt := strconv.ParseInt(s, 10, 32); errInt == nil {
		d, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || d < 0 {
		return errors.New("not a time such as 30s")
	}
	f.Duration = d
	return nil
}

func (f *waitFlag) Type() string { return "time" }

// periodFlag is a flag that is a period; given tells whether it was.
type periodFlag struct {
	period query.Period
	given  bool
}

func (f *periodFlag) Set(s string) (err error) {
	f.period, err = query.ParsePeriod(s)
	f.given = err == nil
	return err
}

func (f *periodFlag) String() string {
	if !f.given {
		return ""
	}
	return f.period.String()
}

func (f *periodFlag) Type() string { return "period" }

// daysFlag is a number of days, such as 7 or 7d, at least 1; n is 0 where it is not
// given.
type daysFlag struct{ n int }

func (f *daysFlag) Set(s string) error {
	n, err := strconv.ParseUint(strings.TrimSuffix(s, "d"), 10, 31)
	if err != nil || n == 0 {
		return errors.New("not a number of days such as 7, at least 1")
	}
	f.n = int(n)
	return nil
}

func (f *daysFlag) String() string {
	if f.n == 0 {
		return ""
	}
	return strconv.Itoa(f.n)
}

func (f *daysFlag) Type() string { return "days" }

// creation are the flags that say what store to create. One not given is neither
// used nor checked.
type creation struct {
	ids       placement.Kind
	positions store.Positions
	zone      string
	weekStart store.WeekStart
}

func (c *creation) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Func("ids", "`kind` of ids of a new store: branded, string or number (default branded)", func(s string) (err error) {
		c.ids, err = placement.ParseKind(s)
		return err
	})
	f.Func("positions", "where the bits of branded and string ids stand in a new store: hashed or dense (default hashed)", func(s string) (err error) {
		c.positions, err = store.ParsePositions(s)
		return err
	})
	f.Func("tz", "time `zone` of a new store, such as Europe/Berlin (default UTC)", func(s string) error {
		if s == "" || s == "Local" {
			return errors.New("not the name of a time zone such as Europe/Berlin")
		}
		_, err := time.LoadLocation(s)
		c.zone = s
		return err
	})
	f.Func("week-start", "first `day` of a week in a new store: monday or sunday (default monday)", func(s string) (err error) {
		c.weekStart, err = store.ParseWeekStart(s)
		return err
	})
}

// openToWrite opens the store for writing, and creates it with the flags as the
// mode says.
func (a *app) openToWrite(ctx context.Context, c creation, mode store.CreateMode) (*store.DB, error) {
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	opts.Create = mode
	return a.open(ctx, opts)
}

// creationFlags are the names of the flags of a creation.
var creationFlags = []string{"ids", "positions", "tz", "week-start"}

// options returns what the flags say of a store.
func (c *creation) options() (store.Options, error) {
	if c.ids == placement.Number && c.positions != 0 {
		return store.Options{}, usagef("--positions %s does not go with --ids number: numbers are their own positions", c.positions)
	}
	return store.Options{IDs: c.ids, Positions: c.positions, TimeZone: c.zone, WeekStart: c.weekStart}, nil
}

// choice is a flag whose value is one of some names.
type choice[T any] struct {
	text  string // as given; at first the default
	value T
	parse func(string) (T, error)
}

func (f *choice[T]) Set(s string) (err error) {
	f.value, err = f.parse(s)
	f.text = s
	return err
}

func (f *choice[T]) String() string { return f.text }
func (f *choice[T]) Type() string   { return "name" }

// onlyFlags returns an error if a flag of a subcommand's own is given that is not
// among some, which are those that go with another.
func onlyFlags(cmd *cobra.Command, other string, some ...string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		inherited := cmd.InheritedFlags().Lookup(f.Name) != nil
		if err == nil && !inherited && !slices.Contains(some, f.Name) {
			err = usagef("--%s does not go with %s", f.Name, other)
		}
	})
	return err
}
