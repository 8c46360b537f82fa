package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	r := newPage(manName(c), "1", c.Short)
	r.line(".SH SYNOPSIS")
	if c.HasParent() {
		r.text(bold(c.CommandPath()) + " " + escape(strings.TrimPrefix(c.UseLine(), c.CommandPath()+" ")))
	} else {
		r.text(bold(c.Name()) + " " + italic("COMMAND") + " [flags]")
	}
	r.line(".SH DESCRIPTION")
	helpText(r, c.Long)
	if !c.HasParent() {
		r.line(".SH COMMANDS")
		for _, sub := range c.Commands() {
			r.line(".TP\n%s", bold(sub.Name()))
			r.text(escape(sub.Short))
		}
	}
	if c.HasParent() {
		r.line(".SH OPTIONS")
		cli.EachGroup(c.LocalFlags(), func(heading string, flags *pflag.FlagSet) {
			r.heading(".SS", heading)
			flags.VisitAll(func(f *pflag.Flag) { option(r, f) })
		})
	}
	r.line(".SH EXAMPLES")
	r.verbatim(strings.Split(unindent(c.Example), "\n"))
	r.line(".SH SEE ALSO")
	r.text(seeAlso(pages, ""))
	return r.String()
}

// helpText renders the text of a help page as paragraphs. Paragraphs with indented lines
// stay as they are.
func helpText(r *roff, text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.Contains(paragraph, "\n  ") {
			r.verbatim(strings.Split(paragraph, "\n"))
		} else {
			r.paragraph(escape(strings.ReplaceAll(paragraph, "\n", " ")))
		}
	}
}

func unindent(s string) string {
	return strings.TrimPrefix(strings.ReplaceAll(s, "\n  ", "\n"), "  ")
}

// option renders a flag.
func option(r *roff, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	value, usage := pflag.UnquoteUsage(f)
	name := bold("--" + f.Name)
	if f.Shorthand != "" {
		name = bold("-"+f.Shorthand) + ", " + name
	}
	if value != "" {
		name += " " + italic(value)
	}
	switch f.DefValue {
	case "", "0", "false", "[]":
	default:
		usage += " (default " + f.DefValue + ")"
	}
	r.line(".TP\n%s", name)
	r.text(escape(usage))
}
