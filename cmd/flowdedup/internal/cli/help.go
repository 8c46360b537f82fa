package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// SetHelp makes -h print one line per main flag, and --help all flags, a description and
// examples.
func SetHelp(root *cobra.Command) {
	root.PersistentFlags().BoolP("help", "h", false, "-h: main flags; --help: all flags, with examples")
	root.Flags().BoolP("version", "v", false, "print the version")
	root.SetUsageFunc(usage)
	long := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !wantsShort(args) || !hasGroups(cmd.LocalFlags()) {
			long(cmd, args)
			return
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s.\n\nUsage:\n  %s\n\n%s\n\nAdvanced flags and examples: %s --help\n",
			cmd.Short, cmd.UseLine(), flagLines(cmd.LocalFlags()), cmd.CommandPath())
	})
}

// usage writes what help says of a command below its description. cobra's template would do,
// but calls methods by their names, as page.Builder explains.
func usage(cmd *cobra.Command) error {
	local, inherited := cmd.LocalFlags(), cmd.InheritedFlags()
	var text strings.Builder
	text.WriteString("Usage:")
	if cmd.Runnable() {
		text.WriteString("\n  " + cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		text.WriteString("\n  " + cmd.CommandPath() + " [command]")
	}
	if cmd.HasExample() {
		text.WriteString("\n\nExamples:\n" + cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		text.WriteString("\n\nCommands:")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(&text, "\n  %-*s %s", c.NamePadding(), c.Name(), c.Short)
			}
		}
	}
	if local.HasAvailableFlags() {
		text.WriteString("\n\n" + flagUsages(local))
	}
	if inherited.HasAvailableFlags() {
		text.WriteString("\n\nGlobal flags:\n" + strings.TrimRight(inherited.FlagUsages(), "\n"))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&text, "\n\nUse \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
	}
	_, err := fmt.Fprintln(cmd.OutOrStderr(), text.String())
	return err
}

// wantsShort reports whether help was asked for with -h. cobra passes no arguments for
// --help of the help command.
func wantsShort(args []string) bool {
	return len(args) > 0 && !slices.ContainsFunc(args, func(s string) bool { return strings.HasPrefix(s, "--help") })
}

// NewHelp returns "flowdedup help". Unlike cobra's it fails for an unknown command, and
// names the nearest one.
func NewHelp() *cobra.Command {
	return &cobra.Command{
		Use:               "help [command]",
		Short:             "Explain a command",
		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return &usageError{err}
			}
			if err := UnknownCommand(about, rest); err != nil {
				return err
			}
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

func completeCommands(cmd *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	about, _, err := cmd.Root().Find(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, c := range about.Commands() {
		if c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
			names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// listFlags take several words, with commas between them.
var listFlags = []string{"ignore", "of", "strip", "within"}

// CompleteWords lets the shell complete the values of flags.
func CompleteWords(cmd *cobra.Command, words map[string][]string) {
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

// Group is the heading of a flag in help.
type Group string

const (
	GroupInput    Group = "Input"
	groupLoad     Group = "Load"
	GroupCompare  Group = "Comparing"
	GroupKeep     Group = "Keeping"
	groupCount    Group = "Counting"
	groupGoal     Group = "Requirements"
	GroupOutput   Group = "Output"
	GroupAdvanced Group = "Advanced"
	groupNone     Group = "" // what cobra adds to commands of its own
)

// flagGroups are the groups in the order of help.
var flagGroups = []Group{GroupInput, groupLoad, GroupCompare, GroupKeep, groupCount, groupGoal, GroupOutput, GroupAdvanced, groupNone}

// groupKey is the annotation that holds the group of a flag.
const groupKey = "flowdedup_group"

// Add puts defined flags into the group.
func (g Group) Add(fs *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := fs.SetAnnotation(name, groupKey, []string{string(g)}); err != nil {
			panic("cli: " + err.Error()) // a flag that was never defined
		}
	}
}

func groupOf(f *pflag.Flag) Group {
	if at := f.Annotations[groupKey]; len(at) > 0 {
		return Group(at[0])
	}
	return groupNone
}

// helpColumns is the width of help: a terminal of 80 columns.
const helpColumns = 79

// flagUsages returns the help of flags under the headings of their groups.
func flagUsages(fs *pflag.FlagSet) string {
	return groupUsages(fs, flagGroups, func(some *pflag.FlagSet) string { return some.FlagUsagesWrapped(helpColumns) })
}

// flagLines returns one line per flag that is not advanced.
func flagLines(fs *pflag.FlagSet) string {
	main := slices.DeleteFunc(slices.Clone(flagGroups), func(g Group) bool { return g == GroupAdvanced })
	return groupUsages(fs, main, func(some *pflag.FlagSet) string {
		var text strings.Builder
		for line := range strings.Lines(some.FlagUsages()) {
			text.WriteString(shorten(strings.TrimSuffix(line, "\n")) + "\n")
		}
		return text.String()
	})
}

// shorten cuts a long line between words.
func shorten(line string) string {
	const more = " ..."
	if len(line) <= helpColumns {
		return line
	}
	line = line[:strings.LastIndexByte(line[:helpColumns-len(more)+1], ' ')]
	return strings.TrimRight(line, " ,;:(") + more
}

// groupUsages returns what explain returns for each group, under its heading.
func groupUsages(fs *pflag.FlagSet, groups []Group, explain func(*pflag.FlagSet) string) string {
	var parts []string
	for _, g := range groups {
		if some := g.of(fs); some.HasAvailableFlags() {
			parts = append(parts, fmt.Sprintf("%s:\n%s", g.heading(), explain(some)))
		}
	}
	return strings.TrimRight(strings.Join(parts, "\n"), "\n")
}

// of returns the flags of the group.
func (g Group) of(fs *pflag.FlagSet) *pflag.FlagSet {
	some := pflag.NewFlagSet("", pflag.ContinueOnError)
	some.SortFlags = fs.SortFlags
	fs.VisitAll(func(f *pflag.Flag) {
		if groupOf(f) == g {
			some.AddFlag(f)
		}
	})
	return some
}

func (g Group) heading() string {
	if g == groupNone {
		return "Flags"
	}
	return string(g) + " flags"
}

// EachGroup calls f with each heading of help and its flags, in order.
func EachGroup(fs *pflag.FlagSet, f func(heading string, flags *pflag.FlagSet)) {
	for _, g := range flagGroups {
		if some := g.of(fs); some.HasAvailableFlags() {
			f(g.heading(), some)
		}
	}
}

// hasGroups reports whether any flag has a group. Only such commands have a shorter help.
func hasGroups(fs *pflag.FlagSet) bool {
	found := false
	fs.VisitAll(func(f *pflag.Flag) { found = found || groupOf(f) != groupNone })
	return found
}
