// SPDX-License-Identifier: Apache-2.0

// Package help prints the help of commands: flags under headings, in lines that fit a
// terminal, and a short form with one line for each main flag.
package help

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/pflag"
)

// Group is the heading of a flag in help.
type Group string

// Advanced is the group that the short help leaves out, Measuring the group that only --help-all
// shows, and None the group of flags that were put into no other.
const (
	Advanced  Group = "Advanced"
	Measuring Group = "Measuring"
	None      Group = ""
)

// groupKey is the annotation of a flag that holds its group.
const groupKey = "flowdedup_group"

// Add puts flags into the group. It panics if a flag does not exist.
func (g Group) Add(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, groupKey, []string{string(g)}); err != nil {
			panic("help: " + err.Error()) // a flag that was never defined
		}
	}
}

// Of returns the group of a flag.
func Of(f *pflag.Flag) Group {
	if at := f.Annotations[groupKey]; len(at) > 0 {
		return Group(at[0])
	}
	return None
}

// Grouped reports whether any flag has a group. Only such commands have a shorter help.
func Grouped(fs *pflag.FlagSet) bool {
	found := false
	fs.VisitAll(func(f *pflag.Flag) { found = found || Of(f) != None })
	return found
}

// Each calls f with the heading and the flags of each group that has flags, in their order.
func Each(fs *pflag.FlagSet, groups []Group, f func(heading string, flags *pflag.FlagSet)) {
	for _, g := range groups {
		if some := g.of(fs); some.HasAvailableFlags() {
			f(g.heading(), some)
		}
	}
}

// of returns the flags of the group.
func (g Group) of(fs *pflag.FlagSet) *pflag.FlagSet {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	some.SortFlags = fs.SortFlags
	fs.VisitAll(func(f *pflag.Flag) {
		if Of(f) == g {
			some.AddFlag(f)
		}
	})
	return some
}

func (g Group) heading() string {
	if g == None {
		return "Flags"
	}
	return string(g) + " flags"
}

// usages returns the help of flags under the headings of their groups.
func usages(fs *pflag.FlagSet, groups []Group, columns int) string {
	return underHeadings(fs, groups, func(some *pflag.FlagSet) string { return some.FlagUsagesWrapped(columns) })
}

// lines returns a line, or few, for each flag that is not advanced.
func lines(fs *pflag.FlagSet, groups []Group, columns int) string {
	return underHeadings(fs, without(Advanced, without(Measuring, groups)), func(some *pflag.FlagSet) string {
		var text strings.Builder
		for line := range strings.Lines(some.FlagUsages()) {
			text.WriteString(shorten(strings.TrimSuffix(line, "\n"), columns) + "\n")
		}
		return text.String()
	})
}

// without returns the groups but for one.
func without(one Group, groups []Group) (others []Group) {
	for _, g := range groups {
		if g != one {
			others = append(others, g)
		}
	}
	return others
}

// head matches the flag and the space in front of its explanation.
var head = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ +(-\S, )?--\S+( \S+)? {2,}`) })

// shorten leaves out what a long line adds behind the end of a clause. If there is too little in
// front of it, the line is folded.
func shorten(line string, columns int) string {
	if len(line) <= columns {
		return line
	}
	flag := head().FindString(line)
	for _, clause := range []string{"; ", ": ", " ("} {
		end := strings.LastIndex(line[:columns+1], clause)
		if end >= len(flag)+leastClause && strings.Count(line[:end], "(") == strings.Count(line[:end], ")") {
			return line[:end]
		}
	}
	return flag + fold(strings.Fields(line[len(flag):]), len(flag), columns)
}

// leastClause is how many letters explain a flag at least.
const leastClause = 15

// underHeadings returns what explain returns for each group, under its heading.
func underHeadings(fs *pflag.FlagSet, groups []Group, explain func(*pflag.FlagSet) string) string {
	var parts []string
	Each(fs, groups, func(heading string, some *pflag.FlagSet) {
		parts = append(parts, fmt.Sprintf("%s:\n%s", heading, explain(some)))
	})
	return strings.TrimRight(strings.Join(parts, "\n"), "\n")
}
