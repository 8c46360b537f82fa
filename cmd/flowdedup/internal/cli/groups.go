package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// flagGroup is the heading that a flag stands under in help.
type flagGroup string

const (
	groupInput    flagGroup = "Input"
	groupLoad     flagGroup = "Load"
	groupCompare  flagGroup = "Comparing"
	groupCount    flagGroup = "Counting"
	groupGoal     flagGroup = "Requirements"
	groupOutput   flagGroup = "Output"
	groupAdvanced flagGroup = "Advanced"
	groupNone     flagGroup = "" // what cobra adds to commands of its own
)

// flagGroups are in the order of help.
var flagGroups = []flagGroup{groupInput, groupLoad, groupCompare, groupCount, groupGoal, groupOutput, groupAdvanced, groupNone}

// groupKey is the annotation that holds a flag's group.
const groupKey = "flowdedup_group"

// add puts flags that were defined into the group.
func (g flagGroup) add(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, groupKey, []string{string(g)}); err != nil {
			panic("cli: " + err.Error()) // a flag that was never defined
		}
	}
}

func groupOf(f *pflag.Flag) flagGroup {
	if at := f.Annotations[groupKey]; len(at) > 0 {
		return flagGroup(at[0])
	}
	return groupNone
}

// helpColumns is what fits on a terminal of 80.
const helpColumns = 79

// flagUsages explains flags under the headings of their groups, without those left out.
func flagUsages(fs *pflag.FlagSet, without ...flagGroup) string {
	var parts []string
	for _, g := range flagGroups {
		some := pflag.NewFlagSet("", pflag.ContinueOnError)
		some.SortFlags = fs.SortFlags
		fs.VisitAll(func(f *pflag.Flag) {
			if groupOf(f) == g {
				some.AddFlag(f)
			}
		})
		if some.HasAvailableFlags() && !slices.Contains(without, g) {
			heading := strings.TrimSpace(string(g) + " flags")
			parts = append(parts, fmt.Sprintf("%s%s:\n%s", strings.ToUpper(heading[:1]), heading[1:], some.FlagUsagesWrapped(helpColumns)))
		}
	}
	return strings.TrimRight(strings.Join(parts, "\n"), "\n")
}

// hasGroups tells the commands whose short help is shorter.
func hasGroups(fs *pflag.FlagSet) bool {
	found := false
	fs.VisitAll(func(f *pflag.Flag) { found = found || groupOf(f) != groupNone })
	return found
}
