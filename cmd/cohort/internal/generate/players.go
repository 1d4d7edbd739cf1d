package generate

import "slices"

// player is one id and how it behaves.
type player struct {
	snowflake uint64
	signup    int16 // number of the day it signs up on, −1 before the first
	sure      int16 // number of a day it comes on whatever its habit
	habit     uint8 // number of its habit, of those of its kind
	plays     bool
	pays      bool
}

// isNew reports whether the player signs up in the period.
func (p *player) isNew() bool { return p.signup >= 0 }

// habits returns the habits of the player's kind.
func (p *player) habits() []habit {
	if p.isNew() {
		return newHabits
	}
	return oldHabits
}

// epoch is when the clock in the snowflakes starts, in Unix milliseconds: at the
// beginning of 2010.
const epoch int64 = 1262304000000

// A snowflake is 41 bits of milliseconds since the epoch, 10 of the machine that
// made it, and 12 that count up within a millisecond.
const (
	machines     = 4
	machineShift = 12
	clockShift   = 22
)

// since returns when a snowflake was made, in milliseconds after an instant.
func since(snowflake uint64, start int64) int64 {
	return int64(snowflake>>clockShift) + epoch - start
}

// makePlayers makes up the players, in order of time.
func makePlayers(o Options, start int64, busy []uint64) []player {
	r := newRandom(o.Seed, streamPlayers)
	signups := o.IDs * 2 / 5
	times := make([]int64, 0, o.IDs)
	for range o.IDs - signups {
		// The sooner of two: there are more players of late.
		ago := min(r.below(pastDays*uint64(dayMillis)), r.below(pastDays*uint64(dayMillis)))
		times = append(times, start-1-int64(ago))
	}
	for day, n := range share(signups, busy) {
		times = signupTimes(r, times, n, start+int64(day)*dayMillis)
	}
	snowflakes := stamp(r, times)
	players := make([]player, len(snowflakes))
	for i, s := range snowflakes {
		players[i] = r.player(s, o, start)
	}
	return players
}

// share divides sign-ups among days, by how busy they are.
func share(signups int, busy []uint64) []int {
	var all, until uint64
	for _, b := range busy {
		all += b
	}
	n := make([]int, len(busy))
	for i, b := range busy {
		before := uint64(signups) * until / all
		until += b
		n[i] = int(uint64(signups)*until/all - before)
	}
	return n
}

// signupTimes appends the times of n sign-ups on the day that begins at midnight.
func signupTimes(r random, times []int64, n int, midnight int64) []int64 {
	rush := midnight + min(r.moment(), dayMillis-rushMillis)
	for range n {
		at := midnight + r.moment()
		if r.chance(rushShare) {
			at = rush + int64(r.below(rushMillis))
		}
		times = append(times, at)
	}
	return times
}

// moment returns a time of day in milliseconds, by how busy the hours are.
func (r random) moment() int64 {
	return int64(r.pick(hours))*hourMillis + int64(r.below(uint64(hourMillis)))
}

// stamp makes a snowflake for each time, ascending, no two the same. Times are
// sorted in place.
func stamp(r random, times []int64) []uint64 {
	slices.Sort(times)
	snowflakes := make([]uint64, len(times))
	count := uint64(0)
	for i, t := range times {
		count++
		if i == 0 || t != times[i-1] {
			count = 0
		}
		snowflakes[i] = uint64(t-epoch)<<clockShift | r.below(machines)<<machineShift | count
	}
	slices.Sort(snowflakes)
	return snowflakes
}

// player makes up how a player behaves.
func (r random) player(snowflake uint64, o Options, start int64) player {
	p := player{snowflake: snowflake, signup: -1}
	playing := uint64(oldPlayers)
	if at := since(snowflake, start); at >= 0 {
		p.signup = int16(at / dayMillis)
		p.sure = p.signup
		playing = newPlayers
	} else {
		p.sure = int16(r.below(uint64(o.Days)))
	}
	habits := p.habits()
	var shares [8]uint64
	for i, h := range habits {
		shares[i] = h.share
	}
	p.habit = uint8(r.pick(shares[:len(habits)]))
	p.plays = r.chance(playing)
	p.pays = p.plays && r.chance(habits[p.habit].paying)
	return p
}
