// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/pcapoverip"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// InputFlags name captures, like arguments.
type InputFlags struct {
	Read   []string
	passed []string // files of folders that are no captures
	folder bool     // an input is a folder
}

// Flag returns the flag.
func (f *InputFlags) Flag() Flag {
	return Flag{Name: "read", Short: "r", Group: GroupInput, To: &f.Read, Help: "read capture `FILE`; may be repeated"}
}

// Named returns the inputs as they were named, those of flags first. It opens nothing.
func (f *InputFlags) Named(args []string) []string { return slices.Concat(f.Read, args) }

// All returns the inputs in reading order. A folder's captures take its place, in the order of names.
func (f *InputFlags) All(args []string) (all []string) {
	f.passed, f.folder = nil, false
	for _, name := range f.Named(args) {
		captures, others := capturesIn(name)
		if len(captures) == 0 { // it is a file, or opening it fails
			captures, others = []string{name}, nil
		} else {
			f.folder = true
		}
		all, f.passed = append(all, captures...), append(f.passed, others...)
	}
	return all
}

// WarnPassed names the files of folders that are not read.
func (f *InputFlags) WarnPassed(e *Env) {
	if len(f.passed) > 0 {
		e.Warn(fmt.Errorf("not read, as no captures: %s", strings.Join(f.passed, ", ")))
	}
}

// capturesIn returns the captures of a folder, and other files. A file with the ending of captures is
// damaged if it is none, unless it is empty. Hidden files and what is no regular file do not count.
func capturesIn(folder string) (captures, others []string) {
	entries, _ := os.ReadDir(folder) // of what is no folder, there are none
	for _, entry := range entries {
		name := filepath.Join(folder, entry.Name())
		info, err := os.Stat(name)
		if err != nil || !info.Mode().IsRegular() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if err == nil {
			_ = src.Close() // it was only looked at
		}
		if errors.Is(err, capture.ErrEmpty) || capture.IsDamage(err) && pcapfile.FormatOf(name) == 0 {
			others = append(others, name)
		} else {
			captures = append(captures, name)
		}
	}
	return captures, others
}

// inFolder says what to do about a folder that is not read as one.
func inFolder(name string) string {
	if captures, _ := capturesIn(name); len(captures) > 0 {
		return "with captures: name files in it, such as " + captures[0]
	}
	return "without captures: name files"
}

// HintFolder notices an output of -w that is one file, though an input is a folder: without an ending
// the name may have been meant as a folder.
func (f *InputFlags) HintFolder(e *Env, output string) {
	if f.folder && output != "" && filepath.Ext(output) == "" && !strings.HasSuffix(output, "/") && !sink.IsFolder(output) && !outfile.IsStdout(output) {
		e.Notice(fmt.Sprintf("-w %s is one file of all packets; -w %[1]s/ is a folder with a file for each input", output))
	}
}

// CheckFolder rejects an output in a folder where an input can have no file of its name.
func CheckFolder(out NamedFile, inputs []string) error {
	from := map[string]string{}
	for _, input := range inputs {
		name := sink.InFolder(out.Name, input)
		info, err := os.Stat(input)
		if errors.Is(err, os.ErrNotExist) && input != "-" && !pcapoverip.IsAddress(input) {
			continue // opening it fails
		}
		if err != nil || !info.Mode().IsRegular() {
			return Usagef("%s %s is a folder with a file for each input, and %s is no file", out.Flag, out.Name, input)
		}
		if _, err := os.Lstat(name); err == nil {
			return Usagef("%s %s would replace %s: choose a new or empty folder", out.Flag, out.Name, name)
		}
		if other, ok := from[name]; ok {
			return Usagef("%s %s has one file for %s and %s: clean them in runs of their own, or rename one", out.Flag, out.Name, other, input)
		}
		from[name] = input
	}
	return nil
}

// Check requires an input, and that each has a name and none is a filter expression.
func (f *InputFlags) Check(cmd *cobra.Command, args []string) error {
	inputs := f.Named(args)
	switch {
	case len(inputs) == 0:
		if err := checkNamed(cmd.Flags()); err != nil { // a flag may have taken the name
			return err
		}
		return Usagef("name a capture, or - for standard input")
	case slices.Contains(inputs, ""):
		return Usagef("an input's name is empty")
	}
	return CheckExpression(args)
}
