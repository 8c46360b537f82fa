// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"strings"
)

// mostNames is how many kinds of frames that were not opened are named.
const mostNames = 4

// Unopened lists the kinds of frames that were not opened, the most frequent first, with their
// shares of all packets.
func Unopened(kinds map[string]uint64, packets uint64) string {
	names := Largest(kinds)
	var out []string
	for _, name := range names[:min(len(names), mostNames)] {
		out = append(out, name+" "+Percent(float64(kinds[name]), float64(packets), 1))
	}
	if len(names) > mostNames {
		out = append(out, "and others")
	}
	return strings.Join(out, ", ")
}

// NotOpened describes packets without IP that were not opened, "" if there are none.
func NotOpened(kinds map[string]uint64, packets uint64) string {
	n := Total(kinds)
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s of those without IP: %s", Count(n), Unopened(kinds, packets))
}

// MostUnopened reports whether more than half of the packets were not opened.
func MostUnopened(kinds map[string]uint64, packets uint64) bool {
	return Total(kinds) > packets/2
}
