package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// setHelp makes -h print one line for each flag that most runs need, and --help all flags,
// what the command does, and examples.
func setHelp(root *cobra.Command) {
	root.PersistentFlags().BoolP("help", "h", false, "-h: main flags; --help: all flags, with examples")
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	template := root.UsageTemplate()
	for _, change := range [][2]string{
		{"Flags:\n{{.LocalFlags.FlagUsages", "{{flagUsages .LocalFlags"},
		{"Global Flags:\n{{.InheritedFlags.FlagUsages", "{{flagUsages .InheritedFlags"},
	} {
		template = strings.ReplaceAll(template, change[0], change[1])
	}
	root.SetUsageTemplate(template)
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

// wantsShort tells -h from --help and from the help command, which has no arguments here.
func wantsShort(args []string) bool {
	return len(args) > 0 && !slices.ContainsFunc(args, func(s string) bool { return strings.HasPrefix(s, "--help") })
}

// newHelp returns "flowdedup help". Unlike cobra's it fails for an unknown command, and
// names the nearest one.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:               "help [command]",
		Short:             "Explain a command",
		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return &usageError{err}
			}
			if err := unknownCommand(about, rest); err != nil {
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

// completeWords lets the shell complete the values of flags.
func completeWords(cmd *cobra.Command, words map[string][]string) {
	for flag, list := range words {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic("cli: " + err.Error()) // a flag that was never defined
		}
	}
}
