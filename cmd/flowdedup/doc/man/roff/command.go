// SPDX-License-Identifier: Apache-2.0

package roff

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
)

// Command returns the help of a command as the body of a page. groups are the headings of its
// flags, and below returns the text for each of its commands.
func Command(c *cobra.Command, groups []help.Group, below func(*cobra.Command) string) string {
	var b strings.Builder
	b.WriteString("## Synopsis\n\n")
	if c.Runnable() {
		fmt.Fprintf(&b, "`%s`%s\n\n", c.CommandPath(), plain(strings.TrimPrefix(c.UseLine(), c.CommandPath())))
	}
	if c.HasSubCommands() {
		fmt.Fprintf(&b, "`%s` *COMMAND* [flags]\n\n", c.CommandPath())
	}
	fmt.Fprintf(&b, "## Description\n\n%s", prose(c.Long))
	if c.Runnable() {
		b.WriteString("## Options\n\n")
		help.Each(c.LocalFlags(), groups, func(heading string, flags *pflag.FlagSet) {
			fmt.Fprintf(&b, "### %s\n\n%s", heading, options(flags))
		})
	}
	if c.HasSubCommands() {
		b.WriteString("## Commands\n\n")
		for _, sub := range c.Commands() {
			b.WriteString(below(sub))
		}
	}
	fmt.Fprintf(&b, "## Examples\n\n%s\n", code(strings.ReplaceAll(c.Example, "\n  ", "\n")[2:]))
	return b.String()
}

// Subcommand returns the help of a command that has no page, with its flags.
func Subcommand(c *cobra.Command) string {
	if !c.IsAvailableCommand() {
		return ""
	}
	return fmt.Sprintf("### %s\n\n%s%s", plain(c.Use), prose(cmp.Or(c.Long, c.Short+".")), options(c.LocalNonPersistentFlags()))
}

// Term returns an entry of a list of terms. The term is Markdown, the text is not.
func Term(term, text string) string { return fmt.Sprintf("%s\n: %s\n\n", term, plain(text)) }

// options returns flags as a list of terms.
func options(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		term := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			term = "`-" + f.Shorthand + "`, " + term
		}
		if value != "" {
			term += " *" + plain(value) + "*"
		}
		switch f.DefValue {
		case "", "0", "false", "[]":
		default:
			usage += " (default " + f.DefValue + ")"
		}
		b.WriteString(Term(term, usage))
	})
	return b.String()
}

// prose returns help as Markdown. Paragraphs with indented lines stay as they are.
func prose(text string) string {
	var b strings.Builder
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.Contains("\n"+paragraph, "\n  ") {
			paragraph = code(paragraph)
		} else {
			paragraph = plain(strings.ReplaceAll(paragraph, "\n", " "))
		}
		b.WriteString(paragraph + "\n\n")
	}
	return b.String()
}

// code returns lines as a block of code.
func code(lines string) string { return "    " + strings.ReplaceAll(lines, "\n", "\n    ") }

// mark matches what Markdown could take for markup.
var mark = regexp.MustCompile("[\\\\`*_{}\\[\\]()#+\\-.!:|&<>~]")

// plain returns text in which Markdown finds no markup.
func plain(text string) string { return mark.ReplaceAllString(text, `\$0`) }
