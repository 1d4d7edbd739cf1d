package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cohort/query"
	"cohort/store"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// grid is a table. The cells are strings, integers, floats, bools, flags, rates,
// periods, or nil for no answer.
type grid struct {
	head []string
	// keys is the number of leading columns that say what a row is, at least 1. A
	// table too wide for the page is cut into several that each have them.
	keys int
	rows [][]any
}

// flag is a bool of which only true is worth a look.
type flag bool

func (g *grid) add(cells ...any) { g.rows = append(g.rows, cells) }

const (
	pageWidth = 100
	gap       = 2  // blanks between columns
	maxCell   = 48 // characters of text that a cell shows
)

// write writes a result: doc with --json, else the grid, as CSV with --csv. The
// notes follow a table only.
func (a *app) write(doc any, g *grid, notes ...string) error {
	switch {
	case a.json:
		enc := json.NewEncoder(a.out)
		enc.SetEscapeHTML(false)
		return enc.Encode(doc)
	case a.csv:
		return g.writeCSV(a.out)
	}
	if err := g.writeText(a.out); err != nil {
		return err
	}
	return writeNotes(a.out, notes)
}

// writeRecord writes a result that is one row: as a table, a column a line.
func (a *app) writeRecord(doc any, g *grid, notes ...string) error {
	if a.json || a.csv {
		return a.write(doc, g)
	}
	width := 0
	for _, name := range g.head {
		width = max(width, len(name))
	}
	for i, name := range g.head {
		if _, err := fmt.Fprintf(a.out, "%-*s  %s\n", width, words(name), shown(g.rows[0][i])); err != nil {
			return err
		}
	}
	return writeNotes(a.out, notes)
}

func writeNotes(w io.Writer, notes []string) error {
	for _, n := range notes {
		if _, err := fmt.Fprintln(w, n); err != nil {
			return err
		}
	}
	return nil
}

// words returns a key as it stands over a column.
func words(key string) string { return strings.ReplaceAll(key, "_", " ") }

func (g *grid) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(g.head); err != nil {
		return err
	}
	record := make([]string, len(g.head))
	for _, row := range g.rows {
		for i, cell := range row {
			record[i] = exact(cell)
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// writeText writes the grid aligned, in as many tables as the page needs.
func (g *grid) writeText(w io.Writer) error {
	cells := make([][]string, len(g.rows))
	for i, row := range g.rows {
		for _, cell := range row {
			cells[i] = append(cells[i], shown(cell))
		}
	}
	for i, columns := range g.pages(cells) {
		if i > 0 {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		if err := g.writePage(w, columns, cells); err != nil {
			return err
		}
	}
	return nil
}

// pages returns the columns of each table: all in one where they fit.
func (g *grid) pages(cells [][]string) [][]int {
	var pages [][]int
	var page []int
	keys := max(g.keys, 1)
	used, keyWidth := 0, 0
	for c, name := range g.head {
		width := text.StringWidth(words(name))
		for _, row := range cells {
			width = max(width, text.StringWidth(row[c]))
		}
		width += gap
		if c < keys {
			keyWidth += width
		} else if used+width > pageWidth+gap && len(page) > keys {
			pages = append(pages, page)
			page, used = slices.Clone(page[:keys]), keyWidth
		}
		page = append(page, c)
		used += width
	}
	return append(pages, page)
}

func (g *grid) writePage(w io.Writer, columns []int, cells [][]string) error {
	t := table.NewWriter()
	style := table.StyleLight
	style.Format.Header = text.FormatDefault
	style.Options = table.Options{SeparateHeader: true}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", strings.Repeat(" ", gap)
	t.SetStyle(style)

	head := make(table.Row, len(columns))
	configs := make([]table.ColumnConfig, len(columns))
	for i, c := range columns {
		head[i] = words(g.head[c])
		configs[i] = table.ColumnConfig{Number: i + 1, Align: g.align(c), AlignHeader: g.align(c)}
	}
	rest := strings.Repeat(style.Box.MiddleHorizontal, gap) // of the rule, past the last column
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)
	for _, row := range cells {
		line := make(table.Row, len(columns))
		for i, c := range columns {
			line[i] = row[c]
		}
		t.AppendRow(line)
	}
	for line := range strings.Lines(t.Render()) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), rest)
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// align sets a column with figures to the right, one of text to the left.
func (g *grid) align(column int) text.Align {
	for _, row := range g.rows {
		switch row[column].(type) {
		case nil, string, bool, flag, fmt.Stringer:
			switch row[column].(type) {
			case query.Rate, percent:
				return text.AlignRight
			}
		default:
			return text.AlignRight
		}
	}
	return text.AlignLeft
}

// shown returns a cell as a person reads it.
func shown(cell any) string {
	switch v := cell.(type) {
	case nil:
		return "-"
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case flag:
		if v {
			return "yes"
		}
		return ""
	case float64:
		if 0 < v && v < 0.01 {
			return "<0.01"
		}
		return strconv.FormatFloat(v, 'f', 2, 64)
	case string:
		return text.Snip(printable(v), maxCell, "…")
	case query.Rate:
		return v.String()
	}
	return fmt.Sprint(cell)
}

// exact returns a cell as a program reads it.
func exact(cell any) string {
	switch v := cell.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case percent:
		return exact(float64(v))
	case query.Rate:
		fraction, ok := v.Float()
		if !ok {
			return ""
		}
		return exact(fraction)
	}
	return fmt.Sprint(cell)
}

// printable returns text that fits one line and does nothing to a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '�'
		}
		return r
	}, s)
}

// asOfNote is the note below a report.
func asOfNote(asOf store.Day, falseOverlap float64) string {
	note := "as of " + asOf.String()
	if falseOverlap >= 0.01 {
		note += ", expected false overlap at most " + shown(falseOverlap)
	}
	return note
}

// orNil returns what p points to, or nil: no answer.
func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}
