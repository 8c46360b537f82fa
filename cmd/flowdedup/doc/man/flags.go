// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// flagsIntro begins the page of all flags, combinationsIntro its last section.
const (
	flagsIntro = `# Flags

All flags: of several commands first, then of single commands. ` + "`flowdedup COMMAND --help-all`" + ` prints
the flags of a command by subject, with examples.

## Several commands

| flag | meaning | commands |
|---|---|---|
`
	combinationsIntro = `
## Combinations

Flags that do not fit together are wrong usage: exit code 2, and a line that names both and says why.
`
)

// row is a line of the page with the commands that it holds for.
type row struct{ text, meaning, commands string }

// flagsPage returns the page of all flags, in Markdown.
func flagsPage() string {
	var text strings.Builder
	text.WriteString(flagsIntro)
	var rows []row
	for _, c := range allCommands()[1:] {
		help.Each(c.LocalFlags(), cli.Groups(), func(_ string, flags *pflag.FlagSet) {
			flags.VisitAll(func(f *pflag.Flag) { rows = note(rows, flagRow(f), c.Name()) })
		})
	}
	own := map[string]string{} // rows of flags of one command
	for _, r := range slices.SortedStableFunc(slices.Values(rows), func(a, b row) int { return strings.Compare(a.text, b.text) }) {
		if strings.Contains(r.commands, ", ") {
			fmt.Fprintf(&text, "| %s | %s | %s |\n", r.text, r.meaning, r.commands)
			continue
		}
		own[r.commands] += fmt.Sprintf("| %s | %s |\n", r.text, r.meaning)
	}
	for _, command := range slices.Sorted(maps.Keys(own)) {
		fmt.Fprintf(&text, "\n## %s\n\n| flag | meaning |\n|---|---|\n%s", command, own[command])
	}
	text.WriteString(combinationsIntro)
	var rules []row
	for _, c := range allCommands()[1:] {
		for _, r := range cli.Rules(c.LocalFlags()) {
			rules = note(rules, ruleRow(r), c.Name())
		}
	}
	for i, r := range rules { // flags of equal rules and commands share a line
		if slices.ContainsFunc(rules[:i], r.shares) {
			continue
		}
		var flags []string
		for _, o := range rules[i:] {
			if r.shares(o) {
				flags = append(flags, o.text)
			}
		}
		fmt.Fprintf(&text, "\n- %s %s (%s)", strings.Join(flags, ", "), r.meaning, r.commands)
	}
	return text.String() + "\n"
}

func (r row) shares(o row) bool { return r.meaning == o.meaning && r.commands == o.commands }

// note adds a row of a command to rows, or the command to a row that is there.
func note(rows []row, added row, command string) []row {
	for i, r := range rows {
		if r.text == added.text && r.meaning == added.meaning {
			if !strings.HasSuffix(r.commands, command) {
				rows[i].commands += ", " + command
			}
			return rows
		}
	}
	added.commands = command
	return append(rows, added)
}

// flagRow returns the row of a flag.
func flagRow(f *pflag.Flag) row {
	value, usage := pflag.UnquoteUsage(f)
	text := "--" + f.Name
	if f.Shorthand != "" {
		text += ", -" + f.Shorthand
	}
	return row{text: "`" + strings.TrimSpace(text+" "+value) + "`", meaning: strings.ReplaceAll(usage, "\n", " ")}
}

// ruleRow returns the row of a rule.
func ruleRow(r cli.Rule) row {
	how, between := "not with ", ", "
	if r.Needs {
		how, between = "only with ", " or "
	}
	var others []string
	for _, o := range r.Others {
		name, values, _ := strings.Cut(o, "=")
		others = append(others, "`"+strings.TrimSpace("--"+name+" "+strings.ReplaceAll(values, ",", "` or `"))+"`")
	}
	return row{text: "`--" + r.Flag + "`", meaning: how + strings.Join(others, between)}
}
