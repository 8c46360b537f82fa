// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"fmt"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// ranked returns the table of a ranking. note says how much too high its counts may be, "" if they
// are exact.
func ranked(all []count.Top) (columns []show.Column, rows [][]string, note string) {
	columns = []show.Column{{Name: "top " + all[0].Of, Left: true}, {Name: "packets"}, {Name: "share"}, {Name: "bytes"}, {Name: "share"}}
	var packets, bytes uint64
	for i := range all {
		t := &all[i]
		rows = append(rows, []string{t.Value, show.Count(t.Packets), show.Percent(t.PacketsShare, 1, 1), show.Count(t.Bytes), show.Percent(t.BytesShare, 1, 1)})
		packets, bytes = max(packets, t.Packets-t.PacketsLow), max(bytes, t.Bytes-t.BytesLow)
	}
	if packets > 0 {
		note = fmt.Sprintf("for want of memory packets are up to %s, bytes up to %s too high", show.Count(packets), show.Count(bytes))
	}
	return columns, rows, note
}

// top writes the rankings of a window outside of the table.
func (d *textTable) top(rows []count.Row) {
	for i := range rows {
		if len(rows[i].Top) == 0 {
			continue
		}
		d.open = false
		columns, cells, note := ranked(rows[i].Top)
		lines := show.Table(columns, cells, max(0, d.terminal-2))
		if note != "" {
			lines = append(lines, note)
		}
		d.text.WriteString("\n  " + strings.Join(lines, "\n  ") + "\n")
	}
}
