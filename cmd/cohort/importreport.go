package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"cohort/cmd/cohort/internal/ingest"
)

// importResult is what became of the rows of an import: rows = marks + refused,
// and marks = new + already + shared.
type importResult struct {
	Rows     uint64                   `json:"rows"`
	Marks    uint64                   `json:"marks"`
	New      uint64                   `json:"new"`
	Already  uint64                   `json:"already"`
	Shared   uint64                   `json:"shared"`
	Refused  uint64                   `json:"refused"`
	Seconds  float64                  `json:"seconds"`
	Files    []string                 `json:"files"`
	Refusals map[ingest.Reason]uint64 `json:"refusals"`
}

func (a *app) writeImport(l *load, names []string, took time.Duration) error {
	r := importResult{
		Rows: l.rows, Marks: l.tally.Marks(), New: l.tally.New, Already: l.tally.Already, Shared: l.tally.Shared,
		Refused: l.refusals.total, Seconds: math.Round(took.Seconds()*1000) / 1000,
		Files: names, Refusals: l.refusals.reasons,
	}
	var parts []string
	for _, reason := range l.refusals.sorted() {
		parts = append(parts, fmt.Sprintf("%d %s", r.Refusals[reason], reason))
	}
	if len(parts) > 0 {
		a.errorf("%d of %d rows refused: %s", r.Refused, r.Rows, strings.Join(parts, ", "))
	}
	if l.nulls > 0 {
		a.warnf("%d rows have the id null or undefined, and were marked", l.nulls)
	}
	g := &grid{head: []string{"rows", "marks", "new", "already", "shared", "refused", "seconds"}}
	g.add(r.Rows, r.Marks, r.New, r.Already, r.Shared, r.Refused, r.Seconds)
	return a.writeRecord(r, g)
}
