// Package generate makes up the events of an online game: who signs up, who
// comes back, who plays, who pays. The rows are made up, their shape is not: most
// players come rarely and a few every day, weekends are busier than Wednesdays,
// fewer come back the longer ago they signed up, and of those who register some
// play and few pay.
//
// Everything is integer arithmetic on a seeded generator, so that the same
// options give the same rows on every machine.
package generate

import (
	"fmt"
	"iter"
	"time"

	"cohort/placement"
	"cohort/store"
)

// The events. A player who signs up is registered and active; one who is active
// may play, and one who plays may pay.
const (
	Registered = "registered"
	Active     = "active"
	Played     = "played"
	Paid       = "paid"
)

// events are the events in the order in which those of one moment happen.
var events = [...]string{Registered, Active, Played, Paid}

// The ranges of the options. Players have signed up for two years before the
// first day, and the clock in an id runs from 2010 to 2079.
const (
	MinFrom store.Day = 15340 // 2012-01-01
	MaxFrom store.Day = 39446 // 2077-12-31
	MaxIDs            = 10_000_000
	MaxDays           = 366
)

// Options say what to make up. Defaults gives them where they are not set.
type Options struct {
	// Seed chooses the rows: another seed gives other rows of the same shape.
	Seed uint64
	// IDs is the number of players, each with one row or more: two in five sign
	// up in the period, the others before it. Range 1 to MaxIDs, default 200,000.
	IDs int
	// From is the first day, in UTC. Range MinFrom to MaxFrom, default 2026-01-01.
	From store.Day
	// Days is the number of days. Range 1 to MaxDays, default 31.
	Days int
	// Brand is the brand of the ids. Default PLR.
	Brand placement.Brand
}

// Row is one thing that one player did.
type Row struct {
	ID    string
	Event string
	Time  time.Time // UTC, in whole milliseconds
}

// Defaults returns the options with a default for each that is zero.
func (o Options) Defaults() Options {
	if o.IDs == 0 {
		o.IDs = 200_000
	}
	if o.From == 0 {
		o.From = store.Date(2026, time.January, 1)
	}
	if o.Days == 0 {
		o.Days = 31
	}
	if o.Brand.IsZero() {
		o.Brand = placement.Brand{'P', 'L', 'R'}
	}
	return o
}

// Period returns the days of the rows.
func (o Options) Period() store.Period {
	return store.Period{First: o.From, Last: o.From + store.Day(o.Days-1)}
}

// Rows returns the rows of some options, in order of time; those of one moment in
// order of player. Each range over the sequence makes the same rows anew. The
// error is that of an option out of range.
//
// A row takes about half a microsecond. Memory: 32 bytes a player, and 8 bytes a row
// of one day. The default options give 2.3 million rows.
func Rows(o Options) (iter.Seq[Row], error) {
	switch {
	case o.IDs < 1 || o.IDs > MaxIDs:
		return nil, fmt.Errorf("%d ids: must be 1 to %d", o.IDs, MaxIDs)
	case o.Days < 1 || o.Days > MaxDays:
		return nil, fmt.Errorf("%d days: must be 1 to %d", o.Days, MaxDays)
	case o.From < MinFrom || o.From > MaxFrom:
		return nil, fmt.Errorf("from %v: must be %v to %v", o.From, MinFrom, MaxFrom)
	}
	if b, err := placement.ParseBrand(o.Brand.String()); err != nil || b.IsZero() {
		return nil, fmt.Errorf("brand %q: must be three letters A to Z", o.Brand)
	}
	return func(yield func(Row) bool) {
		g := newGame(o)
		for day := range o.Days {
			for _, a := range g.day(day) {
				if !yield(g.row(day, a)) {
					return
				}
			}
		}
	}, nil
}

// row writes out an act of a day.
func (g *game) row(day int, a act) Row {
	p := g.players[a.player()]
	return Row{
		ID:    placement.BrandedID{Brand: g.o.Brand, Snowflake: p.snowflake}.String(),
		Event: events[a.event()],
		Time:  time.UnixMilli(g.start + int64(day)*dayMillis + a.millis()).UTC(),
	}
}
