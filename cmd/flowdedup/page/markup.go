// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"html"
	"strings"
)

// Markup is HTML, or SVG within it.
type Markup string

// Builder makes markup. It stands in for html/template, which calls methods by their names:
// a linker has to keep all methods of all types then, which are 3 MB of the command.
type Builder struct{ text strings.Builder }

// Addf adds markup with arguments in it, as fmt.Printf does. HTML syntax in an argument shows
// as text, so that no name of a file or interface changes a page: only Markup is added as it
// is. An argument may stand between tags, or between double quotes.
func (b *Builder) Addf(format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case Markup, int, float64:
		case string:
			args[i] = html.EscapeString(arg)
		default:
			args[i] = html.EscapeString(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(&b.text, format, args...)
}

// Markup returns the added markup.
func (b *Builder) Markup() Markup { return Markup(b.text.String()) }
