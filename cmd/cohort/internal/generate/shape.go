package generate

import (
	"time"

	"cohort/store"
)

// This file holds the shape of the game. Chances are parts of a million.

// habit is how a player plays.
type habit struct {
	share  uint64 // of players, by weight
	daily  uint64 // chance to come on an average day
	again  uint64 // chance of one more session on a day with one
	paying uint64 // chance to be one of those who pay at all
}

// newHabits are the habits of those who signed up in the period, when they do:
// their chances to come fade, see fading. A third of them is back the next day.
var newHabits = []habit{
	{share: 8, daily: 920_000, again: 300_000, paying: 220_000},
	{share: 17, daily: 620_000, again: 250_000, paying: 120_000},
	{share: 30, daily: 330_000, again: 150_000, paying: 60_000},
	{share: 45, daily: 120_000, again: 100_000, paying: 30_000},
}

// oldHabits are the habits of those who signed up earlier. Most would not come
// once in the period by chance; each has one day on which it does.
var oldHabits = []habit{
	{share: 3, daily: 900_000, again: 350_000, paying: 300_000},
	{share: 9, daily: 560_000, again: 250_000, paying: 150_000},
	{share: 23, daily: 220_000, again: 200_000, paying: 70_000},
	{share: 65, daily: 30_000, again: 100_000, paying: 20_000},
}

// The chances of what happens in a session.
const (
	newPlayers = 720_000 // to be one who plays at all, of those who sign up
	oldPlayers = 850_000 // the same, of those who stayed
	plays      = 750_000 // to play in a session, of such a player
	playsAgain = 300_000 // to play once more
	pays       = 300_000 // to pay after having played, of one who pays at all
)

// The most there is of something.
const (
	maxSessions = 6 // a day
	maxPlays    = 5 // a session
)

// weekdays is how busy the days of the week are, Sunday first, 100 being average.
var weekdays = [7]uint64{110, 94, 91, 92, 95, 103, 115}

// mood is by how many parts of a hundred a day differs from what its weekday makes
// of it, at most.
const mood = 5

// busyDays returns how busy the days are, average being a million.
func busyDays(o Options) []uint64 {
	r := newRandom(o.Seed, streamMoods)
	days := make([]uint64, o.Days)
	for i := range days {
		weekday := (o.From + store.Day(i)).Weekday()
		days[i] = weekdays[weekday] * (100 - mood + r.below(2*mood+1)) * 100
	}
	return days
}

// hours is how busy the hours of a day are: quiet at five in the morning, busiest
// at eight in the evening.
var hours = []uint64{
	22, 14, 9, 6, 5, 5, 8, 16, 28, 36, 41, 45,
	52, 53, 49, 48, 52, 60, 72, 86, 94, 88, 67, 44,
}

// fading is how much of the chance to come is left so many days after the first:
// about age^(-0.36). It ends level.
var fading = [...]uint64{
	million, million, 779_000, 673_000, 607_000, 560_000, 525_000, 496_000, 473_000, 453_000, 437_000,
	422_000, 409_000, 397_000, 387_000, 377_000, 369_000, 361_000, 353_000, 346_000, 340_000,
	334_000, 329_000, 323_000, 318_000, 314_000, 309_000, 305_000, 301_000, 298_000, 294_000,
}

// fade returns how much is left at an age in days.
func fade(age int) uint64 { return fading[min(age, len(fading)-1)] }

// Every day has its rush, when one in eight of those who sign up do: an article,
// a stream, a campaign.
const (
	rushShare  = 125_000
	rushMillis = 15_000
)

// pastDays is for how long players have signed up before the first day.
const pastDays = 730

const (
	dayMillis  = int64(24 * time.Hour / time.Millisecond)
	hourMillis = int64(time.Hour / time.Millisecond)
)
