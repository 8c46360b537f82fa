package show

import (
	"bytes"
	"cmp"
	_ "embed" // for the drawing and its style
	"errors"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// ErrEmpty is returned for a chart without a point that can be drawn.
var ErrEmpty = errors.New("nothing to draw")

// Chart is a chart of series over common axes.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// Series is a named line through its points, in the order of X. A chart leaves out points
// that an axis cannot show, and series without other points.
type Series struct {
	Name   string
	Points []Point
}

// Point is one point of a series, in the units of the axes.
type Point struct{ X, Y float64 }

// MostSeries is how many series have a color and a mark of their own.
const MostSeries = 8

//go:embed chart.svg
var chartText string

// drawing is parsed with the first chart, because most runs draw none.
var drawing = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("chart").Parse(chartText))
})

//go:embed chart.css
var chartStyle string

// ChartStyle is the style sheet of charts, for light and dark pages. A page with charts
// contains it once. It may set --back to the background of its charts.
func ChartStyle() template.CSS { return template.CSS(chartStyle) }

// The sizes of a drawing. The page scales it, so only the proportions matter.
const (
	chartWidth  = 760
	chartHeight = 380
	top         = 40 // the title
	bottom      = 48 // the labels of the axis below
	edge        = 28 // beside the labels of the axis at the left, which is turned
	letter      = 7  // of a label: browsers have other fonts, so it is a generous guess
	sample      = 48 // of a series, in the legend, with room around it
	entry       = 20 // of the legend, from one to the next
)

// numbered is a series and its index, which selects its color and mark.
type numbered struct {
	Series
	index int
}

// layout is the data of the template.
type layout struct {
	Title, XLabel, YLabel    string
	Width, Height            int
	Left, Right, Top, Bottom float64 // of the area that the lines lie in
	XTicks, YTicks           []placed
	Series                   []drawn
}

// placed is a label on an axis.
type placed struct {
	At    float64
	Label string
}

// drawn is a series and its legend entry. Paths are SVG path data.
type drawn struct {
	Name         string
	Index        int
	Path, Marks  string
	KeyX, KeyY   float64
	Sample, Mark string
}

// HTML returns the chart as an element for a page with [ChartStyle]. The error wraps
// [ErrEmpty] if no series has a point to draw.
func (c Chart) HTML() (template.HTML, error) {
	all := c.drawable()
	if len(all) == 0 {
		return "", fmt.Errorf("chart %q: %w", c.Title, ErrEmpty)
	}
	var out bytes.Buffer
	if err := drawing().Execute(&out, c.layOut(all)); err != nil {
		return "", fmt.Errorf("chart %q: %w", c.Title, err)
	}
	return template.HTML(out.String()), nil // the template has escaped the names
}

// drawable returns the series with the points that the axes can show, in order. Each
// series keeps its index among all series, so that it has the same color in charts that
// leave out others.
func (c Chart) drawable() []numbered {
	var all []numbered
	for i, s := range c.Series {
		points := slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool {
			return !c.X.takes(p.X) || !c.Y.takes(p.Y)
		})
		if len(points) == 0 {
			continue
		}
		slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		all = append(all, numbered{Series{s.Name, points}, i % MostSeries})
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
	for _, s := range all {
		names = max(names, utf8.RuneCountInString(s.Name))
	}
	l := &layout{
		Title: c.Title, XLabel: c.X.Label, YLabel: c.Y.Label,
		Width: chartWidth, Height: chartHeight, Top: top, Bottom: chartHeight - bottom,
		Left: float64(edge + letter*numbers),
		// Names take at most half of the drawing; its edge cuts off the rest.
		Right: float64(chartWidth - min(sample+letter*names, chartWidth/2)),
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

// draw returns a series, with its entry at the given place of the legend.
func (l *layout) draw(s numbered, place int, x, y *span) drawn {
	places := make([]Point, len(s.Points))
	for i, p := range s.Points {
		places[i] = Point{l.across(x.at(p.X)), l.up(y.at(p.Y))}
	}
	down := l.Top + entry/2 + float64(place*entry)
	key := []Point{{l.Right + 12, down}, {l.Right + 24, down}, {l.Right + 36, down}}
	return drawn{
		Name: s.Name, Index: s.index,
		Path: path(places), Marks: marks(s.index, places),
		Sample: path(key), Mark: marks(s.index, key[1:2]),
		KeyX: l.Right + sample - 4, KeyY: down,
	}
}

// spans fits the axes around all points.
func (c Chart) spans(all []numbered) (x, y span) {
	low, high := all[0].Points[0], all[0].Points[0]
	for _, s := range all {
		for _, p := range s.Points {
			low = Point{min(low.X, p.X), min(low.Y, p.Y)}
			high = Point{max(high.X, p.X), max(high.Y, p.Y)}
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
