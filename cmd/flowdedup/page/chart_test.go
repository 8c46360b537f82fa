// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/xml"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
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
	text, err := c.html(true)
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

// TestChart checks that each series appears once, with its name and its points in the
// right places.
func TestChart(t *testing.T) {
	svg := draw(t, Chart{
		Title: "Rates", X: Axis{Label: "memory", Scale: Sizes}, Y: Axis{Label: "FPR", Scale: Log},
		Series: []Series{
			{Name: "lru", Points: []Point{{4096, 1e-5}, {1024, 1}, {2048, 0}, {2048, math.NaN()}}},
			{Name: "zeros", Points: []Point{{1024, 0}, {math.Inf(1), 1}}},
			{Name: `<b>"sbf" & more</b>`, Points: []Point{{2048, 0.01}}},
		},
	})
	series := svg.all("series")
	if len(series) != 2 {
		t.Fatalf("%d series", len(series))
	}
	// From the corner at the upper left to the one at the lower right.
	if d, axis := series[0].all("line")[0].D, svg.all("axis")[0].D; d != "M61 78L476 308" || axis != "M61 78V308H476" {
		t.Errorf("the line goes %s along axes %s", d, axis)
	}
	for i, want := range []struct {
		name, color string
		points      int
	}{{"lru", "color0", 2}, {`<b>"sbf" & more</b>`, "color2", 1}} {
		s := &series[i]
		if names := s.Children; names[0].Text != want.name || names[len(names)-1].Text != want.name {
			t.Errorf("series %d is named %q in the legend", i, names[len(names)-1].Text)
		}
		if !strings.HasSuffix(s.Class, want.color) {
			t.Errorf("%s has %s, want %s", want.name, s.Class, want.color)
		}
		if n := len(s.all("marks")); n != want.points+1 {
			t.Errorf("%s: %d marks, want them at %d points and in the legend", want.name, n, want.points)
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

// TestChartEmpty checks that the error names the empty chart.
func TestChartEmpty(t *testing.T) {
	c := Chart{Title: "Rates", Y: Axis{Scale: Log}, Series: []Series{{Name: "zeros", Points: []Point{{1, 0}, {2, math.Inf(1)}}}}}
	if _, err := c.html(true); !errors.Is(err, errEmpty) || !strings.Contains(err.Error(), "Rates") {
		t.Errorf("no point to draw: %v", err)
	}
}

// TestLongNames checks that long names leave room for the lines.
func TestLongNames(t *testing.T) {
	c := Chart{Series: []Series{{Name: strings.Repeat("name ", 1000), Points: []Point{{1, 1}, {2, 2}}}}}
	l := c.layOut(c.drawable())
	if l.Right-l.Left < chartWidth/3 {
		t.Errorf("lines lie from %g to %g of %d", l.Left, l.Right, chartWidth)
	}
}

// TestLabelsFit checks that labels below an axis are within the picture and apart, wherever values lie.
func TestLabelsFit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		scale := []Scale{Linear, Log, Delays, Sizes, Times}[random.IntN(5)]
		from := math.Pow(10, 18*random.Float64())
		to := from + math.Pow(10, 18*random.Float64())
		c := Chart{X: Axis{Scale: scale}, Series: []Series{{Points: []Point{{from, 1}, {to, math.Pow(10, 9*random.Float64())}}}}}
		l := c.layOut(c.drawable())
		if l.Right-l.Left < chartWidth/2 {
			t.Fatalf("scale %d, %g to %g: lines lie from %g to %g", scale, from, to, l.Left, l.Right)
		}
		before := 0.0
		for _, p := range l.XTicks {
			wide := letter * float64(utf8.RuneCountInString(p.Label))
			end := p.At + wide/2
			if p.Class != "" {
				end = p.At
			}
			// Letters are narrower than the guess, by a fifth at least.
			if begin := end - wide; begin+wide/5 < before || end > chartWidth+1 || begin < -1 {
				t.Fatalf("scale %d, %g to %g: %q is from %g to %g, behind a label that ends at %g", scale, from, to, p.Label, begin, end, before)
			}
			before = end
		}
	}
}

// TestTicks checks that ticks are round numbers, at both ends and in between.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		scale     Scale
		low, high float64
		want      string
	}{
		{Log, 1e-5, 0.5, "1e-5 0.0001 0.001 0.01 0.1 1"},
		{Log, 9.999999999999999e-06, 1.0000000000000002e-04, "1e-5 2e-5 5e-5 0.0001"},
		{Log, 3e-12, 0.01, "1e-12 1e-10 1e-8 1e-6 0.0001 0.01"},
		{Log, 5, 5, "1 2 5 10"},
		{Log, 2e5, 3e7, "100000 1e6 1e7 1e8"},
		{Sizes, 1024, 1024, "1 KiB 2 KiB"},
		{Sizes, 20000, 30 << 20, "16 KiB 64 KiB 256 KiB 1 MiB 4 MiB 16 MiB"},
		{Sizes, 0.5, 4, "2^-1 B 1 B 2 B 4 B"},
	} {
		s := Axis{Scale: c.scale}.span(c.low, c.high, mostTicks)
		var got []string
		for _, tick := range s.ticks {
			got = append(got, tick.label)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("scale %d, %g to %g: %s, want %s", c.scale, c.low, c.high, text, c.want)
		}
	}
}

// TestPlaces checks that values lie between the right ticks.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		scale        Scale
		low, high, v float64
		want         float64
	}{
		{Log, 1e-4, 1, 0.01, 0.5},
		{Sizes, 1024, 4096, 2048, 0.5},
	} {
		s := Axis{Scale: c.scale}.span(c.low, c.high, mostTicks)
		if got := s.at(c.v); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("scale %d: %g lies at %g, want %g", c.scale, c.v, got, c.want)
		}
	}
}

// FuzzAxis checks that an axis contains its values, and that its ticks are few, in order
// and distinct.
func FuzzAxis(f *testing.F) {
	f.Add(0, 1e-300, 1e300)
	f.Add(0, 1e15, 1e15+1)
	f.Add(1, 3.0, 3.0)
	f.Add(1, 1e-300, 1e300)
	const near = 1e-6
	f.Fuzz(func(t *testing.T, scale int, low, high float64) {
		axis := Axis{Scale: Scale(uint(scale) % 5)}
		low, high = min(low, high), max(low, high)
		if !axis.takes(low) || !axis.takes(high) {
			t.Skip()
		}
		s := axis.span(low, high, mostTicks)
		if a, b := s.at(low), s.at(high); !(a >= -near && b <= 1+near) {
			t.Errorf("values lie from %g to %g", a, b)
		}
		if n := len(s.ticks); n < 2 || n > mostTicks+2 {
			t.Errorf("%d ticks", n)
		}
		seen := map[string]bool{}
		for i, tick := range s.ticks {
			if !(tick.at >= -near && tick.at <= 1+near) || i > 0 && tick.at <= s.ticks[i-1].at {
				t.Errorf("tick %s at %g", tick.label, tick.at)
			}
			if seen[tick.label] {
				t.Errorf("two ticks read %s", tick.label)
			}
			seen[tick.label] = true
		}
	})
}

// TestColumns stands columns on each other, and hangs others below 0. Each says its value, and a line
// parts those above from those below.
func TestColumns(t *testing.T) {
	kind := func(name string, y float64) Columns { return Columns{Name: name, List: []Column{{0, 1, y}}} }
	svg := draw(t, Chart{Title: "Changes", X: Axis{Scale: Linear}, Y: Axis{Scale: Linear}, Columns: []Columns{kind("back", 2), kind("new", 5), kind("gone", -3)}})
	for i, want := range []string{"0: back 2", "0: new 5", "0: gone 3"} {
		areas := svg.all("series")[i].all("area")
		if len(areas) != 2 || len(areas[0].Children) != 1 || areas[0].Children[0].Text != want {
			t.Errorf("columns %d: %+v, want one on the chart that says %q, and one in the legend", i, areas, want)
		}
	}
	if n := len(svg.all("zero")); n != 1 {
		t.Errorf("%d lines at 0", n)
	}
	if n := len(draw(t, Chart{X: Axis{Scale: Linear}, Y: Axis{Scale: Linear}, Columns: []Columns{kind("one", 2)}}).all("zero")); n != 0 {
		t.Errorf("%d lines at 0 without anything below", n)
	}
}
