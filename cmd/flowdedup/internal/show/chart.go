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

// Chart is a chart of lines over common axes.
type Chart struct {
	Title string
	X, Y  Axis
	Lines []Line
}

// Line is one named line. It joins its points in the order of X. Points that an axis
// has no place for are left out, and so is a line without any other.
type Line struct {
	Name   string
	Points []Point
}

// Point is one point of a line, in the units of the axes.
type Point struct{ X, Y float64 }

// MostLines is how many lines have a colour and a mark of their own.
const MostLines = 8

//go:embed chart.svg
var chartText string

// drawing is parsed when the first chart is drawn: most runs draw none.
var drawing = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("chart").Parse(chartText))
})

//go:embed chart.css
var chartStyle string

// ChartStyle is the style sheet of charts, for light and dark pages. A page with charts
// holds it once.
func ChartStyle() template.CSS { return template.CSS(chartStyle) }

// The units of a drawing. It is scaled to its page, so only their proportions matter.
const (
	chartWidth  = 760
	chartHeight = 380
	top         = 40 // the title
	bottom      = 48 // the labels of the axis below
	edge        = 28 // beside the labels of the axis at the left, which is turned
	letter      = 7  // of a label: browsers have other fonts, so it is a generous guess
	sample      = 48 // of a line, in the legend, with room around it
	row         = 20 // of the legend
)

// numbered is a line and its index, which stands for its colour and mark.
type numbered struct {
	Line
	index int
}

// layout is what the template draws.
type layout struct {
	Title, XLabel, YLabel    string
	Width, Height            int
	Left, Right, Top, Bottom float64 // of the area that the lines lie in
	XTicks, YTicks           []placed
	Lines                    []drawn
}

// placed is a label of an axis.
type placed struct {
	At    float64
	Label string
}

// drawn is a line with its entry of the legend. Paths are in the language of SVG.
type drawn struct {
	Name         string
	Index        int
	Path, Marks  string
	KeyX, KeyY   float64
	Sample, Mark string
}

// HTML draws the chart as an element of a page that holds [ChartStyle]. It returns an
// error that wraps [ErrEmpty] if no line has a point to draw.
func (c Chart) HTML() (template.HTML, error) {
	lines := c.drawable()
	if len(lines) == 0 {
		return "", fmt.Errorf("chart %q: %w", c.Title, ErrEmpty)
	}
	var out bytes.Buffer
	if err := drawing().Execute(&out, c.layOut(lines)); err != nil {
		return "", fmt.Errorf("chart %q: %w", c.Title, err)
	}
	return template.HTML(out.String()), nil // the template has escaped the names
}

// drawable returns the lines with the points that the axes have a place for, in order.
// Each keeps the index that it has among all lines, so that a line has the same colour in
// two charts of which one leaves out others.
func (c Chart) drawable() []numbered {
	var lines []numbered
	for i, line := range c.Lines {
		points := slices.DeleteFunc(slices.Clone(line.Points), func(p Point) bool {
			return !c.X.takes(p.X) || !c.Y.takes(p.Y)
		})
		if len(points) == 0 {
			continue
		}
		slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
		lines = append(lines, numbered{Line{line.Name, points}, i % MostLines})
	}
	return lines
}

// layOut finds the place of everything.
func (c Chart) layOut(lines []numbered) *layout {
	x, y := c.spans(lines)
	numbers, names := 0, 0
	for _, t := range y.ticks {
		numbers = max(numbers, utf8.RuneCountInString(t.label))
	}
	for _, line := range lines {
		names = max(names, utf8.RuneCountInString(line.Name))
	}
	l := &layout{
		Title: c.Title, XLabel: c.X.Label, YLabel: c.Y.Label,
		Width: chartWidth, Height: chartHeight, Top: top, Bottom: chartHeight - bottom,
		Left: float64(edge + letter*numbers),
		// Names take half of the drawing at most, and are cut off by its edge there.
		Right: float64(chartWidth - min(sample+letter*names, chartWidth/2)),
	}
	for _, t := range x.ticks {
		l.XTicks = append(l.XTicks, placed{l.across(t.at), t.label})
	}
	for _, t := range y.ticks {
		l.YTicks = append(l.YTicks, placed{l.up(t.at), t.label})
	}
	for i, line := range lines {
		l.Lines = append(l.Lines, l.draw(line, i, &x, &y))
	}
	return l
}

// across and up turn places of the axes into places of the drawing.
func (l *layout) across(at float64) float64 { return round(l.Left + at*(l.Right-l.Left)) }
func (l *layout) up(at float64) float64     { return round(l.Bottom - at*(l.Bottom-l.Top)) }

// draw draws a line, and its entry at the given place of the legend.
func (l *layout) draw(line numbered, place int, x, y *span) drawn {
	places := make([]Point, len(line.Points))
	for i, p := range line.Points {
		places[i] = Point{l.across(x.at(p.X)), l.up(y.at(p.Y))}
	}
	down := l.Top + row/2 + float64(place*row)
	key := []Point{{l.Right + 12, down}, {l.Right + 24, down}, {l.Right + 36, down}}
	return drawn{
		Name: line.Name, Index: line.index,
		Path: path(places), Marks: marks(line.index, places),
		Sample: path(key), Mark: marks(line.index, key[1:2]),
		KeyX: l.Right + sample - 4, KeyY: down,
	}
}

// spans fits the axes around all points.
func (c Chart) spans(lines []numbered) (x, y span) {
	low, high := lines[0].Points[0], lines[0].Points[0]
	for _, line := range lines {
		for _, p := range line.Points {
			low = Point{min(low.X, p.X), min(low.Y, p.Y)}
			high = Point{max(high.X, p.X), max(high.Y, p.Y)}
		}
	}
	return c.X.span(low.X, high.X), c.Y.span(low.Y, high.Y)
}

// round keeps paths short: a tenth of a unit is not seen.
func round(v float64) float64 { return math.Round(v*10) / 10 }

// path joins places.
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

// shapes are the marks of points, around the place where they begin. Lines that share a
// shape have colours that are far apart, so that no reader depends on colours alone.
var shapes = [...]string{
	"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
	"m-2.7-2.7h5.4v5.4h-5.4z",
	"m0-3.6l3.5 6.2h-7z",
	"m0-3.8l3.8 3.8l-3.8 3.8l-3.8-3.8z",
}

// marks draws the mark of the line with the given index at each place.
func marks(index int, places []Point) string {
	var d strings.Builder
	for _, p := range places {
		fmt.Fprintf(&d, "M%g %g%s", p.X, p.Y, shapes[index%len(shapes)])
	}
	return d.String()
}
