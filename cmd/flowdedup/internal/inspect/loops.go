// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

var loopColumns = []show.Column{
	{Name: "loop or storm", Left: true}, {Name: "stations", Left: true}, {Name: "hosts", Left: true}, {Name: "packets"}, {Name: "seen"},
	{Name: "each up to"}, {Name: "every"}, {Name: "first packet"},
}

// loopRows describes the largest loops.
func loopRows(s *Summary) (rows [][]string) {
	for _, l := range s.Loops[:min(len(s.Loops), show.MaxRows)] {
		what := "the same frame"
		if l.Kind == inspect.RoutingLoop {
			what = "falling time to live"
		}
		rows = append(rows, []string{
			l.What + ", " + what, strings.Join(l.Stations, " "), strings.Join(l.Hosts, " "), show.Count(l.Different), show.Count(l.Sightings),
			show.Count(l.Most) + " times", show.Delay(l.Every), show.Count(l.Packet),
		})
	}
	return rows
}

// loopSection shows what a network repeats.
func loopSection(s *Summary) page.Section {
	return page.Section{
		Heading: "Loops and storms", Table: &page.Table{Columns: loopColumns, Rows: loopRows(s)},
		Caption: "A network or a sender repeats these packets, and no mirror. A frame that stays the same goes in circles between switches, or its sender makes a storm of it. " +
			"A time to live that falls with each pass between the same stations goes in circles between routers.",
	}
}
