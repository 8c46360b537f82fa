package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// newHelp returns "flowdedup help", which unlike that of cobra fails for a command that
// does not exist, and names the nearest one.
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
			about.InitDefaultHelpFlag()
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
