package main

import (
	"cmp"
	"math/bits"
	"slices"

	"cohort/placement"
)

// population is a number of ids of which each day has a random part. It answers
// what is asked of the store by sets of its own: the ids' placements are
// numbered, those that several ids share once, and a day is a plain bit set of
// these numbers.
type population struct {
	seed  uint64
	ids   []string
	ranks []uint32 // of each id: the number of its placement
	at    []uint32 // of each number: the placement
}

// newPopulation makes n ids.
func newPopulation(seed uint64, n int) (*population, error) {
	p := &population{seed: seed, ids: brandedIDs(seed).ids(0, n), ranks: make([]uint32, n)}
	at, err := placements(placement.Branded, p.ids)
	if err != nil {
		return nil, err
	}
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(at[a], at[b]) })
	for i, id := range order {
		if i == 0 || at[id] != p.at[len(p.at)-1] {
			p.at = append(p.at, at[id])
		}
		p.ranks[id] = uint32(len(p.at) - 1)
	}
	return p, nil
}

// dropShared takes ids whose placement another one has out of the population.
func (p *population) dropShared() {
	n := make([]int, len(p.at))
	for _, rank := range p.ranks {
		n[rank]++
	}
	var ids []string
	var ranks []uint32
	for i, rank := range p.ranks {
		if n[rank] == 1 {
			ids, ranks = append(ids, p.ids[i]), append(ranks, rank)
		}
	}
	p.ids, p.ranks = ids, ranks
}

// day is what a population does on one day: a part of it, the set of it.
type day struct {
	ids []string
	set bitset
}

// day makes up day number n, on which one id in so many is active.
func (p *population) day(n, oneIn int) day {
	d := day{set: make(bitset, (len(p.at)+63)/64)}
	for i, id := range p.ids {
		if scramble(p.seed+seedActivity+uint64(n), uint64(i))%uint64(oneIn) == 0 {
			d.ids = append(d.ids, id)
			d.set[p.ranks[i]/64] |= 1 << (p.ranks[i] % 64)
		}
	}
	return d
}

// placements returns where a set stands, ascending.
func (p *population) placements(s bitset) []uint32 {
	at := make([]uint32, 0, s.count())
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			at = append(at, p.at[64*i+bits.TrailingZeros64(word)])
		}
	}
	return at
}

// bitset is a plain set of small numbers.
type bitset []uint64

func (s bitset) count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// union and intersection make sets of some sets.
func union(sets ...bitset) bitset {
	all := slices.Clone(sets[0])
	for _, s := range sets[1:] {
		for i, word := range s {
			all[i] |= word
		}
	}
	return all
}

func intersection(sets ...bitset) bitset {
	all := slices.Clone(sets[0])
	for _, s := range sets[1:] {
		for i, word := range s {
			all[i] &= word
		}
	}
	return all
}
