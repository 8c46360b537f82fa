// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// Chart is a chart of series over common axes. Columns stand on top of each other, lines
// lie above them. Lines have different dashes, to be distinguished where they lie on each
// other, and without colors.
type Chart struct {
	Title   string
	X, Y    Axis
	Columns []Columns
	Series  []Series
	Low     bool // less high, as a line below another chart
}

// Series is a named line through its points, in the order of X. A chart leaves out points
// that an axis cannot show, and series without other points.
type Series struct {
	Name   string
	Points []Point
	// Bounds, if any, are drawn as an area behind the line.
	Bounds []Bound
	// Hollow has the X of points whose marks are in outline.
	Hollow map[float64]bool
}

// Point is a point of a series, in the units of the axes.
type Point struct{ X, Y float64 }

// Bound is the interval that holds the true value at X.
type Bound struct{ X, Low, High float64 }

// Columns are named columns of the same color. Columns of negative values hang below 0.
type Columns struct {
	Name string
	List []Column
}

// Column is a value that holds between two places of the axis.
type Column struct{ From, To, Y float64 }

// MostSeries is how many series have a color and a mark of their own.
const MostSeries = 8

// begin begins a picture. Without its title the place of the title is cut off.
func (b *builder) begin(width, height int, title string, titled bool) {
	cut := titleHeight
	if titled {
		cut = 0
	}
	b.addf(`<svg class="chart" viewBox="0 %v %v %v" role="img" aria-label="%s">`+"\n", cut, width, height-cut, title)
	if titled {
		b.addf(`<text class="heading" x="0" y="16">%s</text>`+"\n", title)
	}
}

// The sizes of a drawing. The page scales it to the width of the screen. On narrow screens it has
// larger letters, for which there is room.
const (
	chartWidth = 480
	plotHeight = 230
	lowHeight  = 90
	top        = 34 // the title, with room around it
	bottom     = 46 // the labels of the axis below
	above      = 18 // the title of the left axis, above its labels
	apart      = 7  // labels of the left axis from the axis
	markSize   = 4  // half a mark, which may stand at the end of an axis
	leastLabel = 4  // letters, so that charts below each other begin at one place
	letter     = 9  // of a label: browsers have other fonts, so it is a generous guess
	sample     = 34 // of a series, in the legend
	entry      = 20 // of the legend, from one row to the next
	gap        = 6  // below the legend

	titleHeight = 22
)

// numbered is a series and its index, which selects its color and mark. A series of columns
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
	Zero                     float64 // where values are 0: at Bottom unless there are negative values
	XTicks, YTicks           []placed
	Changes                  []placed // of the clocks
	Legend                   bool     // the axis names columns of one kind
	Series                   []drawn
}

// placed is a label on an axis.
type placed struct {
	At    float64
	Label string
	Down  float64 // of an entry of the legend
	Class string  // more of its style
}

// drawn is a series and its legend entry. Paths are SVG path data.
type drawn struct {
	Name                string
	Index               int
	Path, Area          string
	Marks               []mark
	KeyX, KeyY          float64
	Sample, Mark, Block string // of the legend; a block is for columns
	Key                 string // the name there
}

// mark is a point or a column, and what a person reads who points at it.
type mark struct{ class, path, title string }

// html returns the chart as an element for a page. The error wraps [errEmpty] if no series
// has a point to draw.
func (c Chart) html(titled bool) (markup, error) {
	all := c.drawable()
	if len(all) == 0 {
		return "", fmt.Errorf("chart %q: %w", c.Title, errEmpty)
	}
	return c.layOut(all).markup(titled), nil
}

func (l *layout) markup(titled bool) markup {
	var b builder
	b.begin(l.Width, l.Height, l.Title, titled)
	for _, t := range l.XTicks {
		b.addf(`<path class="grid" d="M%v %vV%v"/>`, t.At, l.Top, l.Bottom)
		b.addf(`<text class="x%s" x="%v" y="%v" dy="18">%s</text>`+"\n", markup(t.Class), t.At, l.Bottom, t.Label)
	}
	for _, t := range l.YTicks {
		b.addf(`<path class="grid" d="M%v %vH%v"/>`, l.Left, t.At, l.Right)
		b.addf(`<text class="y" x="%v" y="%v" dx="-%v" dy="4">%s</text>`+"\n", l.Left, t.At, apart, t.Label)
	}
	for _, t := range l.Changes {
		b.addf(`<path class="grid" stroke-dasharray="6 4" d="M%v %vV%v"/>`, t.At, l.Top, l.Bottom)
		b.addf(`<text class="x" x="%v" y="%v" dy="-4">%s</text>`+"\n", t.At, l.Top, t.Label)
	}
	b.addf(`<path class="axis" d="M%v %vV%vH%v"/>`+"\n", l.Left, l.Top, l.Bottom, l.Right)
	b.addf(`<text class="label end" x="%v" y="%v" dy="-8">%s</text>`+"\n", l.Right, l.Height, l.XLabel)
	b.addf(`<text class="label" x="0" y="%v" dy="-13">%s</text>`+"\n", l.Top, l.YLabel)
	for i := range l.Series {
		l.Series[i].addTo(&b, l.Legend)
	}
	if l.Zero < l.Bottom {
		b.addf(`<path class="zero" d="M%v %vH%v"/>`+"\n", l.Left, l.Zero, l.Right)
	}
	b.addf("</svg>\n")
	return b.markup()
}

func (d *drawn) addTo(b *builder, legend bool) {
	path := func(class, data string) {
		if data != "" {
			b.addf(`<path class="%s" d="%s"/>`, class, data)
		}
	}
	b.addf(`<g class="series color%v"><title>%s</title>`, d.Index, d.Name)
	path("area", d.Area)
	path("line", d.Path)
	for _, m := range d.Marks {
		b.addf(`<path class="%s" d="%s"><title>%s</title></path>`, m.class, m.path, m.title)
	}
	if legend {
		path("area", d.Block)
		path("line", d.Sample)
		path("marks", d.Mark)
		b.addf(`<text x="%v" y="%v" dy="4">%s</text>`, d.KeyX, d.KeyY, d.Key)
	}
	b.addf("</g>\n")
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
		all = append(all, numbered{Series: Series{s.Name, points, bounds, s.Hollow}, index: (len(c.Columns) + i) % MostSeries})
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
	legend := len(all) > 1 || len(c.Columns) == 0 && !c.Low
	l := &layout{
		Title: c.Title, XLabel: c.X.Label, YLabel: c.Y.Label, Width: chartWidth, Top: top, Legend: legend,
		Left:  float64(apart + letter*max(leastLabel, widest(y.ticks))),
		Right: chartWidth - markSize,
	}
	l.fit(x.ticks)
	var keys []placed
	if legend {
		keys = l.placeKeys(all)
	}
	l.Top += above
	l.Bottom = l.Top + plotHeight
	if c.Low {
		l.Bottom = l.Top + lowHeight
	}
	l.Height = int(l.Bottom) + bottom
	l.Zero = l.Bottom
	if c.Y.Scale == Linear {
		l.Zero = l.up(y.at(0))
	}
	for _, t := range x.ticks {
		l.XTicks = append(l.XTicks, l.below(t))
	}
	for _, t := range x.changes {
		l.Changes = append(l.Changes, placed{At: l.across(t.at), Label: t.label})
	}
	for _, t := range y.ticks {
		l.YTicks = append(l.YTicks, placed{At: l.up(t.at), Label: t.label})
	}
	for i, s := range all {
		d := l.draw(c, s, &x, &y)
		if legend {
			d.key(&s, keys[i])
		}
		l.Series = append(l.Series, d)
	}
	return l
}

// fit moves the ends of the axis inwards as far as labels below it would be cut off.
func (l *layout) fit(ticks []tick) {
	if len(ticks) == 0 {
		return
	}
	first, last := ticks[0], ticks[len(ticks)-1]
	if first.at < 1 {
		l.Left = max(l.Left, (halfOf(first)-first.at*l.Right)/(1-first.at))
	}
	if half := halfOf(last); last.at > 0 && half > shortHalf {
		l.Right = min(l.Right, l.Left+(chartWidth-half-l.Left)/last.at)
	}
}

// shortHalf is half the width of the longest label that may end with the axis: there is room before it.
const shortHalf = 8 * letter / 2

// halfOf returns half the width of a label.
func halfOf(t tick) float64 { return letter * float64(utf8.RuneCountInString(t.label)) / 2 }

// below returns the place of a label below the axis. It ends with the picture if it would leave it.
func (l *layout) below(t tick) placed {
	p := placed{At: l.across(t.at), Label: t.label}
	if p.At+halfOf(t) > chartWidth {
		p.Class = " end"
	}
	return p
}

// widest returns the letters of the longest label.
func widest(ticks []tick) (most int) {
	for _, t := range ticks {
		most = max(most, utf8.RuneCountInString(t.label))
	}
	return most
}

// placeKeys lays out the legend above the area of the lines, row by row, and moves the area
// down. At of an entry is its left end.
func (l *layout) placeKeys(all []numbered) (keys []placed) {
	at := 0
	for _, s := range all {
		name := shorten(s.Name, (chartWidth-sample)/letter)
		wide := sample + letter*(utf8.RuneCountInString(name)+1)
		if len(keys) == 0 || at+wide > chartWidth {
			at = 0
			l.Top += entry
		}
		keys = append(keys, placed{At: float64(at), Label: name, Down: l.Top - entry + gap})
		at += wide
	}
	l.Top += gap
	return keys
}

// across and up convert positions on the axes into units of the drawing.
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
	ticks := mostTicks
	if c.Low {
		ticks = mostBelow
	}
	return c.X.span(low.X, high.X, mostBelow), c.Y.span(low.Y, high.Y, ticks)
}
