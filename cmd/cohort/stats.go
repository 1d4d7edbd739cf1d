package main

import (
	"context"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) statsCommand() *cobra.Command {
	big := 0
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show what the store takes",
		Long: `Stats shows the sizes of the file and its parts, the bytes of each event and of
each of its marks, and the biggest days. Operations of the journal are marks that
are on disk and not yet folded into the bitmaps.`,
		Example: example("cohort stats", "cohort stats --big 20 --json"),
		Args:    cobra.NoArgs,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if big < 0 {
				return usagef("--big %d: must not be negative", big)
			}
			return a.ask(ctx, func(snap *store.Snapshot) error { return a.stats(snap, big) })
		}),
	}
	cmd.Flags().IntVar(&big, "big", 5, "list the `N` biggest days")
	return cmd
}

// statsResult is what a store takes. Sizes are in bytes.
type statsResult struct {
	Positions     *string     `json:"positions"` // hashed or dense, null in a store of numbers
	FileBytes     int64       `json:"file_bytes"`
	PageSize      int         `json:"page_size"`
	Pages         int64       `json:"pages"`
	FreePages     *int64      `json:"free_pages"` // null where it is not known
	JournalOps    uint64      `json:"journal_ops"`
	JournalBytes  uint64      `json:"journal_bytes"`
	RegistryBytes uint64      `json:"registry_bytes"`
	Remembered    uint64      `json:"remembered_bytes"` // first days and unions of periods
	HeapBytes     uint64      `json:"heap_bytes"`
	Sketches      uint64      `json:"sketches"`
	SketchBytes   uint64      `json:"sketch_bytes"`
	Events        []eventSize `json:"events"`
	Sets          []setResult `json:"sets"`
	Fields        []fieldSize `json:"fields"`
	Biggest       []daySize   `json:"biggest"`
}

type eventSize struct {
	Event      string   `json:"event"`
	Days       int      `json:"days"`
	Marks      uint64   `json:"marks"`
	Bytes      uint64   `json:"bytes"`
	BytesPerID *float64 `json:"bytes_per_id"` // of a day
}

type daySize struct {
	Event      string   `json:"event"`
	Day        string   `json:"day"`
	Count      uint64   `json:"count"`
	Bytes      uint64   `json:"bytes"`
	BytesPerID *float64 `json:"bytes_per_id"`
}

func (a *app) stats(snap *store.Snapshot, big int) error {
	st, err := snap.Stats()
	if err != nil {
		return err
	}
	biggest, err := snap.Biggest(big)
	if err != nil {
		return err
	}
	r := statsResult{
		Positions: positionsName(snap.Config()),
		FileBytes: st.FileBytes, PageSize: st.PageSize, Pages: st.Pages,
		JournalOps: st.JournalOps, JournalBytes: st.JournalBytes, RegistryBytes: st.RegistryBytes, Remembered: st.RememberedBytes, HeapBytes: st.HeapBytes,
		Sketches: st.Sketches, SketchBytes: st.SketchBytes,
		Events: make([]eventSize, len(st.Events)), Sets: make([]setResult, len(st.Sets)), Fields: toFieldSizes(st.Fields), Biggest: make([]daySize, len(biggest)),
	}
	if st.FreePages >= 0 {
		r.FreePages = &st.FreePages
	}
	for i, e := range st.Events {
		r.Events[i] = eventSize{e.Name, e.Days, e.Marks, e.Bytes, each(e.Bytes, e.Marks)}
	}
	for i, s := range st.Sets {
		r.Sets[i] = toSetResult(s)
	}
	for i, d := range biggest {
		r.Biggest[i] = daySize{d.Event, d.Day.String(), d.Count, d.Bytes, each(d.Bytes, d.Count)}
	}
	if a.json {
		return a.write(r, nil)
	}
	return a.writeStats(r)
}

// each returns bytes over n, or nil where n is 0.
func each(bytes, n uint64) *float64 {
	if n == 0 {
		return nil
	}
	ratio := float64(bytes) / float64(n)
	return &ratio
}

// writeStats writes the sizes of the file, of the events, and of the biggest days
// as tables; as CSV the events only, which are the table of one kind of row.
func (a *app) writeStats(r statsResult) error {
	file := &grid{head: []string{"positions", "file_bytes", "page_size", "pages", "free_pages", "journal_ops", "journal_bytes", "registry_bytes", "remembered_bytes", "heap_bytes", "sketches", "sketch_bytes"}}
	file.add(orNil(r.Positions), r.FileBytes, r.PageSize, r.Pages, orNil(r.FreePages), r.JournalOps, r.JournalBytes, r.RegistryBytes, r.Remembered, r.HeapBytes, r.Sketches, r.SketchBytes)
	events := &grid{head: []string{"event", "days", "marks", "bytes", "bytes_per_id"}}
	for _, e := range r.Events {
		events.add(e.Event, e.Days, e.Marks, e.Bytes, orNil(e.BytesPerID))
	}
	days := &grid{head: []string{"event", "day", "count", "bytes", "bytes_per_id"}}
	for _, d := range r.Biggest {
		days.add(d.Event, d.Day, d.Count, d.Bytes, orNil(d.BytesPerID))
	}
	if a.csv {
		return a.write(nil, events)
	}
	if err := a.writeRecord(nil, file, ""); err != nil {
		return err
	}
	if err := a.write(nil, events); err != nil {
		return err
	}
	if err := a.writeSetSizes(r.Sets); err != nil {
		return err
	}
	if len(r.Fields) > 0 {
		if err := writeNotes(a.out, []string{"", "fields"}); err != nil {
			return err
		}
		if err := a.write(nil, fieldGrid(r.Fields)); err != nil {
			return err
		}
	}
	if len(r.Biggest) == 0 {
		return nil
	}
	if err := writeNotes(a.out, []string{"", "biggest days"}); err != nil {
		return err
	}
	return a.write(nil, days)
}

// writeSetSizes writes the saved sets as a table, where there are any.
func (a *app) writeSetSizes(sets []setResult) error {
	if len(sets) == 0 {
		return nil
	}
	if err := writeNotes(a.out, []string{"", "saved sets"}); err != nil {
		return err
	}
	g := &grid{head: setColumns}
	for _, s := range sets {
		g.add(s.row()...)
	}
	return a.write(nil, g)
}
