// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Chart is a chart of series over common axes. Columns stand on top of each other, lines
// lie above them.
type Chart struct {
	Title   string
	X, Y    Axis
	Columns []Columns
	Series  []Series
}

// Series is a named line through its points, in the order of X. A chart leaves out points
// that an axis cannot show, and series without other points.
type Series struct {
	Name   string
	Points []Point
	// Bounds, if any, are drawn as an area behind the line.
	Bounds []Bound
}

// Point is one point of a series, in the units of the axes.
type Point struct{ X, Y float64 }

// Bound is the interval that holds the true value at X.
type Bound struct{ X, Low, High float64 }

// Columns are named columns, of one color. Those with negative values hang below 0.
type Columns struct {
	Name string
	List []Column
}

// Column is a value that holds between two places of the axis.
type Column struct{ From, To, Y float64 }

// MostSeries is how many series have a color and a mark of their own.
const MostSeries = 8

// What every picture begins with: its size and its title.
const (
	chartStart = `<svg class="chart" viewBox="0 0 %v %v" role="img" aria-label="%s">` + "\n"
	chartTitle = `<text class="heading" x="%v" y="20">%s</text>` + "\n"
)

// The sizes of a drawing. The page scales it, so only the proportions matter.
const (
	chartWidth  = 760
	chartHeight = 380
	top         = 40 // the title
	bottom      = 48 // the labels of the axis below
	edge        = 28 // beside the labels of the axis at the left, which is turned
	overhang    = 48 // half of the widest label of the axis below
	letter      = 7  // of a label: browsers have other fonts, so it is a generous guess
	sample      = 48 // of a series, in the legend, with room around it
	entry       = 20 // of the legend, from one to the next
)

// numbered is a series and its index, which selects its color and mark. One with columns
// has no points.
type numbered struct {
	Series
	columns []box
	index   int
}

// box is a column in its place above or below others.
type box struct{ from, to, low, high float64 }

// layout is where everything stands.
type layout struct {
	Title, XLabel, YLabel    string
	Width, Height            int
	Left, Right, Top, Bottom float64 // of the area that the lines lie in
	XTicks, YTicks           []placed
	Legend                   bool // the axis names columns of one kind
	Series                   []drawn
}

// placed is a label on an axis.
type placed struct {
	At    float64
	Label string
}

// drawn is a series and its legend entry. Paths are SVG path data.
type drawn struct {
	Name              string
	Index             int
	Path, Marks, Area string
	KeyX, KeyY        float64
	Sample, Mark, Key string
}

// HTML returns the chart as an element for a page. The error wraps errEmpty if no series
// has a point to draw.
func (c Chart) HTML() (Markup, error) {
	all := c.drawable()
	if len(all) == 0 {
		return "", fmt.Errorf("chart %q: %w", c.Title, errEmpty)
	}
	return c.layOut(all).markup(), nil
}

func (l *layout) markup() Markup {
	var b Builder
	b.Addf(chartStart, l.Width, l.Height, l.Title)
	b.Addf(chartTitle, l.Left, l.Title)
	for _, t := range l.XTicks {
		b.Addf(`<path class="grid" d="M%v %vV%v"/>`, t.At, l.Top, l.Bottom)
		b.Addf(`<text class="x" x="%v" y="%v" dy="18">%s</text>`+"\n", t.At, l.Bottom, t.Label)
	}
	for _, t := range l.YTicks {
		b.Addf(`<path class="grid" d="M%v %vH%v"/>`, l.Left, t.At, l.Right)
		b.Addf(`<text class="y" x="%v" y="%v" dx="-7" dy="4">%s</text>`+"\n", l.Left, t.At, t.Label)
	}
	b.Addf(`<path class="axis" d="M%v %vV%vH%v"/>`+"\n", l.Left, l.Top, l.Bottom, l.Right)
	b.Addf(`<text class="label end" x="%v" y="%v" dy="-8">%s</text>`+"\n", l.Right, l.Height, l.XLabel)
	b.Addf(`<text class="label end" transform="translate(12 %v) rotate(-90)">%s</text>`+"\n", l.Top, l.YLabel)
	for i := range l.Series {
		l.Series[i].addTo(&b, l.Legend)
	}
	b.Addf("</svg>\n")
	return b.Markup()
}

func (d *drawn) addTo(b *Builder, legend bool) {
	path := func(class, data string) {
		if data != "" {
			b.Addf(`<path class="%s" d="%s"/>`, class, data)
		}
	}
	b.Addf(`<g class="series color%v"><title>%s</title>`, d.Index, d.Name)
	path("area", d.Area)
	path("line", d.Path)
	path("marks", d.Marks)
	if legend {
		path("line", d.Sample)
		path("marks", d.Mark)
		path("area", d.Key)
		b.Addf(`<text x="%v" y="%v" dy="4">%s</text>`, d.KeyX, d.KeyY, d.Name)
	}
	b.Addf("</g>\n")
}

// drawable returns the columns, and the series with the points that the axes can show, in
// order. Each keeps its index among all, so that it has the same color in charts that
// leave out others.
func (c Chart) drawable() []numbered {
	all := c.stacked()
	for i, s := range c.Series {
		points := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool {
			return !c.X.takes(p.X) || !c.Y.takes(p.Y)
		})
		if len(points) == 0 {
			continue
		}
		slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		bounds := slices.DeleteFunc(slices.Clone(s.Bounds), func(b Bound) bool {
			return !c.X.takes(b.X) || !c.Y.takes(b.Low) || !c.Y.takes(b.High)
		})
		slices.SortStableFunc(bounds, func(a, b Bound) int { return cmp.Compare(a.X, b.X) })
		all = append(all, numbered{Series: Series{s.Name, points, bounds}, index: (len(c.Columns) + i) % MostSeries})
	}
	return all
}

// stacked places columns that begin at one place above, or below, each other.
func (c Chart) stacked() (all []numbered) {
	type ends struct{ above, below float64 }
	taken := map[float64]ends{}
	for i, s := range c.Columns {
		n := numbered{Series: Series{Name: s.Name}, index: i % MostSeries}
		for _, column := range s.List {
			if !c.X.takes(column.From) || !c.X.takes(column.To) || !c.Y.takes(column.Y) || column.Y == 0 {
				continue
			}
			e := taken[column.From]
			if column.Y > 0 {
				n.columns = append(n.columns, box{column.From, column.To, e.above, e.above + column.Y})
				e.above += column.Y
			} else {
				n.columns = append(n.columns, box{column.From, column.To, e.below + column.Y, e.below})
				e.below += column.Y
			}
			taken[column.From] = e
		}
		if len(n.columns) > 0 {
			all = append(all, n)
		}
	}
	return all
}

// layOut computes all positions.
func (c Chart) layOut(all []numbered) *layout {
	x, y := c.spans(all)
	numbers, names := 0, 0
	for _, t := range y.ticks {
		numbers = max(numbers, utf8.RuneCountInString(t.label))
	}
	legend := len(all) > 1 || len(c.Columns) == 0
	if legend {
		for _, s := range all {
			names = max(names, utf8.RuneCountInString(s.Name))
		}
	}
	l := &layout{
		Title: c.Title, XLabel: c.X.Label, YLabel: c.Y.Label,
		Width: chartWidth, Height: chartHeight, Top: top, Bottom: chartHeight - bottom,
		Left: float64(max(overhang, edge+letter*numbers)),
		// Names take at most half of the drawing; its edge cuts off the rest.
		Right:  float64(chartWidth - min(sample+letter*names, chartWidth/2)),
		Legend: legend,
	}
	for _, t := range x.ticks {
		l.XTicks = append(l.XTicks, placed{l.across(t.at), t.label})
	}
	for _, t := range y.ticks {
		l.YTicks = append(l.YTicks, placed{l.up(t.at), t.label})
	}
	for i, s := range all {
		l.Series = append(l.Series, l.draw(s, i, &x, &y))
	}
	return l
}

// across and up convert positions on the axes into units of the drawing.
func (l *layout) across(at float64) float64 { return round(l.Left + at*(l.Right-l.Left)) }
func (l *layout) up(at float64) float64     { return round(l.Bottom - at*(l.Bottom-l.Top)) }

// mostMarks is how many points of a line have marks. More would hide the line.
const mostMarks = 60

// draw returns a series, with its entry at the given place of the legend.
func (l *layout) draw(s numbered, place int, x, y *span) drawn {
	down := l.Top + entry/2 + float64(place*entry)
	d := drawn{Name: s.Name, Index: s.index, KeyX: l.Right + sample - 4, KeyY: down}
	if s.columns != nil {
		d.Area = l.columns(s.columns, x, y)
		d.Key = fmt.Sprintf("M%g %gh24v8h-24z", l.Right+12, down-4)
		return d
	}
	places := make([]Point, len(s.Points))
	for i, p := range s.Points {
		places[i] = Point{l.across(x.at(p.X)), l.up(y.at(p.Y))}
	}
	key := []Point{{l.Right + 12, down}, {l.Right + 24, down}, {l.Right + 36, down}}
	d.Path, d.Area, d.Sample = path(places), l.bounds(s.Bounds, x, y), path(key)
	if len(places) <= mostMarks {
		d.Marks, d.Mark = marks(s.index, places), marks(s.index, key[1:2])
	}
	return d
}

// columns returns the outlines of columns.
func (l *layout) columns(list []box, x, y *span) string {
	var d strings.Builder
	for _, b := range list {
		left, right := l.across(x.at(b.from)), l.across(x.at(b.to))
		low, high := l.up(y.at(b.low)), l.up(y.at(b.high))
		if right-left > 3 { // a gap to the next one
			right--
		}
		fmt.Fprintf(&d, "M%g %gH%gV%gH%gz", left, low, max(right, left+1), high, left)
	}
	return d.String()
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

// spans fits the axes around all that is drawn.
func (c Chart) spans(all []numbered) (x, y span) {
	low, high := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	include := func(x, y float64) {
		low = Point{min(low.X, x), min(low.Y, y)}
		high = Point{max(high.X, x), max(high.Y, y)}
	}
	for _, s := range all {
		for _, p := range s.Points {
			include(p.X, p.Y)
		}
		for _, b := range s.Bounds {
			include(b.X, b.Low)
			include(b.X, b.High)
		}
		for _, b := range s.columns {
			include(b.from, b.low)
			include(b.to, b.high)
		}
	}
	return c.X.span(low.X, high.X), c.Y.span(low.Y, high.Y)
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

// marks returns the mark of the series with the given index at each position.
func marks(index int, places []Point) string {
	var d strings.Builder
	for _, p := range places {
		fmt.Fprintf(&d, "M%g %g%s", p.X, p.Y, shapes[index%len(shapes)])
	}
	return d.String()
}
