package store_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"cohort/placement"
	"cohort/store"

	"github.com/axiomhq/hyperloglog"
	"pgregory.net/rapid"
)

// visitModel is what a store should hold of visits: for each page, brand and day
// the hashes of the ids.
type visitModel struct {
	kind  placement.Kind
	p     uint8
	pages map[modelPage]map[store.Day]map[uint64]bool
}

type modelPage struct {
	name  string
	brand placement.Brand
}

func (m *visitModel) add(t tb, page, id string, day store.Day) {
	t.Helper()
	brand, mixed, err := m.kind.Parse(id)
	if err != nil {
		t.Fatalf("%v", err)
	}
	k := modelPage{page, brand}
	if m.pages[k] == nil {
		m.pages[k] = make(map[store.Day]map[uint64]bool)
	}
	if m.pages[k][day] == nil {
		m.pages[k][day] = make(map[uint64]bool)
	}
	m.pages[k][day][mixed.Hash()] = true
}

// estimate is what one sketch of the library says of the visits that match.
func (m *visitModel) estimate(match func(modelPage, store.Day) bool) uint64 {
	s, err := hyperloglog.NewSketch(m.p, true)
	if err != nil {
		panic(err)
	}
	for k, days := range m.pages {
		for d, hashes := range days {
			if match(k, d) {
				for h := range hashes {
					s.InsertHash(h)
				}
			}
		}
	}
	return s.Estimate()
}

// check compares everything that a snapshot tells of visits with the model.
func (m *visitModel) check(t tb, s *store.Snapshot) {
	t.Helper()
	in := func(d store.Day, periods []store.Period) bool {
		return slices.ContainsFunc(periods, func(p store.Period) bool { return p.Contains(d) })
	}
	pages, err := s.AllPages()
	if err != nil {
		t.Fatalf("%v", err)
	}
	known := make(map[modelPage]store.Page)
	for _, p := range pages {
		known[modelPage{p.Name, p.Brand}] = p
	}
	brands := make(map[placement.Brand]bool)
	days := make(map[store.Day]bool)
	for k, ds := range m.pages {
		for d := range ds {
			brands[k.brand], days[d] = true, true
		}
		if _, ok := known[k]; !ok {
			t.Fatalf("page %v is not listed", k)
		}
	}
	all := store.Period{First: store.MinDay, Last: store.MaxDay}
	if got, err := s.VisitDays(all); err != nil || !slices.Equal(got, slices.Sorted(maps.Keys(days))) {
		t.Fatalf("days of visits %v, %v", got, err)
	}
	for _, periods := range [][]store.Period{
		{all}, {{First: today, Last: today}}, {{First: today - 1, Last: today}, {First: today - 40, Last: today - 1}, {First: 5, Last: 4}},
		{{First: today - 70, Last: today - 3}}, {},
	} {
		for k := range m.pages {
			p := known[k]
			want := m.estimate(func(q modelPage, d store.Day) bool { return q == k && in(d, periods) })
			if got, err := s.Uniques(p, periods...); err != nil || got.Count != want {
				t.Fatalf("uniques of %v over %v: %v, %v, want %d", k, periods, got, err, want)
			}
		}
		for b := range brands {
			want := m.estimate(func(q modelPage, d store.Day) bool { return q.brand == b && in(d, periods) })
			if got, err := s.SiteUniques(b, periods...); err != nil || got.Count != want {
				t.Fatalf("uniques of the site, brand %q, over %v: %v, %v, want %d", b, periods, got, err, want)
			}
		}
		m.checkTop(t, s, periods, in)
	}
}

func (m *visitModel) checkTop(t tb, s *store.Snapshot, periods []store.Period, in func(store.Day, []store.Period) bool) {
	t.Helper()
	var want []string
	type row struct {
		k modelPage
		n uint64
	}
	var rows []row
	for k := range m.pages {
		if n := m.estimate(func(q modelPage, d store.Day) bool { return q == k && in(d, periods) }); n > 0 {
			rows = append(rows, row{k, n})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.k.name, b.k.name), cmp.Compare(a.k.brand.String(), b.k.brand.String()))
	})
	for _, r := range rows[:min(3, len(rows))] {
		want = append(want, fmt.Sprint(r.k, r.n))
	}
	top, err := s.TopPages(3, periods...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	var got []string
	for _, p := range top {
		got = append(got, fmt.Sprint(modelPage{p.Page.Name, p.Page.Brand}, p.Count))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("top pages over %v: %v, want %v", periods, got, want)
	}
}

// TestVisitModel observes and loads random visits, folds, deletes, reopens and
// crashes, and compares the answers with the library's sketches of the same ids.
func TestVisitModel(t *testing.T) {
	work := workDir(t)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(work, "run")
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer os.RemoveAll(dir)
		kind := rapid.SampledFrom([]placement.Kind{placement.Branded, placement.String, placement.Number}).Draw(t, "kind")
		opts := options(kind)
		opts.SketchPrecision = rapid.SampledFrom([]int{10, 10, 10, 11}).Draw(t, "precision")
		opts.WeekStart = rapid.SampledFrom([]store.WeekStart{store.Monday, store.Sunday}).Draw(t, "week start")
		opts.FoldMarks = rapid.SampledFrom([]int{0, 5, 500}).Draw(t, "FoldMarks")
		m := &visitMachine{
			visitModel: visitModel{kind: kind, p: uint8(opts.SketchPrecision), pages: make(map[modelPage]map[store.Day]map[uint64]bool)},
			dir:        dir, opts: opts, path: filepath.Join(dir, "0"),
			r: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)),
		}
		m.db = mustOpen(t, m.path, opts)
		defer func() { _ = m.db.Close() }() // a failed run has said so already
		m.fill(t)
		t.Repeat(map[string]func(*rapid.T){
			"":        func(t *rapid.T) { m.checkNow(t) },
			"observe": m.observe,
			"many":    m.many,
			"load":    m.load,
			"delete":  m.delete,
			"fold":    func(t *rapid.T) { must(t, m.db.Fold(ctx)) },
			"reopen":  m.reopen,
			"crash":   m.crash,
			"mark":    m.mark,
			"erase":   m.erase,
		})
		m.checkAll(t)
	})
}

type visitMachine struct {
	visitModel
	db    *store.DB
	opts  *store.Options
	dir   string
	path  string
	files int
	r     *rand.Rand
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func (m *visitMachine) checkNow(t *rapid.T) {
	if m.r.IntN(12) > 0 { // the library takes most of the time
		return
	}
	m.checkAll(t)
}

func (m *visitMachine) checkAll(t *rapid.T) {
	s, err := m.db.Snapshot()
	must(t, err)
	defer s.Close()
	m.check(t, s)
	if faults, _ := verify(t, m.db); len(faults) > 0 {
		t.Fatalf("faults: %q", faults)
	}
}

// erase erases an id. Its visits stay counted: a sketch cannot forget one.
func (m *visitMachine) erase(t *rapid.T) {
	_, err := m.db.Erase(ctx, m.id(m.r.IntN(50)))
	must(t, err)
}

func (m *visitMachine) id(n int) string {
	if m.kind == placement.Branded {
		b := placement.Brand([]byte{"UA"[n%2], 'S', 'R'})
		return placement.BrandedID{Brand: b, Snowflake: uint64(n / 2)}.String()
	}
	return fmt.Sprint(n)
}

func (m *visitMachine) draw(ids int) store.Visit {
	page := fmt.Sprintf("/page/%d", m.r.IntN(6)*50) // some in other blocks
	return store.Visit{Page: page, ID: m.id(m.r.IntN(ids)), Day: today - store.Day(m.r.IntN(60)*m.r.IntN(2)) + 1}
}

// fill takes the numbers of some blocks' pages, which are then without visits.
func (m *visitMachine) fill(t *rapid.T) {
	l, err := m.db.LoadVisits(ctx)
	must(t, err)
	for i := range 300 {
		must(t, l.Add(fmt.Sprintf("/page/%d", i), m.id(0), today-200))
	}
	_, err = l.Close()
	must(t, err)
	must(t, m.db.DeleteVisits(ctx, store.Period{First: today - 200, Last: today - 200}))
}

func (m *visitMachine) observe(t *rapid.T) {
	v := m.draw(50)
	first, err := m.db.Observe(ctx, v.Page, v.ID, v.Day)
	must(t, err)
	if again, err := m.db.Observe(ctx, v.Page, v.ID, v.Day); err != nil || again != store.Already || first == 0 {
		t.Fatalf("observed %v, then %v, %v", first, again, err)
	}
	m.add(t, v.Page, v.ID, v.Day)
}

// mark is there to share the journal's records.
func (m *visitMachine) mark(t *rapid.T) {
	_, err := m.db.Mark(ctx, "event", m.id(2*m.r.IntN(50)), today-store.Day(m.r.IntN(3)))
	if m.kind == placement.Branded || err == nil {
		must(t, err)
	}
}

func (m *visitMachine) visits(n, ids int) []store.Visit {
	visits := make([]store.Visit, n)
	hot := m.draw(ids)
	for i := range visits {
		visits[i] = m.draw(ids)
		if i%2 == 0 { // enough on one page to make it large and dense
			visits[i].Page, visits[i].Day = hot.Page, hot.Day
		}
	}
	return visits
}

func (m *visitMachine) many(t *rapid.T) {
	visits := m.visits(m.r.IntN(900), 600)
	tally, err := m.db.ObserveMany(ctx, slices.Values(visits))
	must(t, err)
	if int(tally.Marks()) != len(visits) || tally.Shared != 0 {
		t.Fatalf("%d visits: %+v", len(visits), tally)
	}
	for _, v := range visits {
		m.add(t, v.Page, v.ID, v.Day)
	}
}

func (m *visitMachine) load(t *rapid.T) {
	visits := m.visits(m.r.IntN(400), 600)
	l, err := m.db.LoadVisits(ctx)
	must(t, err)
	for _, v := range visits {
		must(t, l.Add(v.Page, v.ID, v.Day))
		m.add(t, v.Page, v.ID, v.Day)
	}
	tally, err := l.Close()
	must(t, err)
	if int(tally.Marks()) != len(visits) {
		t.Fatalf("%d visits: %+v", len(visits), tally)
	}
}

func (m *visitMachine) delete(t *rapid.T) {
	p := store.Period{First: today - store.Day(m.r.IntN(60))}
	p.Last = p.First + store.Day(m.r.IntN(20)) - 1
	must(t, m.db.DeleteVisits(ctx, p))
	for _, days := range m.pages {
		maps.DeleteFunc(days, func(d store.Day, _ map[uint64]bool) bool { return p.Contains(d) })
	}
}

func (m *visitMachine) reopen(t *rapid.T) {
	must(t, m.db.Close())
	m.db = mustOpen(t, m.path, m.opts)
}

func (m *visitMachine) crash(t *rapid.T) {
	m.files++
	path := filepath.Join(m.dir, fmt.Sprint(m.files))
	must(t, m.db.CopyFile(path))
	must(t, m.db.Close())
	m.path = path
	m.db = mustOpen(t, m.path, m.opts)
}

// TestVisitsConcurrent observes, loads, marks, folds and asks at once, and compares
// what there is in the end with the model. Estimates never fall meanwhile.
func TestVisitsConcurrent(t *testing.T) {
	opts := options(decimals())
	opts.FoldMarks = 300
	db := mustOpen(t, filepath.Join(workDir(t), "db"), opts)
	defer mustClose(t, db)
	const writers, visits = 6, 400
	visit := func(w, i int) store.Visit {
		return store.Visit{Page: fmt.Sprint("page ", (w+i)%5), ID: fmt.Sprint(w*i%700 + i), Day: today - store.Day(i%3)}
	}
	var writing, rest sync.WaitGroup
	fail := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for w := range writers {
		writing.Go(func() {
			for i := range visits {
				v := visit(w, i)
				_, err := db.Observe(ctx, v.Page, v.ID, v.Day)
				fail(err)
				if i%20 == w {
					_, err = db.Mark(ctx, "event", v.ID, v.Day)
					fail(err)
				}
			}
		})
	}
	writing.Go(func() {
		for from := 0; from < visits; from += 100 {
			var some []store.Visit
			for i := range 5000 { // straight into the sketches
				some = append(some, visit(writers, from+i%100))
			}
			_, err := db.ObserveMany(ctx, slices.Values(some))
			fail(err)
		}
	})
	done := make(chan struct{})
	rest.Go(func() {
		last := uint64(0)
		for {
			select {
			case <-done:
				return
			default:
			}
			fail(db.Fold(ctx))
			s, err := db.Snapshot()
			if err != nil {
				t.Error(err)
				return
			}
			all := store.Period{First: today - 2, Last: today}
			n, err := s.SiteUniques(placement.Brand{}, all)
			fail(err)
			if n.Count < last {
				t.Errorf("uniques of the site fall from %d to %d", last, n.Count)
			}
			last = n.Count
			_, err = s.TopPages(2, all)
			fail(err)
			fail(s.Close())
		}
	})
	writing.Wait()
	close(done)
	rest.Wait()
	m := &visitModel{kind: decimals(), p: 14, pages: make(map[modelPage]map[store.Day]map[uint64]bool)}
	for w := range writers + 1 {
		for i := range visits {
			v := visit(w, i)
			m.add(t, v.Page, v.ID, v.Day)
		}
	}
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m.check(t, s)
}
