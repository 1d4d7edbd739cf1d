package main

import (
	"math/bits"

	"cohort/placement"
	"cohort/store"
)

// The events and how many of a thousand people do each on a day.
var events = []event{{"active", 200}, {"played", 50}, {"paid", 17}}

type event struct {
	name        string
	perThousand uint64
}

const days = 30

var firstDay = store.Date(2026, 1, 1)

func dayOf(n int) store.Day { return firstDay + store.Day(n) }

// workload is the marks: for each event and day a set of people, who are numbers
// from 0. Peers get the numbers; the library gets branded ids.
type workload struct {
	people int
	sets   [][]bitset // by event, by day
	ids    []string
}

func newWorkload(people int, seed uint64) *workload {
	w := &workload{people: people, ids: make([]string, people)}
	for p := range w.ids {
		w.ids[p] = idOf(p)
	}
	for e, ev := range events {
		of := make([]bitset, days)
		for d := range of {
			of[d] = make(bitset, (people+63)/64)
			for p := range people {
				if scramble(seed<<32+uint64(e*days+d), uint64(p))%1000 < ev.perThousand {
					of[d][p/64] |= 1 << (p % 64)
				}
			}
		}
		w.sets = append(w.sets, of)
	}
	return w
}

// merged is the workload as a hashed store sees it: people whose ids share a
// placement are one, the first of them.
func (w *workload) merged() (*workload, error) {
	first := make(map[uint32]int, w.people)
	of := make([]int, w.people)
	for p, id := range w.ids {
		_, m, err := placement.Branded.Parse(id)
		if err != nil {
			return nil, err
		}
		if _, ok := first[m.Placement()]; !ok {
			first[m.Placement()] = p
		}
		of[p] = first[m.Placement()]
	}
	merged := &workload{people: w.people, ids: w.ids}
	for _, days := range w.sets {
		all := make([]bitset, len(days))
		for d := range days {
			all[d] = make(bitset, len(days[d]))
		}
		merged.sets = append(merged.sets, all)
	}
	err := w.each(func(e, d, p int) error {
		merged.sets[e][d][of[p]/64] |= 1 << (of[p] % 64)
		return nil
	})
	return merged, err
}

// idOf is a person's branded id: a snowflake every 4 milliseconds.
func idOf(person int) string {
	const started = 400_000_000_000 // milliseconds of the snowflakes' clock
	id, _ := placement.Branded.Format(placement.Brand{'U', 'S', 'R'}, placement.MixSnowflake((started+4*uint64(person))<<22))
	return id
}

// scramble is SplitMix64 of a stream and a number.
func scramble(stream, n uint64) uint64 {
	x := stream*0xd1342543de82ef95 + n*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// each calls f with every mark, by event, day and person.
func (w *workload) each(f func(event, day, person int) error) error {
	for e := range w.sets {
		for d, set := range w.sets[e] {
			for i, word := range set {
				for ; word != 0; word &= word - 1 {
					if err := f(e, d, 64*i+bits.TrailingZeros64(word)); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// marks counts them.
func (w *workload) marks() (n int) {
	for _, of := range w.sets {
		for _, set := range of {
			n += set.count()
		}
	}
	return n
}

// bitset is a plain set of small numbers.
type bitset []uint64

func (s bitset) count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

func (s bitset) has(n int) bool { return s[n/64]>>(n%64)&1 == 1 }

// combine makes a set of some sets, word by word.
func combine(op func(a, b uint64) uint64, sets ...bitset) bitset {
	all := append(bitset(nil), sets[0]...)
	for _, s := range sets[1:] {
		for i, word := range s {
			all[i] = op(all[i], word)
		}
	}
	return all
}

func or(a, b uint64) uint64     { return a | b }
func and(a, b uint64) uint64    { return a & b }
func andNot(a, b uint64) uint64 { return a &^ b }
