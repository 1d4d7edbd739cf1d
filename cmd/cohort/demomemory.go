package main

import (
	"context"
	"fmt"

	"cohort/placement"
	"cohort/store"
)

// demoMemory is what the store takes, beside what flat bitmaps would.
type demoMemory struct {
	IDs   uint64      `json:"ids"`
	Keys  int         `json:"keys"`  // events, each by its days
	Marks uint64      `json:"marks"` // over all keys
	Rows  []memoryRow `json:"rows"`
}

// memoryRow is one way to keep the marks.
type memoryRow struct {
	What     string   `json:"what"`
	Bytes    uint64   `json:"bytes"`
	PerKey   *float64 `json:"bytes_per_key"`
	PerMark  *float64 `json:"bytes_per_id_and_day"`
	Computed bool     `json:"computed"` // not made and measured
}

// measure measures the store, and computes what flat bitmaps would take.
func (d *demo) measure(ctx context.Context) (*demoMemory, error) {
	m := &demoMemory{}
	err := d.sub().ask(ctx, func(snap *store.Snapshot) error {
		st, err := snap.Stats()
		if err != nil {
			return err
		}
		brands, err := snap.Brands()
		if err != nil {
			return err
		}
		for _, b := range brands {
			m.IDs += b.IDs
		}
		var bitmaps uint64
		for _, e := range st.Events {
			m.Keys += e.Days
			m.Marks += e.Marks
			bitmaps += e.Bytes
		}
		keys := uint64(m.Keys)
		m.add("the bitmaps of this store", bitmaps, false)
		m.add("the whole file of this store", uint64(st.FileBytes), false)
		m.add("flat bitmaps over placements (computed)", keys*placement.Placements/8, true)
		m.add("flat bitmaps over dense ids (computed)", keys*((m.IDs+7)/8), true)
		return nil
	})
	return m, err
}

func (m *demoMemory) add(what string, bytes uint64, computed bool) {
	m.Rows = append(m.Rows, memoryRow{what, bytes, each(bytes, uint64(m.Keys)), each(bytes, m.Marks), computed})
}

// writeMemory shows the sizes.
func (d *demo) writeMemory(m *demoMemory) error {
	_, err := fmt.Fprintf(d.out, "\nWhat the marks take, beside flat bitmaps; %s shows more of the store\n", d.commandLine([]string{"stats"}))
	if err != nil {
		return err
	}
	g := &grid{head: []string{"kept_as", "bytes", "a_key", "per_id_and_day"}}
	for _, r := range m.Rows {
		g.add(r.What, r.Bytes, r.Bytes/uint64(max(m.Keys, 1)), orNil(r.PerMark))
	}
	return d.write(nil, g, fmt.Sprintf(
		`A key is one event on one day: there are %d. The file also has the registry of the ids.
Flat bitmaps are computed, not made. Over placements one has 2³² bits, 512 MiB. Over dense ids it
has a bit for each of the %s ids there are by now; what numbers the ids is not counted.`, m.Keys, grouped(m.IDs)))
}
