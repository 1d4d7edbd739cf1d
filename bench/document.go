package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// document is the results of a run, as Markdown.
type document struct {
	machine machine
	judged  bool   // the sizes are those that the goals are about
	file    string // where it is written to, "" without one
	results []*result
	failed  []string // sections that gave none
}

// save writes the document to its file, and the charts beside it.
func (d *document) save() error {
	if d.file == "" {
		return nil
	}
	f, err := os.Create(d.file)
	if err != nil {
		return err
	}
	_, err = d.WriteTo(f)
	return errors.Join(err, f.Close(), d.draw())
}

// WriteTo writes the document: the machine, the goals, and each section.
func (d *document) WriteTo(w io.Writer) (int64, error) {
	var out bytes.Buffer
	out.WriteString("# Benchmarks\n\n")
	fmt.Fprintf(&out, "Written by `%s`; [bench/README.md](../bench/README.md) says how. "+
		"Every answer was checked before its figure was taken. "+
		"What is compared ran in turn, %d rounds; figures are medians, in parentheses the least and the greatest. "+
		"Ratios are taken round by round; other runs, on other machines, share ratios sooner than times.\n\n", d.machine.command, d.machine.scale.rounds)
	d.machine.write(&out)
	if !d.judged {
		out.WriteString("\nNo goal is judged: they are about the sizes of a full run.\n")
	} else {
		d.writeGoals(&out)
	}
	if len(d.failed) > 0 {
		fmt.Fprintf(&out, "\nSections that failed, and have no figures: %s.\n", strings.Join(d.failed, ", "))
	}
	for _, r := range d.results {
		fmt.Fprintf(&out, "\n## %s: %s\n\n%s\n", r.section.name, r.section.title, r.section.about)
		for _, t := range r.tables {
			out.WriteString("\n")
			t.write(&out)
		}
		if d.file != "" {
			for _, c := range r.charts {
				fmt.Fprintf(&out, "\n![%s](%s)\n", c.title, filepath.Base(c.file(d.file)))
			}
		}
		if len(r.notes) > 0 {
			out.WriteString("\n")
		}
		for _, n := range r.notes {
			fmt.Fprintf(&out, "- %s\n", n)
		}
	}
	return out.WriteTo(w)
}

// draw draws the charts beside the document.
func (d *document) draw() error {
	for _, r := range d.results {
		for _, c := range r.charts {
			if err := c.draw(c.file(d.file)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *document) writeGoals(out *bytes.Buffer) {
	t := table{columns: []string{"goal", "wanted", "measured", "met"}}
	for _, r := range d.results {
		for _, g := range r.goals {
			met := "yes"
			if !g.met {
				met = "**no**"
			}
			t.row(r.section.name+": "+g.what, g.want, g.got, met)
		}
	}
	if len(t.rows) > 0 {
		out.WriteString("\n## Goals\n\n")
		t.write(out)
	}
}
