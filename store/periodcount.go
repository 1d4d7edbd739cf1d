package store

// PeriodCount returns the exact number of positions that an event has on any day of a
// period, from small records alone: where it has bits on one day of it at the most, or
// where the union of its days is remembered and none of them changed since (see
// DB.Remember). ok is false where those do not tell. Cost: a small record a stored day
// of the event, once in a snapshot.
func (s *Snapshot) PeriodCount(e Event, p Period) (count uint64, ok bool, err error) {
	err = s.do("count of event "+e.Name, func() error {
		t, err := s.timelineOf(e.number)
		if err != nil {
			return err
		}
		count, ok = s.countNoted(t, p)
		return nil
	})
	return count, ok && err == nil, err
}

func (r *reader) countNoted(t *timeline, p Period) (count uint64, ok bool) {
	p = p.Intersect(Period{MinDay, MaxDay})
	if p.Empty() {
		return 0, true
	}
	switch from := t.index(p.First); t.index(p.Last+1) - from {
	case 0:
		return 0, true
	case 1:
		return t.days[from].Count, true
	}
	parts := t.cover(p)
	u := parts[0].rollup
	if len(parts) > 1 || u == nil || u.stale > 0 || u.rec.dropped > 0 {
		return 0, false
	}
	// Of all days of the union: one that the journal empties is stored no more, and so
	// may lie outside of a period that the union stands for.
	unfolded := false
	r.view.days.Ascend(makeDayKey(t.event, u.period.First), func(k dayKey, _ *dayOps) bool {
		unfolded = k <= makeDayKey(t.event, u.period.Last)
		return false
	})
	return u.rec.cardinality, !unfolded
}
