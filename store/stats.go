package store

import (
	"cmp"
	"fmt"
	"os"
	"slices"
)

// Stats says what a store takes.
type Stats struct {
	FileBytes       int64  // size of the file
	PageSize        int    // bytes
	Pages           int64  // up to the last one that was ever used
	FreePages       int64  // of these free; −1 where it is not known, open for reading only
	JournalOps      uint64 // operations and ids not yet folded
	JournalBytes    uint64 // of their records
	RegistryBytes   uint64 // pages of all brands' registries, tables of ordinals included
	RememberedBytes uint64 // chunks of first days and unions of periods
	HeapBytes       uint64 // estimated memory of what is not folded
	Sketches        uint64 // of pages and days, without what the journal holds
	SketchBytes     uint64 // of them in the file
	Events          []Event
	Sets            []SavedSet
	Fields          []Field
}

// Stats measures the store. Cost: the registry's and the journal's pages and
// every day's record are visited, no chunk or sketch of a day is.
func (s *Snapshot) Stats() (st Stats, err error) {
	st.Events, err = s.Events("")
	if err != nil {
		return st, err
	}
	err = s.do("stats", func() error {
		if st.Sets, err = s.savedSets(); err != nil {
			return err
		}
		if st.Fields, err = s.allFields(); err != nil {
			return err
		}
		for i := range st.Fields {
			st.Fields[i].Count = s.countOf(st.Fields[i])
		}
		info, err := os.Stat(s.db.cfg.Path)
		if err != nil {
			return err
		}
		st.FileBytes = info.Size()
		st.PageSize = s.db.bolt.Info().PageSize
		st.Pages = s.tx.Size() / int64(st.PageSize)
		st.FreePages = -1
		if !s.db.cfg.ReadOnly {
			free := s.db.bolt.Stats()
			st.FreePages = int64(free.FreePageN + free.PendingPageN)
		}
		st.JournalOps = uint64(s.view.ops)
		st.HeapBytes = s.view.heapBytes()
		c := s.journal().Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			st.JournalBytes += uint64(len(v))
		}
		st.JournalBytes += s.db.logBytes()
		b := s.registry().Stats()
		if ordinals := s.tx.Bucket(bucketOrdinals); ordinals != nil {
			b.Add(ordinals.Stats())
		}
		st.RegistryBytes = uint64(b.LeafAlloc + b.BranchAlloc)
		if err := s.eachKept(func(_ keptKey, rec keptRecord) { st.RememberedBytes += rec.bytes }); err != nil {
			return err
		}
		days, err := s.sketchDaysIn(Period{MinDay, MaxDay})
		for _, d := range days {
			t, err := s.sketchTotal(d)
			if err != nil {
				return err
			}
			st.Sketches += t.first
			st.SketchBytes += t.second
		}
		return err
	})
	return st, err
}

// BigDay is one day of an event with what it takes.
type BigDay struct {
	Event string
	Day   Day
	Count uint64
	Bytes uint64 // of its chunks in the file
}

// Biggest lists the n days with the most bytes, largest first, then by event
// and day. Cost: one small record a stored day.
func (s *Snapshot) Biggest(n int) (days []BigDay, err error) {
	events, err := s.Events("")
	if err != nil {
		return nil, err
	}
	err = s.do("biggest days", func() error {
		for _, e := range events {
			counts, err := s.dayCounts(e.number, Period{MinDay, MaxDay})
			if err != nil {
				return fmt.Errorf("%q: %w", e.Name, err)
			}
			for _, c := range counts {
				t, err := s.total(makeDayKey(e.number, c.Day))
				if err != nil {
					return fmt.Errorf("%q: %w", e.Name, err)
				}
				days = append(days, BigDay{e.Name, c.Day, c.Count, t.second})
			}
		}
		return nil
	})
	slices.SortFunc(days, func(a, b BigDay) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Day, b.Day))
	})
	return days[:min(max(n, 0), len(days))], err
}
