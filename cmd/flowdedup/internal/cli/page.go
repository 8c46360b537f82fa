package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// pageFlag is the flag for a page of results.
type pageFlag struct{ name string }

// register adds the flag. what says what the page is about.
func (f *pageFlag) register(fs *pflag.FlagSet, what string) {
	fs.StringVar(&f.name, "html", "", "write a page "+what+" to `FILE`")
	groupOutput.add(fs, "html")
}

// check refuses a page between other things on standard output.
func (f *pageFlag) check(c *common) error {
	if outfile.IsStdout(f.name) && (c.json || !c.quiet) {
		return &usageError{errors.New("--html on standard output needs --quiet, without --json: they print there too")}
	}
	return nil
}

// named returns the file for the check that no file is used twice.
func (f *pageFlag) named() namedFile { return namedFile{"--html", f.name} }

// open opens the page before anything is read, so that a bad name fails at once.
func (f *pageFlag) open(ctx context.Context) (pageFile, error) {
	if f.name == "" {
		return pageFile{}, nil
	}
	file, err := outfile.Create(ctx, f.name, outfile.Options{})
	return pageFile{file}, err
}

// pageFile is the page to write, if one was asked for.
type pageFile struct{ file *outfile.File }

// write writes the page, whole or not at all.
func (p pageFile) write(page func(io.Writer) error) error {
	if p.file == nil {
		return nil
	}
	if err := page(p.file); err != nil {
		return errors.Join(err, p.discard())
	}
	return p.file.Commit()
}

func (p pageFile) discard() error {
	if p.file == nil {
		return nil
	}
	return p.file.Discard()
}
