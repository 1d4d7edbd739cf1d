package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"cohort/placement"
	"cohort/store"
)

// A month in which a hundred million people check in, and the room it may take.
const (
	checkInPeople = 100_000_000
	checkInDays   = 30
	checkInBudget = 800 // MB
)

// checkInMonth stores a part of the people of such a month and measures its days:
// the ids of one part of all placements, as dense there as those of all people, or
// as large a part of the ordinals and numbers. Redis, where it is there, has a day
// of all people.
func (b *bench) checkInMonth(ctx context.Context, server *redisServer, r *result) error {
	n := checkInPeople / b.checkInPart
	times := fmt.Sprintf("days MB × %s", thousands(int64(b.checkInPart)))
	t := r.table("a month of check-ins", "people stored", "marks", "days MB", "registry MB", times, "registry MB, the same")
	for _, c := range []struct {
		name string
		opts store.Options
		of   idOf
	}{
		{"numbers", store.Options{IDs: placement.Number}, strconv.Itoa},
		{"branded ids, dense", store.Options{Positions: store.Dense}, b.idsOfPart()},
		{"branded ids, hashed", store.Options{Positions: store.Hashed}, b.idsOfPart()},
	} {
		s, marks, err := b.storeCheckIns(ctx, c.opts, c.of, n)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		part := float64(b.checkInPart) / 1e6
		t.row(c.name, n, marks, float64(s.day)/1e6, float64(s.registry)/1e6, float64(s.day)*part, float64(s.registry)*part)
		r.atMost("a month of 100 million people, days, "+c.name, float64(s.day)*part, checkInBudget, " MB")
		b.logf("check-ins, %s: %d marks", c.name, marks)
	}
	if server != nil {
		day, err := server.bitmapOfNumbers(ctx, checkInPeople)
		if err != nil {
			return err
		}
		t.row("flat bitmaps in Redis", checkInPeople, nil, float64(day)/1e6, nil, float64(checkInDays*day)/1e6)
	}
	r.note("A random fifth of the people checks in on each of %d days. Of 100 million people one in %s is stored, and what that takes multiplied; of the flat bitmaps, 357 MiB in all, one day. "+
		"All are known before. A flat bitmap has a bit for each of them and day; hashed days take 2 bytes a check-in, which of so many is more. What hands out the numbers of a flat bitmap is not in its figure.", checkInDays, thousands(int64(b.checkInPart)))
	return nil
}

// idsOfPart makes up branded ids whose placements lie in one part of all.
func (b *bench) idsOfPart() idOf {
	highest := uint32(placement.Placements/int64(b.checkInPart) - 1)
	return func(i int) string {
		for try := uint64(0); ; try++ {
			random := scramble(b.seed+seedIDs, uint64(i)<<8+try)
			if m := placement.Join(uint32(random)&highest, uint32(random>>32)); m.Snowflake() < 1<<63 {
				return placement.BrandedID{Brand: placement.Brand{'U', 'S', 'R'}, Snowflake: m.Snowflake()}.String()
			}
		}
	}
}

// storeCheckIns makes a store of the month of n people, and measures it closed.
func (b *bench) storeCheckIns(ctx context.Context, opts store.Options, of idOf, n int) (s sizes, marks int, err error) {
	path := b.path("checkins.db")
	opts.Create, opts.NoFirstDays, opts.NoRollups, opts.RememberEvery = store.CreateOnly, true, true, -1
	db, err := store.Open(path, &opts)
	if err != nil {
		return s, 0, err
	}
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	people := of.ids(0, n)
	if err := register(ctx, db, people); err != nil {
		return s, 0, errors.Join(err, db.Close())
	}
	for d := range checkInDays {
		var ids []string
		for i, id := range people {
			if scramble(b.seed+seedActivity+uint64(d), uint64(i))%5 == 0 {
				ids = append(ids, id)
			}
		}
		marks += len(ids)
		if err := loadDay(ctx, db, markedEvent, openedDay+store.Day(d), ids); err != nil {
			return s, 0, errors.Join(err, db.Close())
		}
	}
	if err := db.Close(); err != nil {
		return s, 0, err
	}
	if err := checkMarks(path, marks); err != nil {
		return s, 0, err
	}
	s, err = readSizes(path, checkInDays)
	return s, marks, err
}

// checkMarks compares how many marks a store of one event has with those it was
// given, of which it may lack those of ids that share a placement: of 20 million a
// day one in 430.
func checkMarks(path string, marks int) error {
	return inStore(path, func(s *store.Snapshot) error {
		e, _, err := s.Event(markedEvent)
		if got := int(e.Marks); err == nil && (got > marks || marks-got > marks/200) {
			err = fmt.Errorf("wrong answer: %d marks of %d", e.Marks, marks)
		}
		return err
	})
}
