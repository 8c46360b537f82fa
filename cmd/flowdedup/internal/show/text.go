// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/flowdedup/flowdedup/capture/traits"
)

// Text gathers the text of a command, and fits it to a terminal.
type Text struct {
	strings.Builder
	columns int
}

// NewText returns an empty text for a terminal of this width. 0 is for files and pipes: lines are
// as long as they are, so that the text is the same everywhere.
func NewText(columns int) *Text { return &Text{columns: columns} }

// Flush writes the text. Lines that the terminal would break continue below their beginning.
func (t *Text) Flush(w io.Writer) error {
	out := t.String()
	if t.columns > 0 {
		lines := strings.Split(out, "\n")
		for i, line := range lines {
			lines[i] = Wrap(line, indent(line), t.columns)
		}
		out = strings.Join(lines, "\n")
	}
	_, err := io.WriteString(w, out)
	return err
}

// factColumn is where the text of a line begins that has a name before it.
const factColumn = 14

// indent returns where a line continues: below its text if a name stands before it, else
// two columns behind its begin.
func indent(line string) int {
	if len(line) > factColumn && line[:2] == "  " && line[factColumn-1] == ' ' && line[factColumn] != ' ' &&
		!strings.Contains(strings.TrimRight(line[2:factColumn-1], " "), " ") {
		return factColumn
	}
	return len(line) - len(strings.TrimLeft(line, " ")) + 2
}

// Wrap cuts a line between words into lines of this width at most. All but the first begin with
// spaces. A longer word stays whole: it may be the name of a file.
func Wrap(line string, indent, columns int) string {
	if text.StringWidthWithoutEscSequences(line) <= columns {
		return line
	}
	return fold(strings.Split(line, " "), "\n"+strings.Repeat(" ", indent), columns)
}

// fold puts words on lines of this width at most, with a separator in place of the space between
// two lines.
func fold(words []string, separator string, columns int) string {
	var out strings.Builder
	ending, next, _ := strings.Cut(separator, "\n")
	room := columns - len(ending)
	at, blank := 0, true // at: the column; blank: no word is on this line
	for i, word := range words {
		n := text.StringWidthWithoutEscSequences(word)
		switch {
		case i == 0:
		case blank || at+1+n <= room:
			out.WriteByte(' ')
			at++
		default:
			out.WriteString(separator)
			at, blank = len(next), true
		}
		out.WriteString(word)
		at += n
		blank = blank && word == ""
	}
	return out.String()
}

// Command adds a line with a command behind a prefix. Where the terminal is too narrow it
// continues with a backslash, so that shells take it when it is pasted.
func (t *Text) Command(prefix, command string) {
	line := prefix + command
	if t.columns > 0 && text.StringWidth(line) > t.columns && runtime.GOOS != "windows" {
		line = fold(shellWords(line), " \\\n"+strings.Repeat(" ", indent(prefix)), t.columns)
	}
	fmt.Fprintln(t, line)
}

// shellWords splits a command line at spaces that are neither quoted nor escaped.
func shellWords(line string) []string {
	var words []string
	var quote rune
	from, escaped := 0, false
	for i, r := range line {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		case r == ' ' && quote == 0:
			words = append(words, line[from:i])
			from = i + 1
		}
	}
	return append(words, line[from:])
}

// Conversations says how many conversations of a sample were kept in parts.
type Conversations struct {
	traits.SplitCounts
	Inner bool // tunnels were opened
	// Advice are the flags that would keep conversations whole; empty if none were kept in
	// parts, or no flag is left.
	Advice []string
}

// Tags names the headers that distinguish conversations.
func (n *Conversations) Tags() string {
	if n.Inner {
		return "VLAN or tunnel"
	}
	return "VLAN"
}

// String says how many conversations were kept in parts, with advice. It is empty for none.
func (n *Conversations) String() string {
	if n.Split == 0 {
		return ""
	}
	points := "interface"
	if n.Tagged > 0 {
		points = strings.Replace(n.Tags(), " or ", ", ", 1) + " or interface"
	}
	text := fmt.Sprintf("%s of %s sampled conversations were kept from more than one %s", Count(n.Split), Count(n.Sampled), points)
	if len(n.Advice) > 0 {
		text += ": use " + strings.Join(n.Advice, " or ")
	}
	return text
}
