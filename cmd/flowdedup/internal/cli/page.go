// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// PageFlag is the flag for a page of results.
type PageFlag struct{ name string }

const pageFlag = "html"

// Flag returns the flag. what describes the page's content.
func (f *PageFlag) Flag(what string) Flag {
	return Flag{Name: pageFlag, Group: GroupOutput, To: &f.name, Help: "write a page " + what + " to `FILE`"}
}

// Check refuses a page between other things on standard output.
func (f *PageFlag) Check(c *Common) error {
	if outfile.IsStdout(f.name) && (c.JSON || !c.Quiet) {
		return Usagef("--html on standard output needs --quiet, without --json: they print there too")
	}
	return nil
}

// Given reports whether there is a page to write.
func (f *PageFlag) Given() bool { return f.name != "" }

// Named returns the file for the check that no file is used twice.
func (f *PageFlag) Named() NamedFile { return NamedFile{"--" + pageFlag, f.name} }

// Open opens the page of a run on inputs before anything is read, so that a bad name fails at
// once.
func (f *PageFlag) Open(cmd *cobra.Command, inputs []string) (PageFile, error) {
	if f.name == "" {
		return PageFile{}, nil
	}
	file, err := outfile.Create(cmd.Context(), f.name, outfile.Options{})
	return PageFile{file, NewOrigin(cmd, inputs)}, err
}

// PageFile is the page to write, if the user asked for a page.
type PageFile struct {
	file *outfile.File
	Origin
}

// Write writes the page, whole or not at all. Without a result it discards the page.
func (p PageFile) Write(result bool, make func(Origin) *page.Page) error {
	if p.file == nil || !result {
		return p.Discard()
	}
	page := make(p.Origin)
	page.Origin = p.Now()
	if err := page.Write(p.file); err != nil {
		return errors.Join(err, p.Discard())
	}
	return p.file.Commit()
}

// Discard removes the page.
func (p PageFile) Discard() error {
	if p.file == nil {
		return nil
	}
	return p.file.Discard()
}

// Origin says which run a page reports. Whoever gets a page learns the names of files, but no
// folders of the host that made it.
type Origin struct {
	page.Origin
	names map[string]string // of inputs, by their paths
}

// NewOrigin returns the origin of a run of a command on inputs.
func NewOrigin(cmd *cobra.Command, inputs []string) Origin {
	o := Origin{names: map[string]string{}}
	for _, name := range inputs {
		short := shortName(inputs, name)
		o.names[name] = short
		o.Inputs = append(o.Inputs, show.Printable(short))
	}
	o.Command = o.line(cmd)
	o.Version = version.String()
	return o
}

// Now returns the origin of a page that is made now.
func (o Origin) Now() page.Origin {
	o.Made = time.Now().UTC()
	return o.Origin
}

// Name returns the name of an input without its folder.
func (o Origin) Name(input string) string {
	if short, ok := o.names[input]; ok {
		return short
	}
	return input
}

// Shorten takes the folders of inputs out of a command line.
func (o Origin) Shorten(line string) string {
	line += " "
	for name, short := range o.names {
		line = strings.ReplaceAll(line, " "+show.Quote(name)+" ", " "+show.Quote(short)+" ")
	}
	return strings.TrimSuffix(line, " ")
}

// shortName returns the name of an input without its folder. If several inputs have this name, it
// keeps the part of the folder that distinguishes them. Addresses and interfaces have no folder.
func shortName(inputs []string, name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	parts := strings.Split(filepath.ToSlash(filepath.Clean(name)), "/")
	for n := 1; n < len(parts); n++ {
		short := strings.Join(parts[len(parts)-n:], "/")
		if !slices.ContainsFunc(inputs, func(other string) bool {
			return other != name && strings.HasSuffix("/"+filepath.ToSlash(other), "/"+short)
		}) {
			return short
		}
	}
	return name
}

// unnamed are flags that change nothing in a page, and such with secrets.
var unnamed = []string{pageFlag, "quiet", "json", "no-progress", "key", "hub"}

// line returns the command line, with its flags first.
func (o Origin) line(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains(unnamed, f.Name) {
			words = append(words, o.words(f)...)
		}
	})
	args := cmd.Flags().Args()
	if slices.ContainsFunc(args, func(a string) bool { return len(a) > 1 && a[0] == '-' }) {
		words = append(words, "--")
	}
	for _, arg := range args {
		words = append(words, show.Quote(o.Name(arg)))
	}
	return strings.Join(words, " ")
}

// words writes a flag as on a command line.
func (o Origin) words(f *pflag.Flag) (words []string) {
	if f.Value.Type() == "bool" {
		if f.Value.String() == "true" {
			return []string{"--" + f.Name}
		}
		return []string{"--" + f.Name + "=false"}
	}
	kind, _ := pflag.UnquoteUsage(f)
	for _, value := range ValuesOf(f) {
		if kind == "FILE" || kind == "DIR" {
			value = o.Name(value)
			if !strings.Contains(value, "://") {
				value = filepath.Base(value)
			}
		}
		words = append(words, "--"+f.Name, show.Quote(value))
	}
	return words
}
