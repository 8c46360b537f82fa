// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

func (l *layout) across(at float64) float64 { return round(l.Left + at*(l.Right-l.Left)) }
func (l *layout) up(at float64) float64     { return round(l.Bottom - at*(l.Bottom-l.Top)) }

// mostMarks is how many points of a line have marks: more would hide the line. mostTitled is how many
// columns say their values: nobody can point at narrower columns.
const mostMarks, mostTitled = 60, 120

// draw returns a series without its entry of the legend.
func (l *layout) draw(c Chart, s numbered, x, y *span) drawn {
	d := drawn{Name: s.Name, Index: s.index}
	if s.columns != nil {
		for _, b := range s.columns {
			if len(s.columns) > mostTitled {
				d.Area += l.column(b, x, y)
				continue
			}
			d.Marks = append(d.Marks, mark{"area", l.column(b, x, y), c.says(s.Name, b.from, b.high-b.low)})
		}
		return d
	}
	places := make([]Point, len(s.Points))
	for i, p := range s.Points {
		places[i] = Point{l.across(x.at(p.X)), l.up(y.at(p.Y))}
	}
	d.Path, d.Area = path(places), l.bounds(s.Bounds, x, y)
	if len(places) <= mostMarks {
		for i, p := range places {
			class := "marks"
			if s.Hollow[s.Points[i].X] {
				class = "marks hollow"
			}
			d.Marks = append(d.Marks, mark{class, shape(s.index, p), c.says(s.Name, s.Points[i].X, s.Points[i].Y)})
		}
	}
	return d
}

// says writes what a mark shows.
func (c Chart) says(name string, x, y float64) string {
	return fmt.Sprintf("%s: %s %s", c.X.says(x), name, c.Y.says(y))
}

// key draws the entry of a series in the legend.
func (d *drawn) key(s *numbered, at placed) {
	d.Key, d.KeyX, d.KeyY = at.Label, at.At+sample-6, at.Down
	left, right := at.At+1, at.At+sample-12
	if s.columns != nil {
		d.Block = fmt.Sprintf("M%g %gH%gv9H%gz", left, at.Down-4, right, left)
		return
	}
	d.Sample = fmt.Sprintf("M%g %gH%g", left, at.Down, right)
	if len(d.Marks) > 0 {
		d.Mark = shape(s.index, Point{(left + right) / 2, at.Down})
	}
}

// column returns the outline of a column.
func (l *layout) column(b box, x, y *span) string {
	left, right := l.across(x.at(b.from)), l.across(x.at(b.to))
	if right-left > 3 { // a gap to the next column
		right--
	}
	return fmt.Sprintf("M%g %gH%gV%gH%gz", left, l.up(y.at(b.low)), max(right, left+1), l.up(y.at(b.high)), left)
}

// bounds returns the outline of an area.
func (l *layout) bounds(list []Bound, x, y *span) string {
	if len(list) == 0 {
		return ""
	}
	places := make([]Point, 0, 2*len(list))
	for _, b := range list {
		places = append(places, Point{l.across(x.at(b.X)), l.up(y.at(b.High))})
	}
	for _, b := range slices.Backward(list) {
		places = append(places, Point{l.across(x.at(b.X)), l.up(y.at(b.Low))})
	}
	return path(places) + "z"
}

// round shortens paths: a tenth of a unit is invisible.
func round(v float64) float64 { return math.Round(v*10) / 10 }

// path connects positions.
func path(places []Point) string {
	var d strings.Builder
	for i, p := range places {
		command := byte('L')
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&d, "%c%g %g", command, p.X, p.Y)
	}
	return d.String()
}

// shapes are the marks of points, relative to where they begin. The first four series
// fill them, the others do not, so that no reader depends on colors.
var shapes = [...]string{
	"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
	"m-2.7-2.7h5.4v5.4h-5.4z",
	"m0-3.6l3.5 6.2h-7z",
	"m0-3.8l3.8 3.8l-3.8 3.8l-3.8-3.8z",
}

// shape returns the mark of the series with the given index at a position.
func shape(index int, p Point) string {
	return fmt.Sprintf("M%g %g%s", p.X, p.Y, shapes[index%len(shapes)])
}
