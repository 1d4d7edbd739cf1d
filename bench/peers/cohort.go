package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"cohort/query"
	"cohort/store"
)

// library is this library, over a store of branded ids.
type library struct {
	db   *store.DB
	path string
	w    *workload
}

func openLibrary(path string, opts store.Options, w *workload) (*library, error) {
	opts.Create = store.CreateOnly
	db, err := store.Open(path, &opts)
	return &library{db: db, path: path, w: w}, err
}

func (l *library) load(ctx context.Context, w *workload) error {
	load, err := l.db.Load(ctx)
	if err != nil {
		return err
	}
	err = w.each(func(e, d, person int) error { return load.Add(events[e].name, w.ids[person], dayOf(d)) })
	_, closeErr := load.Close()
	return errors.Join(err, closeErr)
}

func (l *library) ask(ctx context.Context, q question) ([]uint64, error) {
	last := dayOf(days - 1)
	switch q {
	case dayCount:
		return one(query.Count(ctx, l.db, "active", query.Day(last)))
	case union7:
		return one(query.Count(ctx, l.db, "active", query.Trailing(7, last)))
	case union30:
		return one(query.Count(ctx, l.db, "active", query.Trailing(30, last)))
	case retention7:
		r, err := query.RetentionBetween(ctx, l.db, "active", firstDay, firstDay+7)
		return []uint64{r.Size, r.Cell.Count}, err
	case triangle:
		r, err := query.Retention(ctx, l.db, "active", query.RetentionOptions{Periods: days, AsOf: &last})
		if err != nil {
			return nil, err
		}
		var cells []uint64
		for _, row := range r.Cohorts {
			for _, c := range row.Cells {
				if !c.Incomplete {
					cells = append(cells, c.Count)
				}
			}
		}
		return cells, nil
	case dayFunnel:
		return l.funnel(ctx, query.Day(last))
	case monthFunnel:
		return l.funnel(ctx, query.Trailing(30, last))
	}
	r, err := query.Calendar(ctx, l.db, "active", l.w.ids[someone%l.w.people], query.Trailing(30, last))
	if err != nil {
		return nil, err
	}
	var on []uint64
	for _, d := range r.Days {
		on = append(on, uint64(d-firstDay))
	}
	return on, nil
}

func one(n uint64, err error) ([]uint64, error) { return []uint64{n}, err }

func (l *library) funnel(ctx context.Context, over query.Period) ([]uint64, error) {
	r, err := query.AndCount(ctx, l.db, over, events[0].name, events[1].name, events[2].name)
	if err != nil {
		return nil, err
	}
	var reached []uint64
	for _, s := range r.Steps {
		reached = append(reached, s.Reached)
	}
	return reached, nil
}

func (l *library) mark(ctx context.Context, person int) error {
	r, err := l.db.Mark(ctx, events[0].name, l.w.ids[person], dayOf(days))
	if err == nil && r != store.New && r != store.Shared {
		err = fmt.Errorf("person %d: %s", person, r)
	}
	return err
}

func (l *library) marksDurably() bool { return true }

func (l *library) bytes() (int64, error) {
	info, err := os.Stat(l.path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (l *library) close() error { return l.db.Close() }
