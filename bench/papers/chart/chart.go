// SPDX-License-Identifier: Apache-2.0

// Package chart draws line charts as SVG, for reports in a single file. It uses
// gonum/plot, whose fonts and formats add 7 MB to a binary; so the command draws its own
// charts.
package chart

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// errEmpty is returned for a chart without a point that can be drawn.
var errEmpty = errors.New("nothing to draw")

// Chart is a chart of lines over common axes.
type Chart struct {
	Title      string
	X, Y       string // titles of the axes, with the unit
	LogX, LogY bool   // a logarithmic axis leaves out points that are not above 0
	Lines      []Line
}

// Line is one named line. X and Y have the same length. Points that are not
// finite are left out.
type Line struct {
	Name   string
	X, Y   []float64
	Dashed bool // for predicted or printed values, as opposed to measured ones
}

const (
	width  = 22 * vg.Centimeter
	height = 11 * vg.Centimeter
	// keyWidth is kept free at the right for the names of the lines. Viewers have
	// other fonts than were measured with, so that text must have room to grow.
	keyWidth = 6 * vg.Centimeter
)

// SVG writes the chart as an SVG document. It returns an error that wraps
// errEmpty if no line has a point to draw.
func (c Chart) SVG(w io.Writer) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Add(plotter.NewGrid())
	key := plot.NewLegend()
	key.Top, key.Left = true, true
	key.Padding = vg.Points(3)
	drawn := 0
	for i, line := range c.Lines {
		points, err := c.points(line)
		if err != nil {
			return err
		}
		if len(points) == 0 {
			continue
		}
		drawn++
		if err := add(p, &key, line, points, i); err != nil {
			return fmt.Errorf("chart %q, line %q: %w", c.Title, line.Name, err)
		}
	}
	if drawn == 0 {
		return fmt.Errorf("chart %q: %w", c.Title, errEmpty)
	}
	scale(&p.X, c.LogX)
	scale(&p.Y, c.LogY)
	setFonts(p, &key)
	svg := vgsvg.New(width, height)
	canvas := draw.New(svg)
	// The plot's background covers all of it.
	canvas.SetColor(p.BackgroundColor)
	canvas.Fill(canvas.Rectangle.Path())
	p.Draw(draw.Crop(canvas, 0, -keyWidth, 0, 0))
	key.Draw(draw.Crop(canvas, width-keyWidth+vg.Centimeter/2, 0, 0, -vg.Centimeter))
	_, err := svg.WriteTo(w)
	return err
}

// setFonts chooses sans-serif fonts, which stay legible in a small chart.
func setFonts(p *plot.Plot, key *plot.Legend) {
	for _, style := range []*draw.TextStyle{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &key.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
}

func (c Chart) points(line Line) (plotter.XYs, error) {
	if len(line.X) != len(line.Y) {
		return nil, fmt.Errorf("chart %q, line %q: %d x for %d y", c.Title, line.Name, len(line.X), len(line.Y))
	}
	var points plotter.XYs
	for i, x := range line.X {
		y := line.Y[i]
		if drawable(x, c.LogX) && drawable(y, c.LogY) {
			points = append(points, plotter.XY{X: x, Y: y})
		}
	}
	slices.SortStableFunc(points, func(a, b plotter.XY) int {
		switch {
		case a.X < b.X:
			return -1
		case a.X > b.X:
			return 1
		}
		return 0
	})
	return points, nil
}

func drawable(v float64, logarithmic bool) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !logarithmic)
}

func add(p *plot.Plot, key *plot.Legend, line Line, points plotter.XYs, index int) error {
	drawn, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return err
	}
	drawn.Color, marks.Color = plotutil.Color(index), plotutil.Color(index)
	marks.Shape = plotutil.Shape(index)
	marks.Radius = vg.Points(2)
	if line.Dashed {
		drawn.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	p.Add(drawn, marks)
	key.Add(line.Name, drawn, marks)
	return nil
}

// scale makes an axis logarithmic. gonum refuses an axis with a single value, so that is
// widened.
func scale(axis *plot.Axis, logarithmic bool) {
	if !logarithmic {
		return
	}
	if axis.Min == axis.Max {
		axis.Min, axis.Max = axis.Min/2, axis.Max*2
	}
	axis.Scale = plot.LogScale{}
	axis.Tick.Marker = plot.LogTicks{Prec: -1}
}
