package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// chart is lines over the same values of x, both axes logarithmic: what grows in
// proportion is a line of slope 1.
type chart struct {
	name, title string
	x, y        string
	at          []int
	lines       []line
}

type line struct {
	name   string
	values []float64 // as many as at, or fewer
}

// chart adds a chart to the result, drawn beside the document.
func (r *result) chart(c chart) { r.charts = append(r.charts, c) }

// file is the chart's file beside a document.
func (c chart) file(document string) string {
	return strings.TrimSuffix(document, filepath.Ext(document)) + "-" + c.name + ".svg"
}

// draw writes the chart as SVG.
func (c chart) draw(path string) (err error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, c.x, c.y
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: 0}, plot.LogTicks{Prec: 0}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for i, l := range c.lines {
		points := make(plotter.XYs, len(l.values))
		for j, v := range l.values {
			if v <= 0 {
				return fmt.Errorf("chart %s: %s has the value %g", c.name, l.name, v)
			}
			points[j] = plotter.XY{X: float64(c.at[j]), Y: v}
		}
		drawn, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return fmt.Errorf("chart %s: %s: %w", c.name, l.name, err)
		}
		drawn.Color, drawn.Dashes = plotutil.Color(i), plotutil.Dashes(i/6)
		marks.Color, marks.Shape = plotutil.Color(i), plotutil.Shape(i)
		p.Add(drawn, marks)
		p.Legend.Add(l.name, drawn, marks)
	}
	canvas := vgsvg.New(9*vg.Inch, 6*vg.Inch)
	p.Draw(draw.New(canvas))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(f)
	return errors.Join(err, f.Close())
}
