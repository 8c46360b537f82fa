// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// table is a table of text. Its first column is aligned left, the others right.
type table struct {
	head []string
	rows [][]string
}

func (t table) markdown() string {
	if len(t.rows) == 0 {
		return "No results.\n"
	}
	var p strings.Builder
	line := func(cells []string) {
		p.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	line(t.head)
	p.WriteString("|---" + strings.Repeat("|---:", len(t.head)-1) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
	return p.String()
}
