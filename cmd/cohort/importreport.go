package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cohort/cmd/cohort/internal/ingest"
)

// importResult is what became of the rows of an import: rows = marks + refused,
// and marks = new + already + shared. It has keys where it is from Redis, and a field
// where marks are values of one.
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
	DryRun   bool                     `json:"dry_run,omitempty"`
	Field    string                   `json:"field,omitempty"`
	*redisKeys
}

// finishImport reports an import, and returns how it ended.
func (a *app) finishImport(r importResult, stop error) error {
	if err := a.writeImportResult(r); err != nil {
		return err
	}
	switch {
	case stop != nil:
		return stop
	case r.Refused > 0:
		return errRefused
	}
	return nil
}

// writeImportResult reports an import, with its refused rows by reason.
func (a *app) writeImportResult(r importResult) error {
	if r.Refused > 0 {
		a.errorf("%d of %d rows refused: %s", r.Refused, r.Rows, byReason(r.Refusals))
	}
	g := &grid{head: []string{"rows", "marks", "new", "already", "shared", "refused", "seconds"}}
	g.add(r.Rows, r.Marks, r.New, r.Already, r.Shared, r.Refused, r.Seconds)
	if k := r.redisKeys; k != nil {
		g.head = append(g.head, "keys", "skipped")
		g.rows[0] = append(g.rows[0], k.Keys, len(k.Skipped))
	}
	var notes []string
	if r.DryRun {
		notes = append(notes, "dry run: the store is as it was")
	}
	return a.writeRecord(r, g, notes...)
}

// seconds returns a duration in seconds, to the millisecond.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// byReason lists how many rows were refused for which reason, the most frequent
// first.
func byReason(reasons map[ingest.Reason]uint64) string {
	var list []ingest.Reason
	for reason := range reasons {
		list = append(list, reason)
	}
	slices.SortFunc(list, func(a, b ingest.Reason) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, reason := range list {
		parts = append(parts, fmt.Sprintf("%d %s", reasons[reason], reason))
	}
	return strings.Join(parts, ", ")
}
