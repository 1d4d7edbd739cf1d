package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// result is what a section found.
type result struct {
	section section
	tables  []*table
	goals   []goal
	notes   []string
	charts  []chart
}

// goal is a figure that is to stay on one side of a bound.
type goal struct {
	what, want, got string
	met             bool
}

// atLeast records a goal whose figure must not lie below the bound.
func (r *result) atLeast(what string, got, want float64, unit string) {
	r.goals = append(r.goals, goal{what, "≥ " + trimmed(want) + unit, figure(got) + unit, got >= want})
}

// atMost records a goal whose figure must not lie above the bound.
func (r *result) atMost(what string, got, want float64, unit string) {
	r.goals = append(r.goals, goal{what, "≤ " + trimmed(want) + unit, figure(got) + unit, got <= want})
}

func trimmed(v float64) string { return fmt.Sprintf("%g", v) }

// note adds a sentence that stands below the tables.
func (r *result) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// table starts a table; its first column is text, the others are figures.
func (r *result) table(columns ...string) *table {
	t := &table{columns: columns}
	r.tables = append(r.tables, t)
	return t
}

// table is a table of Markdown.
type table struct {
	columns []string
	rows    [][]string
}

// row adds a row. Floats are written as figure does, integers in thousands.
func (t *table) row(cells ...any) {
	row := make([]string, len(t.columns))
	for i := range row {
		row[i] = "–"
		if i >= len(cells) {
			continue
		}
		switch c := cells[i].(type) {
		case nil:
		case float64:
			row[i] = figure(c)
		case int:
			row[i] = thousands(int64(c))
		case int64:
			row[i] = thousands(c)
		case uint64:
			row[i] = thousands(int64(c))
		default:
			row[i] = fmt.Sprint(c)
		}
	}
	t.rows = append(t.rows, row)
}

// write writes the table with its columns aligned.
func (t *table) write(w io.Writer) {
	widths := make([]int, len(t.columns))
	for _, row := range append(t.rows, t.columns) {
		for i, cell := range row {
			widths[i] = max(widths[i], 3, utf8.RuneCountInString(cell))
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				fmt.Fprintf(w, "| %s%s ", cell, pad)
			} else {
				fmt.Fprintf(w, "| %s%s ", pad, cell)
			}
		}
		fmt.Fprintln(w, "|")
	}
	line(t.columns)
	for i, n := range widths {
		if i == 0 {
			fmt.Fprintf(w, "|%s", strings.Repeat("-", n+2))
		} else {
			fmt.Fprintf(w, "|%s:", strings.Repeat("-", n+1))
		}
	}
	fmt.Fprintln(w, "|")
	for _, row := range t.rows {
		line(row)
	}
}
