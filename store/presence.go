package store

// Presence says whether an id was active.
type Presence struct {
	Has    bool // its bit is set
	Shared bool // another known id has the same bit: it stands at its placement
}

// Has reports whether the id's bit is set on any day of the period. For an
// event never written it is not. An id of another brand than the event's is
// ErrOtherBrand. Cost: a binary search in one chunk a day.
func (s *Snapshot) Has(event, id string, p Period) (at Presence, err error) {
	at.Shared, err = s.lookAt("has "+event, event, id, p, func(r *reader, keys []dayKey, pos uint32) error {
		for _, k := range keys {
			set, _, err := r.bit(k, pos)
			if set || err != nil {
				at.Has = set
				return err
			}
		}
		return nil
	})
	return at, err
}

// Has reports whether the id's bit is set on the day, in a snapshot of its own.
func (db *DB) Has(event, id string, day Day) (Presence, error) {
	s, err := db.Snapshot()
	if err != nil {
		return Presence{}, err
	}
	at, err := s.Has(event, id, Period{day, day})
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return at, err
}

// ActiveDays lists the days of the period on which the id's bit is set,
// ascending, and tells whether another known id stands at its placement. For an
// event never written there are none. An id of another brand than the event's is
// ErrOtherBrand. Cost: a binary search in one chunk a day that is stored.
func (s *Snapshot) ActiveDays(event, id string, p Period) (days []Day, shared bool, err error) {
	shared, err = s.lookAt("days of "+event, event, id, p, func(r *reader, keys []dayKey, pos uint32) error {
		for _, k := range keys {
			set, _, err := r.bit(k, pos)
			if err != nil {
				return err
			}
			if set {
				days = append(days, k.day())
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	return days, shared, nil
}

// lookAt calls look with the stored days of an event in the period and the
// position of an id, unless the event was never written. It tells whether another
// known id stands at the position.
func (s *Snapshot) lookAt(what, event, id string, p Period, look func(r *reader, keys []dayKey, pos uint32) error) (shared bool, err error) {
	if err := CheckEvent(event); err != nil {
		return false, err
	}
	brand, mixed, err := s.set.ids.Parse(id)
	if err != nil {
		return false, err
	}
	err = s.do(what, func() error {
		at, err := s.known(brand, mixed)
		if err != nil {
			return err
		}
		shared = s.set.shares(at)
		e, ok, err := s.event(event)
		if err != nil || !ok {
			return err
		}
		if err := checkBrand(event, e.brand, id, brand); err != nil {
			return err
		}
		if !at.placed {
			return nil
		}
		keys, err := s.storedKeys(e.number, p)
		if err != nil {
			return err
		}
		return look(&s.reader, keys, at.pos)
	})
	return shared, err
}
