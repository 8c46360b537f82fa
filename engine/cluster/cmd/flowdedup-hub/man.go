// SPDX-License-Identifier: Apache-2.0

package main

import (
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
			page := roff.Page{Name: root.Name(), Section: 1, Summary: root.Short, Body: roff.Command(root, flagGroups, roff.Subcommand) +
				"## See also\n\n`flowdedup-hub`(7), `flowdedup`(1), `flowdedup-live`(1)"}
			_, err := c.OutOrStdout().Write(page.Render())
			return err
		},
	}
}
