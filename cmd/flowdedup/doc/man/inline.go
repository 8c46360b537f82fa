// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/doc/man/roff"
)

// marked matches inline markup of Markdown.
var marked = regexp.MustCompile("`[^`]+`|\\*\\*[^*]+\\*\\*|\\*[^*]+\\*|!?\\[[^]]*\\]\\([^)]*\\)")

// inline renders the inline markup of a paragraph. link returns the text of a link.
func inline(s string, link func(text, target string) string) string {
	var out strings.Builder
	for {
		at := marked.FindStringIndex(s)
		if at == nil {
			return out.String() + roff.Escape(s)
		}
		found := s[at[0]:at[1]]
		out.WriteString(roff.Escape(s[:at[0]]))
		s = s[at[1]:]
		switch {
		case found[0] == '`':
			out.WriteString(roff.Bold(strings.Trim(found, "`")))
		case strings.HasPrefix(found, "**"):
			out.WriteString(`\fB` + inline(strings.Trim(found, "*"), link) + `\fR`)
		case found[0] == '*':
			out.WriteString(roff.Italic(strings.Trim(found, "*")))
		case found[0] == '[':
			text, target, _ := strings.Cut(found[1:len(found)-1], "](")
			out.WriteString(link(text, target))
		} // pictures are left out
	}
}
