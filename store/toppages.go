package store

import (
	"cmp"
	"slices"

	"cohort/store/internal/hll"
)

// The pages with the largest unions over several days are found without making the
// unions of all pages: a union is at most the sum of its days, whose estimates
// stand in the lists of the blocks. Pages are united in the order of those sums,
// until the next sum is less than the n-th largest union. That is the threshold
// algorithm of Fagin, Lotem and Naor (PODS 2001), with one list. Estimates are
// no exact counts: a union may be estimated larger than the sum of its days, and
// so a sum counts topSlack standard errors more.
const topSlack = 5

// topSum is what a page can have at most.
type topSum struct {
	page  uint32
	bound uint64
}

func (r *reader) topPages(n int, periods []Period) ([]PageEstimate, error) {
	if n < 1 {
		return nil, nil
	}
	sums, err := r.topSums(periods)
	if err != nil {
		return nil, err
	}
	names, err := r.pageNames()
	if err != nil {
		return nil, err
	}
	var top []PageEstimate
	for _, s := range sums {
		bound := float64(s.bound) * (1 + topSlack*hll.StdError(r.precision))
		if len(top) >= n && bound < float64(top[n-1].Count) {
			break
		}
		p, ok := names[s.page]
		if !ok {
			return nil, corruptf("page number %d has visits and no name", s.page)
		}
		to := hll.New(r.precision)
		if err := r.mergePage(to, p, periods); err != nil {
			return nil, err
		}
		top = append(top, PageEstimate{p, Estimate{to.Estimate(), hll.StdError(r.precision)}})
		slices.SortFunc(top, comparePages)
		top = top[:min(len(top), n)]
	}
	return top, nil
}

func comparePages(a, b PageEstimate) int {
	return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Page.Name, b.Page.Name),
		cmp.Compare(brandKey(a.Page.Brand), brandKey(b.Page.Brand)))
}

// topSums returns the pages with visits, those that can have the most first.
func (r *reader) topSums(periods []Period) ([]topSum, error) {
	var bounds []uint64 // by page number, up to the greatest that is met
	add := func(page uint32, n uint64) {
		if more := int(page) + 1 - len(bounds); more > 0 {
			bounds = append(bounds, make([]uint64, more)...)
		}
		bounds[page] += n
	}
	for _, p := range periods {
		days, err := r.sketchDaysIn(p)
		if err != nil {
			return nil, err
		}
		for _, d := range days {
			err := r.eachSketch(d, false, func(e blockEntry, _ byte, _ []byte) error {
				add(e.page, e.estimate)
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		r.view.visitsBetween(p, func(k visitKey, o *visitOps) bool {
			add(k.page(), uint64(o.hashes.size()))
			return true
		})
	}
	var sums []topSum
	for page, bound := range bounds {
		if bound > 0 {
			sums = append(sums, topSum{uint32(page), bound})
		}
	}
	slices.SortFunc(sums, func(a, b topSum) int {
		return cmp.Or(cmp.Compare(b.bound, a.bound), cmp.Compare(a.page, b.page))
	})
	return sums, nil
}
