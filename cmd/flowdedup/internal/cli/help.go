// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
)

// SetHelp makes -h print one line per main flag, and --help all flags, a description and
// examples.
func SetHelp(root *cobra.Command, e *Env) {
	help.Set(root, flagGroups, e.Columns)
	root.Flags().BoolP("version", "v", false, "print the version")
}

// NewHelp returns "flowdedup help", which answers an unknown command with the nearest name.
func NewHelp() *cobra.Command {
	c := help.Command(UnknownCommand)
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if usage := (*usageError)(nil); err == nil || errors.As(err, &usage) {
			return err
		}
		return Usage(err)
	}
	return c
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

// The headings of flags in help.
const (
	GroupInput    help.Group = "Input"
	GroupLoad     help.Group = "Load"
	GroupCompare  help.Group = "Comparing"
	GroupKeep     help.Group = "Keeping"
	GroupCount    help.Group = "Counting"
	GroupGoal     help.Group = "Requirements"
	GroupOutput   help.Group = "Output"
	GroupAdvanced            = help.Advanced
)

// flagGroups are the headings in the order of help.
var flagGroups = []help.Group{
	GroupInput, GroupLoad, GroupCompare, GroupKeep, GroupCount, GroupGoal, GroupOutput, GroupAdvanced, help.None,
}

// Groups returns the headings of flags, in the order of help.
func Groups() []help.Group { return flagGroups }
