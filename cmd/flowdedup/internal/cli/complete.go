package cli

import "github.com/spf13/cobra"

// completeWords lets the shell complete the values of flags.
func completeWords(cmd *cobra.Command, words map[string][]string) {
	for flag, list := range words {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic("cli: " + err.Error()) // a flag that was never defined
		}
	}
}
