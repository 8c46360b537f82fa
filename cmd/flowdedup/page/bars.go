// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"unicode/utf8"
)

// Bars compares named values. Bars lie, since names are long.
type Bars struct {
	Title string
	List  []Bar
}

// Bar is one value, which is not negative.
type Bar struct {
	Name  string
	Value float64
	Text  string // the value as it is written beside the bar
}

// mostName is how many letters of a name are shown.
const mostName = 40

// barHeight is the height of a bar with the room around it.
const barHeight = 24

// laidBars is where everything stands.
type laidBars struct {
	Title         string
	Width, Height int
	Left, Base    int // where bars begin; the end of the axis
	Bars          []laidBar
}

type laidBar struct {
	Name, Text     string
	Index          int
	Top, Low, Wide float64 // the text stands at Low
	End            float64
}

// HTML returns the bars as an element for a page. The error wraps errEmpty if there are
// none.
func (b Bars) HTML() (Markup, error) {
	most, names, texts := 0.0, 0, 0
	for _, bar := range b.List {
		most = max(most, bar.Value)
		names = max(names, utf8.RuneCountInString(cut(bar.Name)))
		texts = max(texts, utf8.RuneCountInString(bar.Text))
	}
	if most <= 0 {
		return "", fmt.Errorf("chart %q: %w", b.Title, errEmpty)
	}
	l := laidBars{Title: b.Title, Width: chartWidth, Left: 12 + letter*names, Base: top + barHeight*len(b.List)}
	l.Height = l.Base + 10
	room := float64(l.Width - l.Left - letter*texts - 12)
	for i, bar := range b.List {
		at := float64(top + barHeight*i)
		wide := round(room * bar.Value / most)
		l.Bars = append(l.Bars, laidBar{
			Name: cut(bar.Name), Text: bar.Text, Top: at + 4, Low: at + 16, Wide: wide, End: float64(l.Left) + wide + 6,
		})
	}
	return l.markup(), nil
}

func (l *laidBars) markup() Markup {
	var b Builder
	b.Addf(chartStart, l.Width, l.Height, l.Title)
	b.Addf(chartTitle, 0, l.Title)
	for _, bar := range l.Bars {
		b.Addf(`<text class="y" x="%v" y="%v" dx="-8">%s</text>`, l.Left, bar.Low, bar.Name)
		b.Addf(`<rect class="bar" x="%v" y="%v" width="%v" height="16"/>`, l.Left, bar.Top, bar.Wide)
		b.Addf(`<text x="%v" y="%v">%s</text>`+"\n", bar.End, bar.Low, bar.Text)
	}
	b.Addf(`<path class="axis" d="M%v 40V%v"/>`+"\n</svg>\n", l.Left, l.Base)
	return b.Markup()
}

// cut shortens a name that would leave no room.
func cut(name string) string {
	if utf8.RuneCountInString(name) <= mostName {
		return name
	}
	return string([]rune(name)[:mostName-1]) + "…"
}
