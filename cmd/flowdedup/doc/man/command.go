// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/doc/man/roff"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

// allCommands returns the root command and the commands on packets.
func allCommands() []*cobra.Command {
	root := commands.Root()
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.LocalNonPersistentFlags().HasAvailableFlags() {
			all = append(all, c)
		}
	}
	return all
}

// manName is the name of a command's man page.
func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// commandPages renders the commands for section 1, by file name.
func commandPages(pages []page) map[string]string {
	texts := map[string]string{}
	for _, c := range allCommands() {
		texts[manName(c)+".1"] = commandPage(c, pages)
	}
	return texts
}

func commandPage(c *cobra.Command, pages []page) string {
	r := roff.New(manName(c), "1", c.Short)
	r.Line(".SH SYNOPSIS")
	if c.HasParent() {
		r.Text(roff.Bold(c.CommandPath()) + " " + roff.Escape(strings.TrimPrefix(c.UseLine(), c.CommandPath()+" ")))
	} else {
		r.Text(roff.Bold(c.Name()) + " " + roff.Italic("COMMAND") + " [flags]")
	}
	r.Line(".SH DESCRIPTION")
	r.Help(c.Long)
	if !c.HasParent() {
		r.Line(".SH COMMANDS")
		for _, sub := range c.Commands() {
			r.Line(".TP\n%s", roff.Bold(sub.Name()))
			r.Text(roff.Escape(sub.Short))
		}
	}
	if c.HasParent() {
		r.Line(".SH OPTIONS")
		r.Options(c.LocalFlags(), cli.Groups())
	}
	r.Examples(c)
	r.Line(".SH SEE ALSO")
	r.Text(seeAlso(pages, ""))
	return r.String()
}
