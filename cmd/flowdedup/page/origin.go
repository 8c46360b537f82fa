// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"strings"
)

// mostTitled and mostListed are how many inputs the title, and the end of a page, name.
const mostTitled, mostListed = 3, 20

// clock is a time with its zone, as pages write it.
const clock = "2006-01-02 15:04:05 MST"

// listed names the first of many.
func listed(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most-1], ", "), len(names)-most+1)
}

// addTo adds the end of the page.
func (o *Origin) addTo(b *Builder) {
	if o.Made.IsZero() {
		return
	}
	b.Addf("<footer class=\"faint\">\n")
	if o.Command != "" {
		b.Addf("<p>Command: <code>%s</code></p>\n", o.Command)
	}
	if len(o.Inputs) > 0 {
		b.Addf("<p>Input: %s</p>\n", listed(o.Inputs, mostListed))
	}
	b.Addf("<p>Made %s by flowdedup, version %s</p>\n</footer>\n", o.Made.Format(clock), o.Version)
}
