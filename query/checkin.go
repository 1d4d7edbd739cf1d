package query

import (
	"context"
	"errors"

	"cohort/store"
)

// CheckInResult tells what a check-in did.
type CheckInResult struct {
	// Result is what the mark did: store.New, store.Already or store.Shared.
	Result store.Result `json:"result"`
	// FirstToday tells that this check-in is the first of the id on its day.
	FirstToday bool `json:"first_today"`
	// Streak is the length, in days, of the streak that ends on the day.
	Streak int `json:"streak"`
	// Shared tells that another known id stands at the placement of the id: what
	// is said here is of both.
	Shared bool `json:"shared"`
}

// CheckIn marks an id with an event on a day and returns, when that is on disk,
// whether it was the first to do so and how long the streak is that ends on the day.
// Of any number of calls for one id and day, side by side too, exactly one is the
// first, unless the day is unmarked in between. The days before are those of a
// snapshot taken after the mark's commit.
//
// Errors are those of [store.DB.Mark]. An error of ctx or of the store may come
// after the mark was made; to check in again is safe. The cost is that of a mark and
// of one look-up for each day of the streak, at most twice as many and eight.
func CheckIn(ctx context.Context, db *store.DB, event, id string, day store.Day) (r CheckInResult, err error) {
	result, err := db.Mark(ctx, event, id, day)
	if err != nil {
		return r, err
	}
	snap, err := db.Snapshot()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, snap.Close()) }()
	before, shared, err := runBefore(ctx, snap, event, id, day)
	if err != nil {
		return r, err
	}
	return CheckInResult{Result: result, FirstToday: result == store.New, Streak: before + 1, Shared: shared}, nil
}

// runBefore returns the length of the run of an id's days that ends before a day, and
// whether another known id stands at its placement. It looks back twice as far each
// time that the run has no end.
func runBefore(ctx context.Context, snap *store.Snapshot, event, id string, day store.Day) (n int, shared bool, err error) {
	piece := store.Period{First: day, Last: day - 1}
	for back := store.Day(8); ; back *= 2 {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		piece.First, piece.Last = max(piece.First-back, store.MinDay), piece.First-1
		var days []store.Day
		if days, shared, err = snap.ActiveDays(event, id, piece); err != nil {
			return 0, false, err
		}
		if len(days) < piece.Len() || piece.Empty() {
			if len(days) > 0 && days[len(days)-1] == piece.Last {
				n += runEnding(days)
			}
			return n, shared, nil
		}
		n += len(days)
	}
}
