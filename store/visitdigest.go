package store

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"cohort/store/internal/hll"
)

// digestVisits adds what the store knows of visits: nothing where there are none.
// A sketch is the same however its visits came, and so is its encoding.
func (s *Snapshot) digestVisits(d *digester) error {
	days, err := s.visitDays(Period{MinDay, MaxDay})
	if len(days) == 0 || err != nil {
		return err
	}
	names, err := s.pageNames()
	if err != nil {
		return err
	}
	d.text("visits")
	d.number(uint64(s.precision))
	for _, day := range days {
		d.text(day.String())
		if err := s.digestSketches(d, day, names); err != nil {
			return err
		}
	}
	return nil
}

// digestSketches adds the sketches of a day in the order of their pages' names.
func (s *Snapshot) digestSketches(d *digester, day Day, names map[uint32]Page) error {
	type row struct {
		page Page
		sum  [sha256.Size]byte
	}
	var rows []row
	add := func(page uint32, kind byte, data []byte) {
		rows = append(rows, row{names[page], sha256.Sum256(append([]byte{kind}, data...))})
	}
	merged := func(page uint32) error {
		sum := hll.New(s.precision)
		if err := s.mergeDay(sum, day, page); err != nil {
			return err
		}
		kind, data := sum.Encode()
		add(page, kind, data)
		return nil
	}
	unfolded := make(map[uint32]bool)
	s.view.visitsBetween(Period{day, day}, func(k visitKey, _ *visitOps) bool {
		unfolded[k.page()] = true
		return true
	})
	err := s.eachSketch(day, true, func(e blockEntry, kind byte, data []byte) error {
		if !unfolded[e.page] {
			add(e.page, kind, data)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for page := range unfolded {
		if err := merged(page); err != nil {
			return err
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.page.Name, b.page.Name), cmp.Compare(brandKey(a.page.Brand), brandKey(b.page.Brand)))
	})
	d.number(uint64(len(rows)))
	for _, r := range rows {
		d.text(r.page.Name)
		d.text(r.page.Brand.String())
		_, _ = d.h.Write(r.sum[:]) // a hash never fails
	}
	return nil
}
