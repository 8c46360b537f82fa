package show

import (
	"encoding/xml"
	"errors"
	"math"
	"strings"
	"testing"
)

// element is an SVG element with what lies in it.
type element struct {
	XMLName  xml.Name
	Class    string    `xml:"class,attr"`
	D        string    `xml:"d,attr"`
	Text     string    `xml:",chardata"`
	Children []element `xml:",any"`
}

// all returns what lies in e and has the class.
func (e *element) all(class string) []element {
	var found []element
	for i := range e.Children {
		c := &e.Children[i]
		for name := range strings.FieldsSeq(c.Class) {
			if name == class {
				found = append(found, *c)
			}
		}
		found = append(found, c.all(class)...)
	}
	return found
}

// draw draws the chart and reads it as XML.
func draw(t *testing.T, c Chart) *element {
	t.Helper()
	text, err := c.HTML()
	if err != nil {
		t.Fatal(err)
	}
	var svg element
	if err := xml.Unmarshal([]byte(text), &svg); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if svg.XMLName.Local != "svg" || strings.Contains(string(text), "NaN") || strings.Contains(string(text), "ZgotmplZ") {
		t.Errorf("drew %s", text)
	}
	return &svg
}

// TestChart wants each series once with a name, and points at the places of its values.
func TestChart(t *testing.T) {
	svg := draw(t, Chart{
		Title: "Rates", X: Axis{"memory", Sizes}, Y: Axis{"FPR", Log},
		Series: []Series{
			{"lru", []Point{{4096, 1e-5}, {1024, 1}, {2048, 0}, {2048, math.NaN()}}},
			{"zeros", []Point{{1024, 0}, {math.Inf(1), 1}}},
			{`<b>"sbf" & more</b>`, []Point{{2048, 0.01}}},
		},
	})
	series := svg.all("series")
	if len(series) != 2 {
		t.Fatalf("%d series", len(series))
	}
	// From the corner at the upper left to the one at the lower right.
	if d, axis := series[0].all("line")[0].D, svg.all("axis")[0].D; d != "M70 40L579 332" || axis != "M70 40V332H579" {
		t.Errorf("the line goes %s along axes %s", d, axis)
	}
	for i, want := range []struct{ name, color string }{{"lru", "color0"}, {`<b>"sbf" & more</b>`, "color2"}} {
		s := &series[i]
		if names := s.Children; names[0].Text != want.name || names[len(names)-1].Text != want.name {
			t.Errorf("series %d is named %q in the legend", i, names[len(names)-1].Text)
		}
		if !strings.HasSuffix(s.Class, want.color) {
			t.Errorf("%s has %s, want %s", want.name, s.Class, want.color)
		}
		if n := len(s.all("marks")); n != 2 {
			t.Errorf("%s: marks %d times, want them on the line and in the legend", want.name, n)
		}
	}
	var ticks []string
	for _, e := range append(svg.all("x"), svg.all("y")...) {
		ticks = append(ticks, e.Text)
	}
	if text := strings.Join(ticks, " "); text != "1 KiB 2 KiB 4 KiB 1e-5 0.0001 0.001 0.01 0.1 1" {
		t.Errorf("ticks %s", text)
	}
}

// TestChartEmpty asks for an error that says which chart is empty.
func TestChartEmpty(t *testing.T) {
	c := Chart{Title: "Rates", Y: Axis{Scale: Log}, Series: []Series{{"zeros", []Point{{1, 0}, {2, math.Inf(1)}}}}}
	if _, err := c.HTML(); !errors.Is(err, ErrEmpty) || !strings.Contains(err.Error(), "Rates") {
		t.Errorf("no point to draw: %v", err)
	}
}

// TestChartStyle wants a colour for each series that is told apart, in light and in dark.
func TestChartStyle(t *testing.T) {
	style := string(ChartStyle())
	for i := range MostSeries {
		n := string(rune('0' + i))
		if strings.Count(style, "--c"+n+":") != 2 || !strings.Contains(style, ".color"+n+" ") {
			t.Errorf("series %d has no colour", i)
		}
	}
}

// TestLongNames keeps room for the lines, however long their names are.
func TestLongNames(t *testing.T) {
	c := Chart{Series: []Series{{strings.Repeat("name ", 1000), []Point{{1, 1}, {2, 2}}}}}
	l := c.layOut(c.drawable())
	if l.Right-l.Left < chartWidth/3 {
		t.Errorf("lines lie from %g to %g of %d", l.Left, l.Right, chartWidth)
	}
}
