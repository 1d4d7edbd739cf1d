package query_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"cohort/placement"
	"cohort/query"
	"cohort/store"
)

// allVisits stands for the name of an event where a period is one of visits.
const allVisits = "\x00visits"

// pageNames are the names of pages, of which the last is never visited.
var pageNames = []string{"/", "/a b", "active", "/never"}

// visitor is what a sketch of few visits keeps of an id.
func (m *model) visitor(id string) uint64 {
	_, mixed, err := m.kind.Parse(id)
	if err != nil {
		panic(err)
	}
	return mixed.Hash() >> 39
}

// visitDays returns the first and the last day with a visit of any page.
func (m *model) visitDays() (first, last store.Day, ok bool) {
	var all []store.Day
	for _, days := range m.visits {
		all = slices.AppendSeq(all, maps.Keys(days))
	}
	if len(all) == 0 {
		return 0, 0, false
	}
	return slices.Min(all), slices.Max(all), true
}

// observe visits pages, and sometimes the same again.
func (w *world) observe(t *testing.T) {
	for range 1 + w.rng.IntN(12) {
		b, d := w.anyBrand(), w.markDay(t)
		page, id := store.Page{Name: pageNames[w.rng.IntN(len(pageNames)-1)], Brand: b}, w.anyID(b)
		if w.visits[page] == nil {
			w.visits[page] = map[store.Day]map[uint64]bool{}
		}
		if w.visits[page][d] == nil {
			w.visits[page][d] = map[uint64]bool{}
		}
		want := store.New
		if w.visits[page][d][w.visitor(id)] {
			want = store.Already
		}
		w.visits[page][d][w.visitor(id)] = true
		if got, err := w.db.Observe(t.Context(), page.Name, id, d); err != nil || got != want {
			t.Fatalf("visit of %v by %s on %v: got %v, %v, want %v", page, id, d, got, err, want)
		}
	}
}

// askUniques asks about pages, the site and the pages with the most. Sketches of so
// few are exact.
func (w *world) askUniques(t *testing.T, src query.Source) {
	asOf := w.asOf()
	a := w.ask(asOf, false)
	var periods []query.Period
	var read []store.Period
	for range 1 + w.rng.IntN(3) {
		p := w.period()
		first, last := p.read(a, allVisits)
		periods, read = append(periods, p.Period), append(read, store.Period{First: first, Last: last})
	}
	var names []string
	for range 1 + w.rng.IntN(2) {
		names = append(names, pageNames[w.rng.IntN(len(pageNames))])
	}
	n := 1 + w.rng.IntN(6)
	pages, top, site := w.uniques(names, read)
	got, err := query.Uniques(t.Context(), src, names, periods, options(asOf)...)
	compareUniques(t, "uniques", got, err, pages, periods, asOf)
	got, err = query.TopPages(t.Context(), src, n, periods, options(asOf)...)
	compareUniques(t, "top pages", got, err, top[:min(n, len(top))], periods, asOf)
	got, err = query.SiteUniques(t.Context(), src, periods, options(asOf)...)
	compareUniques(t, "site", got, err, site, periods, asOf)
}

// uniques counts the visitors of some pages, of all that have any, the most first,
// and of the site.
func (m *model) uniques(names []string, periods []store.Period) (pages, top, site []query.PageUniques) {
	row := func(page store.Page, ids map[uint64]bool) query.PageUniques {
		return query.PageUniques{Page: page.Name, Brand: page.Brand, Estimate: store.Estimate{Count: uint64(len(ids))}}
	}
	all := slices.SortedFunc(maps.Keys(m.visits), func(x, y store.Page) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Brand.String(), y.Brand.String()))
	})
	visitors, ofBrand := map[store.Page]map[uint64]bool{}, map[placement.Brand]map[uint64]bool{}
	for _, page := range all {
		ids := map[uint64]bool{}
		for d, visited := range m.visits[page] {
			if slices.ContainsFunc(periods, func(p store.Period) bool { return d >= p.First && d <= p.Last }) {
				maps.Copy(ids, visited)
			}
		}
		if visitors[page] = ids; len(ids) > 0 {
			top = append(top, row(page, ids))
		}
		if ofBrand[page.Brand] == nil {
			ofBrand[page.Brand] = map[uint64]bool{}
		}
		maps.Copy(ofBrand[page.Brand], ids)
	}
	for _, name := range names {
		before := len(pages)
		for _, page := range all {
			if page.Name == name {
				pages = append(pages, row(page, visitors[page]))
			}
		}
		if len(pages) == before {
			pages = append(pages, row(store.Page{Name: name}, nil))
		}
	}
	for b, ids := range ofBrand {
		site = append(site, row(store.Page{Brand: b}, ids))
	}
	slices.SortStableFunc(top, func(x, y query.PageUniques) int { return cmp.Compare(y.Count, x.Count) })
	slices.SortFunc(site, func(x, y query.PageUniques) int { return cmp.Compare(x.Brand.String(), y.Brand.String()) })
	return pages, top, site
}

func compareUniques(t *testing.T, what string, got []query.PageUniques, err error, want []query.PageUniques, periods []query.Period, asOf *store.Day) {
	t.Helper()
	for i := range got {
		got[i].StdError = 0
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s over %v as of %s: got %+v, %v, want %+v", what, periods, asOfText(asOf), got, err, want)
	}
}
