// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// PageFlag is the flag for a page of results.
type PageFlag struct{ name string }

// Flag returns the flag. what describes the page's content.
func (f *PageFlag) Flag(what string) Flag {
	return Flag{Name: "html", Group: GroupOutput, To: &f.name, Help: "write a page " + what + " to `FILE`"}
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
func (f *PageFlag) Named() NamedFile { return NamedFile{"--html", f.name} }

// Open opens the page before anything is read, so that a bad name fails at once.
func (f *PageFlag) Open(ctx context.Context) (PageFile, error) {
	if f.name == "" {
		return PageFile{}, nil
	}
	file, err := outfile.Create(ctx, f.name, outfile.Options{})
	return PageFile{file}, err
}

// PageFile is the page to write, if one was asked for.
type PageFile struct{ file *outfile.File }

// Write writes the page, whole or not at all.
func (p PageFile) Write(page func(io.Writer) error) error {
	if p.file == nil {
		return nil
	}
	if err := page(p.file); err != nil {
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
