// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// Files are the file names of a command line.
type Files struct {
	Outputs []NamedFile
	Inputs  []string
	// InPlace is the flag of the output that may replace an input, or "". Allowed says that the
	// user wants that.
	InPlace string
	Allowed bool
	// Rotate says how the outputs of the flags in Rotating rotate.
	Rotate   *RotateFlags
	Rotating []string
}

// NamedFile is a flag and the file that it names, "" for none.
type NamedFile struct{ Flag, Name string }

// notWritten are the endings of files whose compressions are not written.
var notWritten = []string{".xz", ".bz2", ".br"}

// Check rejects two names of the same file, as an output would replace the other output, or an
// input. It rejects names of compressed files that would not be compressed.
func (f *Files) Check() error {
	replaced := false
	for i, a := range f.Outputs {
		if ending := strings.ToLower(filepath.Ext(a.Name)); slices.Contains(notWritten, ending) {
			return Usagef("%s %s: %s is not written: name a file in .gz, .zst or .lz4", a.Flag, a.Name, ending)
		}
		for _, b := range f.Outputs[:i] {
			if outfile.Same(a.Name, b.Name) {
				return Usagef("%s and %s name the same file", b.Flag, a.Flag)
			}
		}
		for _, input := range f.Inputs {
			if input == "-" && !isStdin(a.Name) || input != "-" && !outfile.Same(a.Name, input) {
				continue
			}
			if a.Flag != f.InPlace || input == "-" {
				return Usagef("%s would replace the input %s", a.Flag, input)
			}
			if replaced = true; !f.Allowed {
				return Usagef("%s would replace the input %s: name another file, or give --in-place", a.Flag, input)
			}
		}
	}
	if err := f.checkRotation(); err != nil {
		return err
	}
	if f.Allowed && !replaced {
		return Usagef("--in-place: %s names no input", f.InPlace)
	}
	return f.CheckInputs()
}

// checkRotation rejects a rotating output whose files could get the name of a different output, or,
// if the oldest files are removed, of an input: the rotation would replace or remove that file.
func (f *Files) checkRotation() error {
	for i, a := range f.Outputs {
		if !f.rotates(a) {
			continue
		}
		for j, b := range f.Outputs {
			switch {
			case b.Name == "" || i == j || outfile.IsStdout(b.Name):
			case f.rotates(b) && rotate.Overlap(a.Name, b.Name, f.Rotate.Every), !f.rotates(b) && rotate.Fits(a.Name, b.Name, f.Rotate.Every):
				return Usagef("files of %s %s could get the names of files of %s %s: choose other names", a.Flag, a.Name, b.Flag, b.Name)
			}
		}
		for _, input := range f.Inputs {
			if f.Rotate.prunes() && input != "-" && input != "" && rotate.Fits(a.Name, input, f.Rotate.Every) {
				return Usagef("%s %s removes old files, and the name of the input %s is that of one: choose another name or folder", a.Flag, a.Name, input)
			}
		}
	}
	return nil
}

// rotates reports whether an output is a series of files.
func (f *Files) rotates(output NamedFile) bool {
	return f.Rotate != nil && f.Rotate.Rotates() && output.Name != "" && slices.Contains(f.Rotating, output.Flag) && !pcapoverip.IsAddress(output.Name)
}

// isStdin reports whether an output is the regular file that standard input reads.
func isStdin(name string) bool {
	in, err := os.Stdin.Stat()
	if err != nil || !in.Mode().IsRegular() {
		return false
	}
	stat := os.Stdout.Stat
	if !outfile.IsStdout(name) {
		stat = func() (os.FileInfo, error) { return os.Stat(name) }
	}
	out, err := stat()
	return err == nil && os.SameFile(in, out)
}

// CheckInputs rejects an input that is named twice, because all its packets would be
// copies. Then it looks all inputs up: a missing input is to be known before hours of work on
// the others.
func (f *Files) CheckInputs() error {
	infos := make([]os.FileInfo, len(f.Inputs))
	for i, name := range f.Inputs {
		info, err := os.Stat(name)
		if name == "-" || err != nil || info.Mode()&os.ModeCharDevice != 0 {
			continue // lookUp reports the error
		}
		infos[i] = info
		for j, other := range infos[:i] {
			if other != nil && os.SameFile(info, other) {
				return Usagef("the inputs %s and %s are the same file", f.Inputs[j], name)
			}
		}
	}
	return LookUp(f.Inputs...)
}

// LookUp returns the errors of inputs that cannot be opened. Of a pipe it checks only the
// name: opening it would wait for its writer, or take its only reader.
func LookUp(names ...string) error {
	var errs []error
	for _, name := range names {
		if name == "" || name == "-" || pcapoverip.IsAddress(name) {
			continue
		}
		info, err := os.Stat(name)
		if err == nil && info.IsDir() {
			errs = append(errs, fmt.Errorf("open %s: is a directory %s", name, inFolder(name)))
			continue
		}
		if err == nil && !info.Mode().IsRegular() {
			continue
		}
		file, err := outfile.OpenRegular(name)
		if err == nil {
			err = file.Close()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// CheckTerminal rejects packets on a terminal, which would interpret some of their bytes
// as commands. Empty names are ignored. Outputs to a closed standard output are noted.
func (e *Env) CheckTerminal(outputs ...string) error {
	e.NoteLost(outputs...)
	if IsTerminal(e.stdout) && slices.ContainsFunc(outputs, outfile.IsStdout) {
		return Usagef("standard output is a terminal, which cannot show packets: name a file, or pipe into a program (-w - | tcpdump -r -)")
	}
	return nil
}

// RotateFlags are the flags of rotating output files.
type RotateFlags struct {
	Size      int64
	Every     time.Duration
	Keep      int
	KeepBytes int64
}

// Flags returns the flags.
func (r *RotateFlags) Flags() []Flag {
	return []Flag{
		{Name: "rotate-size", Group: GroupOutput, To: NewParsed(&r.Size, "", "size", parseFileSize), Needs: []string{"write duplicates: they rotate"}, Help: "limit the size of an output file: 1GiB, 500MB"},
		{Name: "rotate-every", Group: GroupOutput, To: NewParsed(&r.Every, "", "duration", ParseEvery), Needs: []string{"write duplicates: they rotate"}, Help: "start a file at each full 15m, 1h, 1d in UTC; %Y%m%d in a name is its time"},
		{Name: "rotate-keep", Group: GroupOutput, To: &r.Keep, Needs: []string{"rotate-size rotate-every rotate-megabytes rotate-seconds: there is one file without"}, Help: "keep only the newest `N` output files (0: all)"},
		{Name: "rotate-keep-bytes", Group: GroupOutput, To: NewParsed(&r.KeepBytes, "", "size", parseFileSize), Needs: []string{"rotate-size rotate-every rotate-megabytes rotate-seconds: there is one file without"}, Help: "keep only the newest files that fit: 100GiB"},
	}
}

// Check rejects a negative number of files.
func (r *RotateFlags) Check() error {
	if r.Keep < 0 {
		return Usagef("--rotate-keep must not be negative")
	}
	return nil
}

// prunes reports whether old files are removed.
func (r *RotateFlags) prunes() bool { return r.Keep > 0 || r.KeepBytes > 0 }

// Rotates reports whether files rotate.
func (r *RotateFlags) Rotates() bool { return r.Size > 0 || r.Every > 0 }

// Options returns how files rotate.
func (r *RotateFlags) Options() rotate.Options {
	return rotate.Options{Size: r.Size, Every: r.Every, Keep: r.Keep, KeepBytes: r.KeepBytes}
}

// minFileSize prevents a mistyped unit from making a file per packet.
const minFileSize = 1 << 10

// parseFileSize reads a size such as 1GiB.
func parseFileSize(s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil || n < minFileSize || n > 1<<60 {
		return 0, fmt.Errorf("must be a size such as 1GiB or 500MB, at least 1KiB")
	}
	return int64(n), nil
}
