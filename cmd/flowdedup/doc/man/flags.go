// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// flagsIntro begins the page of all flags, combinationsIntro its last section.
const (
	flagsIntro = `# Flags

All flags, by subject. ` + "`flowdedup COMMAND --help-all`" + ` prints those of a command, with examples.
`
	combinationsIntro = `
## Combinations

Flags that do not fit together are wrong usage: exit code 2, and a line that names both and says why.
`
)

// row is a flag with the commands in which it has this meaning.
type row struct{ name, value, meaning, commands string }

// flagsPage returns the page of all flags, in Markdown.
func flagsPage() string {
	var text strings.Builder
	text.WriteString(flagsIntro)
	for _, g := range cli.Groups() {
		var rows []row
		for _, c := range allCommands()[1:] {
			help.Each(c.LocalFlags(), []help.Group{g}, func(_ string, flags *pflag.FlagSet) {
				flags.VisitAll(func(f *pflag.Flag) { rows = note(rows, c.Name(), f) })
			})
		}
		if len(rows) == 0 {
			continue
		}
		slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
		fmt.Fprintf(&text, "\n## %s\n\n| flag | short, value | commands | meaning |\n|---|---|---|---|\n", g)
		for _, r := range rows {
			fmt.Fprintf(&text, "| `--%s` | %s | %s | %s |\n", r.name, r.value, r.commands, r.meaning)
		}
	}
	text.WriteString(combinationsIntro)
	for _, c := range allCommands()[1:] {
		if all := combinations(c.LocalFlags()); len(all) > 0 {
			fmt.Fprintf(&text, "\n### %s\n\n- %s\n", c.Name(), strings.Join(all, "\n- "))
		}
	}
	return text.String()
}

// note adds a flag of a command to rows.
func note(rows []row, command string, f *pflag.Flag) []row {
	value, usage := pflag.UnquoteUsage(f)
	if f.Shorthand != "" {
		value = strings.TrimSpace("-" + f.Shorthand + " " + value)
	}
	if value != "" {
		value = "`" + value + "`"
	}
	added := row{f.Name, value, strings.ReplaceAll(usage, "\n", " "), command}
	for i, r := range rows {
		if r.commands = command; r == added {
			rows[i].commands += ", " + command
			return rows
		}
	}
	return append(rows, added)
}

// combinations says which flags each flag needs and excludes, on a line for flags of equal rules.
func combinations(fs *pflag.FlagSet) (lines []string) {
	var rules []string
	flags := map[string][]string{} // by rule
	for _, r := range cli.Rules(fs) {
		how, between := "not with ", ", "
		if r.Needs {
			how, between = "only with ", " or "
		}
		var others []string
		for _, o := range r.Others {
			name, values, _ := strings.Cut(o, "=")
			others = append(others, "`"+strings.TrimSpace("--"+name+" "+strings.ReplaceAll(values, ",", "` or `"))+"`")
		}
		rule := how + strings.Join(others, between)
		if flags[rule] == nil {
			rules = append(rules, rule)
		}
		flags[rule] = append(flags[rule], "`--"+r.Flag+"`")
	}
	for _, rule := range rules {
		lines = append(lines, strings.Join(flags[rule], ", ")+" "+rule)
	}
	return lines
}
