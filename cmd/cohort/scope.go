package main

import (
	"cohort/query"

	"github.com/spf13/cobra"
)

// scopeFlags are the flags that choose the ids of a report, and its parts.
type scopeFlags struct {
	query.Scope
	texts []string // of the breakdown, as typed
}

func (s *scopeFlags) addFlags(cmd *cobra.Command) {
	cmd.Flags().Func("except", "leave out the ids of the set `EXPR`; may be repeated", s.except)
	cmd.Flags().Func("breakdown", "report the ids of the set `EXPR`, and those in none, apart as well; may be repeated", func(text string) error {
		x, err := query.Parse(text)
		s.texts, s.Breakdown = append(s.texts, text), append(s.Breakdown, x)
		return err
	})
}

func (s *scopeFlags) except(text string) error {
	x, err := query.Parse(text)
	s.Except = append(s.Except, x)
	return err
}

// named gives the parts of a breakdown the names that were typed.
func named[R any](s *scopeFlags, parts []query.Part[R]) {
	for i := range s.texts {
		if i < len(parts) {
			parts[i].Set = s.texts[i]
		}
	}
}

// allIDs is what a table with parts calls the report as a whole.
const allIDs = "(all)"

// partsGrid is the grid of a report and, below it, of its parts: where there are
// any, the first column tells whose a row is.
func partsGrid[R any](whole R, parts []query.Part[R], of func(R) *grid) *grid {
	g := of(whole)
	if len(parts) == 0 {
		return g
	}
	all := &grid{head: append([]string{"set"}, g.head...), keys: max(g.keys, 1) + 1}
	addRows := func(set string, g *grid) {
		for _, row := range g.rows {
			all.add(append([]any{set}, row...)...)
		}
	}
	addRows(allIDs, g)
	for _, p := range parts {
		addRows(p.Set, of(p.Report))
	}
	return all
}
