package show

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// mostNames is how many kinds of frames that were not opened are named.
const mostNames = 4

// Unopened lists the kinds of frames that were not opened, the most frequent first, with their
// shares of all packets.
func Unopened(kinds map[string]uint64, packets uint64) string {
	names := slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(kinds[b], kinds[a]), cmp.Compare(a, b))
	})
	var out []string
	for _, name := range names[:min(len(names), mostNames)] {
		out = append(out, name+" "+Percent(float64(kinds[name]), float64(packets), 1))
	}
	if len(names) > mostNames {
		out = append(out, "and others")
	}
	return strings.Join(out, ", ")
}

// AllUnopened returns the number of frames that were not opened.
func AllUnopened(kinds map[string]uint64) (sum uint64) {
	for _, n := range kinds {
		sum += n
	}
	return sum
}

// MostUnopened reports whether more than half of the packets were not opened.
func MostUnopened(kinds map[string]uint64, packets uint64) bool {
	return AllUnopened(kinds) > packets/2
}
