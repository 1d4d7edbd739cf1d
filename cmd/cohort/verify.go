package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"cohort/store"

	"github.com/spf13/cobra"
)

func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Look for damage in the store",
		Long: `Verify reads all that the store holds (marks, ids, saved sets, sketches, fields, what is
remembered, and the log) and reports every fault it finds: pages that do not hold
together, checksums, counts that differ from what they count, ids out of order or place,
bits at which no id is known, what belongs to nothing. With any fault the exit status
is 1. It changes nothing; a store that was not closed is read as it is.`,
		Example: example("cohort verify", "cohort verify --json"),
		Args:    cobra.NoArgs,
		RunE:    a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.verify(ctx) }),
	}
}

// verifyResult is what was looked at, and what was found.
type verifyResult struct {
	Path    string        `json:"path"`
	Pages   uint64        `json:"pages"`
	Events  int           `json:"events"`
	Days    int           `json:"days"`
	Sets    int           `json:"sets"`
	Fields  int           `json:"fields"`
	Chunks  int           `json:"chunks"`
	Marks   uint64        `json:"marks"`
	IDs     uint64        `json:"ids"`
	Records int           `json:"journal_records"`
	Faults  []faultResult `json:"faults"`
}

type faultResult struct {
	Where string `json:"where"`
	Fault string `json:"fault"`
}

func (a *app) verify(ctx context.Context) error {
	r := verifyResult{Path: a.db, Faults: []faultResult{}}
	found := func(f store.Fault) { r.Faults = append(r.Faults, toFaultResult(f)) }
	v, err := a.verifyStore(ctx, found)
	if errors.Is(err, store.ErrCorrupt) {
		// It does not open. The pages may tell more than the first thing that is wrong.
		refused := err
		if v, err = store.VerifyPages(a.db, found); err == nil && len(r.Faults) == 0 {
			found(store.Fault{Where: a.db, Err: refused})
		}
	}
	if err != nil {
		return err
	}
	r.Pages, r.Events, r.Days, r.Sets, r.Fields, r.Chunks = v.Pages, v.Events, v.Days, v.Sets, v.Fields, v.Chunks
	r.Marks, r.IDs, r.Records = v.Marks, v.IDs, v.Records
	if err := a.writeVerified(r); err != nil {
		return err
	}
	switch n := len(r.Faults); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s: 1 fault", a.db)
	default:
		return fmt.Errorf("%s: %d faults", a.db, n)
	}
}

// verifyStore verifies the store, if it opens.
func (a *app) verifyStore(ctx context.Context, found func(store.Fault)) (v store.Verified, err error) {
	db, err := a.open(ctx, store.Options{ReadOnly: true, Create: store.CreateNever})
	if err != nil {
		return v, err
	}
	defer closeInto(&err, db)
	var bar *progress
	v, err = db.Verify(ctx, store.VerifyOptions{Fault: found, Progress: func(done, total uint64) {
		if bar == nil {
			bar = a.newProgress(int64(total))
		}
		bar.bytes(int64(done))
	}})
	if bar != nil {
		bar.done()
	}
	return v, err
}

func toFaultResult(f store.Fault) faultResult {
	return faultResult{f.Where, strings.ReplaceAll(f.Err.Error(), store.ErrCorrupt.Error()+": ", "")}
}

// writeVerified writes what was looked at and the faults; as CSV the faults only.
func (a *app) writeVerified(r verifyResult) error {
	if a.json {
		return a.write(r, nil)
	}
	faults := &grid{head: []string{"where", "fault"}}
	for _, f := range r.Faults {
		faults.add(f.Where, f.Fault)
	}
	if a.csv {
		return a.write(nil, faults)
	}
	g := &grid{head: []string{"pages", "events", "days", "sets", "fields", "chunks", "marks", "ids", "journal_records", "faults"}}
	g.add(r.Pages, r.Events, r.Days, r.Sets, r.Fields, r.Chunks, r.Marks, r.IDs, r.Records, len(r.Faults))
	if err := a.writeRecord(nil, g); err != nil {
		return err
	}
	for _, f := range r.Faults {
		if _, err := fmt.Fprintf(a.out, "%s: %s\n", printable(f.Where), printable(f.Fault)); err != nil {
			return err
		}
	}
	return nil
}
