// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"golang.org/x/term"
)

// tables lines up the columns of tables, whose cells end in tabs, and fits them to a terminal. A
// table that is too wide continues below, with its first column again. A sentence continues
// below, two columns to the right.
type tables struct {
	bytes.Buffer
	out     io.Writer
	columns int // of the terminal, 0 for none
}

// newTables returns tables for out. Where out is no terminal, tables are the same everywhere.
func newTables(out io.Writer) *tables {
	return &tables{out: out, columns: terminalColumns(out)}
}

// terminalColumns returns the width of the terminal that out is, 0 if it is none.
func terminalColumns(out io.Writer) int {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
		return columns
	}
	return 80
}

// columnGap is the width of the gap between columns.
const columnGap = 2

// Flush writes the tables.
func (t *tables) Flush() error {
	text := t.String()
	if t.columns > 0 {
		text = fit(text, t.columns)
	}
	w := tabwriter.NewWriter(t.out, 0, 0, columnGap, ' ', tabwriter.AlignRight)
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return w.Flush()
}

// fit returns text whose tables and sentences have at most the given number of columns.
func fit(text string, columns int) string {
	var out strings.Builder
	var table [][]string
	flush := func() {
		out.WriteString(strings.Join(narrow(table, columns), "\n"))
		table = nil
	}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) > 1 {
			table = append(table, cells[:len(cells)-1]) // nothing is behind the last tab
			continue
		}
		flush()
		out.WriteString(wrap(line, columns))
	}
	flush()
	return out.String()
}

// narrow cuts a table into tables that are narrow enough. Each has at least two columns.
func narrow(table [][]string, columns int) (parts []string) {
	if len(table) == 0 {
		return nil
	}
	for from := 1; from < len(table[0]) || from == 1; {
		width, to := columnWidth(table, 0), from
		for to < len(table[0]) && (to == from || width+columnWidth(table, to) <= columns) {
			width += columnWidth(table, to)
			to++
		}
		var part strings.Builder
		for _, cells := range table {
			end := min(to, len(cells))
			part.WriteString(strings.Join(append(cells[:1:1], cells[min(from, end):end]...), "\t") + "\t\n")
		}
		parts = append(parts, part.String())
		from = max(to, from+1)
	}
	return parts
}

// columnWidth returns the width of a column with the gap before it.
func columnWidth(table [][]string, column int) (width int) {
	for _, cells := range table {
		if column < len(cells) {
			width = max(width, utf8.RuneCountInString(cells[column])+columnGap)
		}
	}
	return width
}

// wrap cuts a line between words into lines of at most the given number of
// columns.
func wrap(line string, columns int) string {
	var out strings.Builder
	at := 0
	for i, word := range strings.Split(line, " ") {
		n := utf8.RuneCountInString(strings.TrimSuffix(word, "\n"))
		switch {
		case i == 0:
		case at+1+n <= columns:
			out.WriteByte(' ')
			at++
		default:
			out.WriteString("\n  ")
			at = 2
		}
		out.WriteString(word)
		at += n
	}
	return out.String()
}
