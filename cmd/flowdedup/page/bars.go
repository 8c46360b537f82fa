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
	// Parts names the two parts of each bar, if bars have two.
	Parts [2]string
}

// Bar is a value, which is not negative.
type Bar struct {
	Name  string
	Value float64
	Part  float64 // of Value, at the end of the bar
	Text  string  // the value as text next to the name
}

// The sizes of a bar: with its name and the room around it, and without.
const (
	barStep   = 34
	barHeight = 12
)

// html returns the bars as an element for a page. The error wraps [errEmpty] if there are
// none.
func (b Bars) html(titled bool) (markup, error) {
	most := 0.0
	for _, bar := range b.List {
		most = max(most, bar.Value)
	}
	if most <= 0 {
		return "", fmt.Errorf("chart %q: %w", b.Title, errEmpty)
	}
	var out builder
	first := top
	if b.Parts[0] != "" {
		first += entry
	}
	base := first + barStep*len(b.List)
	out.begin(chartWidth, base+4, b.Title, titled)
	if b.Parts[0] != "" {
		second := 24 + letter*utf8.RuneCountInString(b.Parts[0])
		out.addf(`<rect class="bar" x="1" y="%v" width="12" height="9"/><text x="18" y="%[1]v" dy="9">%s</text>`, top, b.Parts[0])
		out.addf(`<rect class="part" x="%v" y="%v" width="12" height="9"/><text x="%v" y="%[2]v" dy="9">%[4]s</text>`+"\n", second, top, second+17, b.Parts[1])
	}
	for i, bar := range b.List {
		down := first + barStep*i
		room := chartWidth/letter - utf8.RuneCountInString(bar.Text) - 2
		out.addf(`<text x="6" y="%v">%s: <tspan class="strong">%s</tspan></text>`, down+10, shorten(bar.Name, room), bar.Text)
		wide, part := (chartWidth-2)*bar.Value/most, (chartWidth-2)*bar.Part/most
		for _, r := range []struct {
			style    string
			at, wide float64
		}{{"bar", 1, wide - part}, {"part", 1 + wide - part, part}} {
			if r.wide > 0 {
				out.addf(`<rect class="%s" x="%v" y="%v" width="%v" height="%v"><title>%s: %s</title></rect>`+"\n",
					r.style, round(r.at), down+16, round(r.wide), barHeight, bar.Name, bar.Text)
			}
		}
	}
	out.addf(`<path class="axis" d="M1 %vV%v"/>`+"\n</svg>\n", first-4, base)
	return out.markup(), nil
}

// shorten cuts a name to room letters, room being at least 1.
func shorten(name string, room int) string {
	if utf8.RuneCountInString(name) <= room {
		return name
	}
	return string([]rune(name)[:max(0, room-1)]) + "…"
}
