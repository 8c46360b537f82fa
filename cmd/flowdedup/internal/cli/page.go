// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/page"
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
		return &usageError{errors.New("--html on standard output needs --quiet, without --json: they print there too")}
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

// PageFile is the page to write, if one was asked for.
type PageFile struct {
	file *outfile.File
	Origin
}

// Write writes the page, whole or not at all.
func (p PageFile) Write(make func(Origin) *page.Page) error {
	if p.file == nil {
		return nil
	}
	page := make(p.Origin)
	page.Origin = p.Now()
	if err := page.Write(p.file); err != nil {
		return errors.Join(err, p.Discard())
	}
	return p.file.Commit()
}

func (p PageFile) Discard() error {
	if p.file == nil {
		return nil
	}
	return p.file.Discard()
}
