// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"fmt"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// elements names what is counted, for the keys that people ask for most.
var elements = map[string]string{"src": "sources", "dst": "destinations", "flow": "flows", "pair": "pairs of addresses", "host": "hosts"}

// periods names windows that have a name.
var periods = map[time.Duration]string{
	time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour", 24 * time.Hour: "a day", 7 * 24 * time.Hour: "a week",
}

// lead says in a sentence how many elements of a key there are: on average, at most, and in all
// if that was counted.
func (k *keyPage) lead(totals []count.Row) string {
	name, ok := elements[k.of]
	if !ok {
		name = "distinct " + k.of
	}
	all := ""
	for i := range totals {
		if t := &totals[i]; t.Of == k.of && t.Family == "all" {
			all = "; " + countOf(t) + " in all"
		}
	}
	first := k.drawn[0]
	if k.windows == 1 {
		r := first.families["all"]
		return fmt.Sprintf("%s %s from %s to %s%s.", countOf(&r), name, moment(first.from), moment(first.to), all)
	}
	return fmt.Sprintf("On average %s %s %s, most (%s) on %s%s.", show.Short(k.sum/float64(k.windows)), name, k.period(), show.Count(k.most), moment(k.mostAt), all)
}

// period says how long a window is.
func (k *keyPage) period() string {
	if text, ok := periods[k.span]; ok {
		return text
	}
	return "in " + show.Duration(k.span)
}

// moment writes a time with its day of the week and its zone, as exactly as it needs.
func moment(t time.Time) string {
	layout := "Monday 2006-01-02 15:04 MST"
	if t.Second() != 0 || t.Nanosecond() != 0 {
		layout = "Monday 2006-01-02 15:04:05 MST"
	}
	return t.Format(layout)
}
