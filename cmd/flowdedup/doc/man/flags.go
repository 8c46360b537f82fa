// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

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

// flagsPage returns the page of all flags, in Markdown.
func flagsPage() string {
	var rows, rules, lines []group
	for _, c := range allCommands()[1:] {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { rows = add(rows, flagRow(f), c.Name()) })
		for _, r := range cli.Rules(c.LocalFlags()) {
			rules = add(rules, "`--"+r.Flag+"`\t"+ruleText(r), c.Name())
		}
	}
	slices.SortStableFunc(rows, func(a, b group) int { return strings.Compare(a.key, b.key) })
	page, own := flagsIntro, map[string]string{} // rows of flags of one command
	for _, r := range rows {
		if strings.Contains(r.items, ", ") {
			page += r.key + " " + r.items + " |\n"
			continue
		}
		own[r.items] += r.key + "\n"
	}
	for _, command := range slices.Sorted(maps.Keys(own)) {
		page += fmt.Sprintf("\n## %s\n\n| flag | meaning |\n|---|---|\n%s", command, own[command])
	}
	for _, r := range rules { // flags of equal rules and commands share a line
		flag, rule, _ := strings.Cut(r.key, "\t")
		lines = add(lines, rule+" ("+r.items+")", flag)
	}
	page += combinationsIntro
	for _, l := range lines {
		page += "- " + l.items + " " + l.key + "\n"
	}
	return page
}

// group is a text with the commands, or the flags, that it holds for.
type group struct{ key, items string }

// add adds an item to the group with the key, which it makes if there is none.
func add(groups []group, key, item string) []group {
	i := slices.IndexFunc(groups, func(g group) bool { return g.key == key })
	if i < 0 {
		return append(groups, group{key, item})
	}
	groups[i].items += ", " + item
	return groups
}

// flagRow returns a flag and its meaning, without the commands.
func flagRow(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name += ", -" + f.Shorthand
	}
	return fmt.Sprintf("| `%s` | %s |", strings.TrimSpace(name+" "+value), strings.ReplaceAll(usage, "\n", " "))
}

// ruleText says which flags a flag needs or excludes.
func ruleText(r cli.Rule) string {
	how, between := "not with ", ", "
	if r.Needs {
		how, between = "only with ", " or "
	}
	var others []string
	for _, o := range r.Others {
		name, values, _ := strings.Cut(o, "=")
		others = append(others, "`"+strings.TrimSpace("--"+name+" "+strings.ReplaceAll(values, ",", "` or `"))+"`")
	}
	return how + strings.Join(others, between)
}
