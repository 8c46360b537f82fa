// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestSVG(t *testing.T) {
	for _, c := range []struct {
		name  string
		chart Chart
	}{
		{"linear", Chart{Title: "rates", X: "slices", Y: "rate", Lines: []Line{
			{Name: "measured", X: []float64{3, 1, 2}, Y: []float64{0, 2, 1}},
			{Name: "printed", X: []float64{1, 2}, Y: []float64{2, 1}, Dashed: true}}}},
		{"logarithmic with zeros", Chart{Title: "rates", LogX: true, LogY: true, Lines: []Line{
			{Name: "measured", X: []float64{0, 1, 1000}, Y: []float64{1, 0, 1e-9}},
			{Name: "other", X: []float64{1, 100}, Y: []float64{1e-3, math.NaN()}}}}},
		{"one point", Chart{Title: "rates", LogX: true, LogY: true, Lines: []Line{
			{Name: "measured", X: []float64{4}, Y: []float64{0.5}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := c.chart.SVG(&out); err != nil {
				t.Fatal(err)
			}
			requireXML(t, out.Bytes())
			for _, line := range c.chart.Lines {
				if !strings.Contains(out.String(), line.Name) {
					t.Errorf("no legend for %q", line.Name)
				}
			}
		})
	}
}

func requireXML(t *testing.T, text []byte) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSVGErrors(t *testing.T) {
	nothing := Chart{LogY: true, Lines: []Line{{Name: "zeros", X: []float64{1, 2}, Y: []float64{0, math.Inf(1)}}}}
	if err := nothing.SVG(io.Discard); !errors.Is(err, errEmpty) {
		t.Errorf("no drawable point: %v", err)
	}
	uneven := Chart{Lines: []Line{{Name: "uneven", X: []float64{1, 2}, Y: []float64{0}}}}
	if err := uneven.SVG(io.Discard); err == nil {
		t.Error("no error for 2 x and 1 y")
	}
}
