package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
)

// setHelp makes -h print one line per main flag, and --help all flags, a description and
// examples.
func setHelp(root *cobra.Command) {
	help.Set(root, flagGroups)
	root.Flags().BoolP("version", "v", false, "print the version")
}

// newHelp returns "flowdedup help", which names the nearest command for an unknown one.
func newHelp() *cobra.Command {
	c := help.Command(unknownCommand)
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if usage := (*usageError)(nil); err == nil || errors.As(err, &usage) {
			return err
		}
		return &usageError{err}
	}
	return c
}

// listFlags take several words, with commas between them.
var listFlags = []string{"ignore", "of", "strip", "within"}

// completeWords lets the shell complete the values of flags.
func completeWords(cmd *cobra.Command, words map[string][]string) {
	for flag, list := range words {
		complete := cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
		if slices.Contains(listFlags, flag) {
			complete = completeList(list)
		}
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic("cli: " + err.Error()) // a flag that was never defined
		}
	}
}

// completeList completes the last word of a list with words that are not in it yet.
func completeList(words []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, begun string) (all []cobra.Completion, _ cobra.ShellCompDirective) {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		given := strings.Split(before, ",")
		for _, word := range words {
			if !slices.Contains(given, word) {
				all = append(all, before+word)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	}
}

// flagGroup is the heading of a flag in help.
type flagGroup help.Group

const (
	groupInput    flagGroup = "Input"
	groupLoad     flagGroup = "Load"
	groupCompare  flagGroup = "Comparing"
	groupKeep     flagGroup = "Keeping"
	groupCount    flagGroup = "Counting"
	groupGoal     flagGroup = "Requirements"
	groupOutput   flagGroup = "Output"
	groupAdvanced           = flagGroup(help.Advanced)
)

// flagGroups are the groups in the order of help.
var flagGroups = []help.Group{
	help.Group(groupInput), help.Group(groupLoad), help.Group(groupCompare), help.Group(groupKeep), help.Group(groupCount),
	help.Group(groupGoal), help.Group(groupOutput), help.Advanced, help.None,
}

// add puts defined flags into the group.
func (g flagGroup) add(fs *pflag.FlagSet, names ...string) { help.Group(g).Add(fs, names...) }

// Groups returns the headings of flags, in the order of help.
func Groups() []help.Group { return flagGroups }
