// SPDX-License-Identifier: Apache-2.0

package help

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Set makes -h print a line or few for each main flag of a command, and --help all flags, a
// description and examples. It does so for the command and all below it, with the flags
// under these headings, in their order. terminal returns the width of the terminal that a
// writer is, 0 for none. Help fits it, but for examples, which stay whole.
func Set(root *cobra.Command, groups []Group, terminal func(io.Writer) int) {
	root.PersistentFlags().BoolP("help", "h", false, "-h: main flags; --help: all flags, with examples")
	columns := Columns
	root.SetUsageFunc(func(cmd *cobra.Command) error { return usage(cmd, groups, columns) })
	long := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		columns = width(terminal(below(cmd.OutOrStdout())))
		if !wantsShort(args) || !Grouped(cmd.LocalFlags()) {
			cmd.Long = fill(cmp.Or(cmd.Long, cmd.Short), columns)
			long(cmd, args)
			return
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\nUsage:\n  %s%s\n\n%s\n\nAdvanced flags and examples: %s --help\n",
			fill(cmd.Short+".", columns), cmd.UseLine(), commands(cmd, columns), lines(cmd.LocalFlags(), groups, columns), cmd.CommandPath())
	})
}

// helpAll asks for help with all flags. The root has it as an annotation then.
const helpAll = "--help-all"

// wantsShort reports whether help was asked for with -h. cobra passes no arguments for
// --help of the help command.
func wantsShort(args []string) bool {
	return len(args) > 0 && !slices.ContainsFunc(args, func(s string) bool { return strings.HasPrefix(s, "--help") })
}

// usage writes the help of a command below its description. cobra's template would do, but
// calls methods by names that it computes, so that the linker keeps every method: 3 MB.
func usage(cmd *cobra.Command, groups []Group, columns int) error {
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
	text.WriteString(commands(cmd, columns))
	more := ""
	if cmd.Root().Annotations[helpAll] == "" && Measuring.of(local).HasAvailableFlags() {
		groups, more = without(Measuring, groups), "\n\nFlags for measurements, too: "+cmd.CommandPath()+" "+helpAll
	}
	if local.HasAvailableFlags() {
		text.WriteString("\n\n" + usages(local, groups, columns) + more)
	}
	if inherited.HasAvailableFlags() {
		text.WriteString("\n\nGlobal flags:\n" + strings.TrimRight(inherited.FlagUsagesWrapped(columns), "\n"))
	}
	if cmd.HasAvailableSubCommands() {
		text.WriteString("\n\n" + fill(fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", cmd.CommandPath()), columns))
	}
	_, err := fmt.Fprintln(cmd.OutOrStderr(), text.String())
	return err
}

// commands lists the commands below a command, "" for none.
func commands(cmd *cobra.Command, columns int) string {
	if !cmd.HasAvailableSubCommands() {
		return ""
	}
	var text strings.Builder
	text.WriteString("\n\nCommands:")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			head := fmt.Sprintf("  %-*s ", c.NamePadding(), c.Name())
			text.WriteString("\n" + head + fold(strings.Fields(c.Short), len(head), columns))
		}
	}
	return text.String()
}

// Command returns the command "help". Unlike cobra's it fails where unknown, which gets the
// command that was found and the arguments behind it, returns an error.
func Command(unknown func(cmd *cobra.Command, rest []string) error) *cobra.Command {
	return &cobra.Command{
		Use:               "help [command]",
		Short:             "Explain a command",
		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if err := unknown(about, rest); err != nil {
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
