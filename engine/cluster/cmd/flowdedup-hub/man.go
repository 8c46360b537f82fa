// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/doc/man/roff"
)

// manCommand returns the command that prints the man page, for packages. Help does not show
// it, since nobody else needs it.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the man page of this program", Hidden: true, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			root := c.Root()
			root.Flag("state").DefValue = "/var/lib/flowdedup-hub for root, else ~/.local/state/flowdedup-hub"
			root.Flag("name").DefValue = "the name of the machine"
			_, err := fmt.Fprint(c.OutOrStdout(), roff.Program(root, flagGroups,
				roff.Bold("flowdedup-hub")+"(7)", roff.Bold("flowdedup")+"(1)", roff.Bold("flowdedup-live")+"(1)"))
			return err
		},
	}
}
