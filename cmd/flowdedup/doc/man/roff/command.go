// SPDX-License-Identifier: Apache-2.0

package roff

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
)

// Help writes the text of a help page as paragraphs. Paragraphs with indented lines stay as
// they are.
func (r *Page) Help(text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.Contains(paragraph, "\n  ") || strings.HasPrefix(paragraph, "  ") {
			r.Verbatim(strings.Split(paragraph, "\n"))
		} else {
			r.Paragraph(Escape(strings.ReplaceAll(paragraph, "\n", " ")))
		}
	}
}

// Examples writes the section of a command's examples.
func (r *Page) Examples(c *cobra.Command) {
	r.Line(".SH EXAMPLES")
	unindented := strings.TrimPrefix(strings.ReplaceAll(c.Example, "\n  ", "\n"), "  ")
	r.Verbatim(strings.Split(unindented, "\n"))
}

// Options writes flags under the headings of their groups.
func (r *Page) Options(fs *pflag.FlagSet, groups []help.Group) {
	help.Each(fs, groups, func(heading string, flags *pflag.FlagSet) {
		r.Heading(".SS", heading)
		flags.VisitAll(r.option)
	})
}

// option writes a flag.
func (r *Page) option(f *pflag.Flag) {
	if f.Hidden {
		return
	}
	value, usage := pflag.UnquoteUsage(f)
	name := Bold("--" + f.Name)
	if f.Shorthand != "" {
		name = Bold("-"+f.Shorthand) + ", " + name
	}
	if value != "" {
		name += " " + Italic(value)
	}
	switch f.DefValue {
	case "", "0", "false", "[]":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	r.Line(".TP\n%s", name)
	r.Text(Escape(usage))
}

// Program returns the page of a program in section 1, with all of its commands.
func Program(c *cobra.Command, groups []help.Group, seeAlso ...string) string {
	r := New(c.Name(), "1", c.Short)
	r.Line(".SH SYNOPSIS")
	r.Text(Bold(c.Name()) + " [flags]")
	r.Line(".br")
	r.Text(Bold(c.Name()) + " " + Italic("COMMAND") + " [flags]")
	r.Line(".SH DESCRIPTION")
	r.Help(c.Long)
	r.Line(".SH OPTIONS")
	r.Options(c.LocalFlags(), groups)
	r.Line(".SH COMMANDS")
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			r.command(sub, groups)
		}
	}
	r.Examples(c)
	r.Line(".SH SEE ALSO")
	r.Text(strings.Join(seeAlso, ", "))
	return r.String()
}

// command writes a command of a program, with its flags.
func (r *Page) command(c *cobra.Command, groups []help.Group) {
	r.Heading(".SS", c.Use)
	text := c.Long
	if text == "" {
		text = c.Short + "."
	}
	r.Help(text)
	help.Each(c.LocalNonPersistentFlags(), groups, func(_ string, flags *pflag.FlagSet) {
		flags.VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				r.option(f)
			}
		})
	})
}
