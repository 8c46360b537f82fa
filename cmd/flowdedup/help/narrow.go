// SPDX-License-Identifier: Apache-2.0

package help

import (
	"regexp"
	"strings"
	"sync"
)

// Columns is the most that a line of help has, and has where it is not on a terminal: a terminal
// of 80 columns.
const Columns = 79

// fewest is the least: in narrower terminals lines are broken.
const fewest = 40

// width returns how many columns help has on a terminal of this width; 0 stands for none.
func width(terminal int) int {
	if terminal <= 0 {
		return Columns
	}
	return min(max(terminal, fewest), Columns)
}

// item is the beginning of an item of a list, up to its text.
var item = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ +(?:- |\S+(?: \S+)*  +)`) })

// fill fits text that has lines of at most Columns to fewer. Paragraphs, and items of lists
// whose later lines stand below their text, are folded anew. Other lines that do not begin at the
// left are examples, and stay.
func fill(text string, columns int) string {
	if columns >= Columns {
		return text
	}
	var out []string
	var words []string
	head := "" // of words
	flush := func() {
		if len(words) > 0 {
			out = append(out, head+fold(words, len(head), columns))
			words = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		inside := strings.TrimLeft(line, " ")
		indent := len(line) - len(inside)
		switch {
		case inside != "" && len(words) > 0 && indent == len(head):
			words = append(words, strings.Fields(line)...)
			continue
		case inside == "" || indent > 0 && !item().MatchString(line):
			flush()
			out = append(out, line)
			continue
		}
		flush()
		head = item().FindString(line)
		words = strings.Fields(line[len(head):])
	}
	flush()
	return strings.Join(out, "\n")
}

// fold puts words on lines of at most this many columns. The first line begins at column from, and
// the others below it.
func fold(words []string, from, columns int) string {
	var out strings.Builder
	at := from
	for i, word := range words {
		switch {
		case i == 0:
		case at+1+len(word) <= columns:
			out.WriteByte(' ')
			at++
		default:
			out.WriteString("\n" + strings.Repeat(" ", from))
			at = from
		}
		out.WriteString(word)
		at += len(word)
	}
	return out.String()
}
