package generate

import "slices"

// The streams of random numbers of one seed.
const (
	streamMoods = iota + 1
	streamPlayers
	streamDays
)

// game is the players and what they do, day after day.
type game struct {
	o       Options
	start   int64    // midnight of the first day, in Unix milliseconds
	busy    []uint64 // of each day, average being a million
	players []player
	random  random
	acts    []act // of the day at hand
}

func newGame(o Options) *game {
	start := int64(o.From) * dayMillis
	busy := busyDays(o)
	return &game{o: o, start: start, busy: busy, players: makePlayers(o, start, busy), random: newRandom(o.Seed, streamDays)}
}

// act is one thing that one player does on a day, in one number that sorts by
// time, then player, then event: 27 bits of milliseconds since midnight, 24 of the
// player's number, 2 of the event's.
type act uint64

const (
	eventBits  = 2
	playerBits = 24
)

func makeAct(millis int64, player, event int) act {
	return act(millis)<<(playerBits+eventBits) | act(player)<<eventBits | act(event)
}

func (a act) millis() int64 { return int64(a >> (playerBits + eventBits)) }
func (a act) player() int   { return int(a >> eventBits & (1<<playerBits - 1)) }
func (a act) event() int    { return int(a & (1<<eventBits - 1)) }

// The numbers of the events.
const (
	registered = iota
	active
	played
	paid
)

// day returns what is done on the next day, in order. Days are asked for one
// after the other, from 0, and a day's acts are valid until the next is.
func (g *game) day(number int) []act {
	g.acts = g.acts[:0]
	for i := range g.players {
		p := &g.players[i]
		if int(p.signup) > number {
			break // so do all after it
		}
		if g.comes(p, number) {
			g.visit(i, p, number)
		}
	}
	slices.Sort(g.acts)
	return g.acts
}

// comes decides whether a player comes on a day.
func (g *game) comes(p *player, day int) bool {
	if int(p.sure) == day {
		return true
	}
	part := p.habits()[p.habit].daily * g.busy[day] / million
	if p.isNew() {
		part = part * fade(day-int(p.signup)) / million
	}
	return g.random.chance(part)
}

// visit makes up the sessions of a player's day. One who signs up on it does so at
// the time in its id, which is its first session; others that day come after.
func (g *game) visit(i int, p *player, day int) {
	signup := int64(-1)
	if int(p.signup) == day {
		signup = since(p.snowflake, g.start) - int64(day)*dayMillis
		g.add(signup, i, registered)
		g.session(i, p, signup)
	}
	for n := g.random.more(p.habits()[p.habit].again, maxSessions); n > 0; n-- {
		if at := g.random.moment(); signup < 0 || n > 1 && at > signup {
			g.session(i, p, at)
		}
	}
}

// session makes up a session that begins at a time of day. It ends at midnight.
func (g *game) session(i int, p *player, at int64) {
	g.add(at, i, active)
	if !p.plays || !g.random.chance(plays) {
		return
	}
	for range g.random.more(playsAgain, maxPlays) {
		if at += g.minutes(1, 12); at >= dayMillis {
			return
		}
		g.add(at, i, played)
	}
	if p.pays && g.random.chance(pays) {
		if at += g.minutes(1, 5); at < dayMillis {
			g.add(at, i, paid)
		}
	}
}

// minutes returns a time from one number of minutes to another, in milliseconds.
func (g *game) minutes(from, to int64) int64 {
	const minute = 60_000
	return from*minute + int64(g.random.below(uint64((to-from)*minute)))
}

// add notes an act.
func (g *game) add(millis int64, player, event int) {
	g.acts = append(g.acts, makeAct(millis, player, event))
}
