// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// flagsIntro begins the page of all flags.
const flagsIntro = `# Flags

All flags of each command. ` + "`flowdedup COMMAND --help-all`" + ` has the same, with examples. Flags that
do not fit together are wrong usage: exit code 2, and one line that names both and says why.
This page is made from the program, by a test.
`

// flagsPage returns the page of all flags, in Markdown.
func flagsPage() string {
	var text strings.Builder
	text.WriteString(flagsIntro)
	for _, c := range allCommands()[1:] {
		fmt.Fprintf(&text, "\n## %s\n", c.Name())
		fs := c.LocalFlags()
		notes := combinations(fs)
		help.Each(fs, cli.Groups(), func(heading string, flags *pflag.FlagSet) {
			fmt.Fprintf(&text, "\n| %s | short, value | |\n|---|---|---|\n", strings.ToLower(heading))
			flags.VisitAll(func(f *pflag.Flag) {
				value, usage := pflag.UnquoteUsage(f)
				if f.Shorthand != "" {
					value = strings.TrimSpace("-" + f.Shorthand + " " + value)
				}
				if value != "" {
					value = "`" + value + "`"
				}
				usage = strings.ReplaceAll(usage, "\n", " ")
				fmt.Fprintf(&text, "| `--%s` | %s | %s |\n", f.Name, value, strings.Join(append([]string{usage}, notes[f.Name]...), "; "))
			})
		})
	}
	return text.String()
}

// combinations says which flags each flag needs and excludes.
func combinations(fs *pflag.FlagSet) map[string][]string {
	notes := map[string][]string{}
	for _, r := range cli.Rules(fs) {
		var others []string
		for _, o := range r.Others {
			name, values, _ := strings.Cut(o, "=")
			others = append(others, "`"+strings.TrimSpace("--"+name+" "+strings.ReplaceAll(values, ",", "` or `"))+"`")
			if !r.Needs {
				note := "not with `--" + r.Flag + "`"
				if values != "" {
					note = strings.ReplaceAll(values, ",", " and ") + " " + note
				}
				notes[name] = append(notes[name], note)
			}
		}
		how := "not with "
		if r.Needs {
			how = "needs "
		}
		notes[r.Flag] = append(notes[r.Flag], how+strings.Join(others, " or "))
	}
	return notes
}
