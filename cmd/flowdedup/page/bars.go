// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"unicode/utf8"
)

// Bars compares named values. Bars lie, and names stand above them, since names are long and
// screens may be narrow.
type Bars struct {
	Title string
	List  []Bar
}

// Bar is one value, which is not negative.
type Bar struct {
	Name  string
	Value float64
	Text  string // the value as text next to the name
}

// The sizes of a bar: with its name and the room around it, and without.
const (
	barStep   = 34
	barHeight = 12
)

// html returns the bars as an element for a page. The error wraps [errEmpty] if there are
// none.
func (b Bars) html() (markup, error) {
	most := 0.0
	for _, bar := range b.List {
		most = max(most, bar.Value)
	}
	if most <= 0 {
		return "", fmt.Errorf("chart %q: %w", b.Title, errEmpty)
	}
	var out builder
	base := top + barStep*len(b.List)
	out.addf(chartStart, chartWidth, base+4, b.Title)
	out.addf(chartTitle, 0, b.Title)
	for i, bar := range b.List {
		down := top + barStep*i
		room := chartWidth/letter - utf8.RuneCountInString(bar.Text) - 2
		out.addf(`<text x="6" y="%v">%s: <tspan class="strong">%s</tspan></text>`, down+10, shorten(bar.Name, room), bar.Text)
		out.addf(`<rect class="bar" x="1" y="%v" width="%v" height="%v"/>`+"\n", down+16, round((chartWidth-2)*bar.Value/most), barHeight)
	}
	out.addf(`<path class="axis" d="M1 %vV%v"/>`+"\n</svg>\n", top-4, base)
	return out.markup(), nil
}

// shorten cuts a name that has more letters than there is room for, at least one.
func shorten(name string, room int) string {
	if utf8.RuneCountInString(name) <= room {
		return name
	}
	return string([]rune(name)[:max(0, room-1)]) + "…"
}
