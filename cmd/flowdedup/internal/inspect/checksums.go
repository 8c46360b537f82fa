// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"maps"
	"slices"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
)

var checksumColumns = []show.Column{{Name: "checksums right at", Left: true}, {Name: "seen first"}, {Name: "copied"}}

// checksumRows returns a row for each point, none if all checksums of copies are right.
func checksumRows(s *Summary) (rows [][]string) {
	wrong := func(c inspect.Checksums) bool { return c.FirstWrong+c.CopyWrong > 0 }
	if !slices.ContainsFunc(slices.Collect(maps.Values(s.Checksums)), wrong) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Checksums)) {
		c := s.Checksums[name]
		rows = append(rows, []string{show.Printable(name), rightSums(c.FirstValid, c.FirstWrong), rightSums(c.CopyValid, c.CopyWrong)})
	}
	return rows
}

// rightSums says which share of the checksums is right.
func rightSums(valid, wrong uint64) string {
	if valid+wrong == 0 {
		return "-"
	}
	return show.Percent(float64(valid), float64(valid+wrong), 0) + " of " + show.Count(valid+wrong)
}

func checksumsTable(t *show.Text, s *Summary) {
	if rows := checksumRows(s); len(rows) > 0 {
		t.Table(checksumColumns, rows)
	}
}

// checksumsSection shows where checksums are right.
func checksumsSection(rows [][]string) page.Section {
	t := page.Table{Columns: checksumColumns, Rows: rows[:min(len(rows), page.MostRows)]}
	return page.Section{
		Heading: "Where checksums are right", Table: &t,
		Caption: "Of the packets with copies: at the sender's end of a mirror a network card has not filled checksums in yet, and analyzers drop such packets. With --ignore l4-checksum the copies with the right checksums stay.",
	}
}
