package main

import (
	"fmt"
	"slices"

	"cohort/placement"
)

// The workloads' seeds are the run's seed plus these.
const (
	seedIDs = iota * 1000
	seedActivity
	seedRows
	seedVisits
	seedFields
)

// scramble returns pseudo-random number n of a seed: SplitMix64 (Steele, Lea
// and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
func scramble(seed, n uint64) uint64 {
	z := (seed << 40) + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// idOf makes up id number i, the same in every run; different numbers give
// different ids.
type idOf func(i int) string

// brandedIDs makes ids of the brand USR as a service would hand them out: 41
// bits of milliseconds that rise by 4 from id to id, and 22 bits of whatever.
func brandedIDs(seed uint64) idOf {
	return func(i int) string {
		r := scramble(seed+seedIDs, uint64(i))
		ms := uint64(1)<<38 + uint64(i)*4 + r>>62
		return placement.BrandedID{Brand: placement.Brand{'U', 'S', 'R'}, Snowflake: ms<<22 | r&(1<<22-1)}.String()
	}
}

// stringIDs makes ids of 48 hexadecimal digits.
func stringIDs(seed uint64) idOf {
	return func(i int) string {
		n := 3 * uint64(i)
		return fmt.Sprintf("%016x%016x%016x", scramble(seed+seedIDs, n), scramble(seed+seedIDs, n+1), scramble(seed+seedIDs, n+2))
	}
}

// ids makes ids first to first+n−1.
func (of idOf) ids(first, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = of(first + i)
	}
	return ids
}

// placements returns where ids stand, in their order.
func placements(kind placement.Kind, ids []string) ([]uint32, error) {
	at := make([]uint32, len(ids))
	for i, id := range ids {
		_, m, err := kind.Parse(id)
		if err != nil {
			return nil, err
		}
		at[i] = m.Placement()
	}
	return at, nil
}

// distinct returns how many different placements there are in some lists: the
// cardinality that a bitmap of them must have.
func distinct(lists ...[]uint32) int {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return len(slices.Compact(all))
}

// nearly reports whether got is what a hashed store may count of n ids: it is short by
// those that share a placement, n²/2³³ of them expected.
func nearly(got, n int) bool { return got <= n && n-got <= n/1000+2+n*n>>32 }
