package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/outfile"
)

// files are the names of files on one command line.
type files struct {
	outputs []namedFile
	inputs  []string
	// inPlace is the flag of the output that may name an input, or "".
	inPlace string
}

// namedFile is the file that a flag names, "" for none.
type namedFile struct{ flag, name string }

// check refuses two names of one file: one output would replace the other, or an input.
func (f *files) check() error {
	for i, a := range f.outputs {
		for _, b := range f.outputs[:i] {
			if outfile.Same(a.name, b.name) {
				return &usageError{fmt.Errorf("%s and %s name the same file", b.flag, a.flag)}
			}
		}
		for _, input := range f.inputs {
			if a.flag != f.inPlace && input != "-" && outfile.Same(a.name, input) {
				return &usageError{fmt.Errorf("%s would replace the input %s", a.flag, input)}
			}
		}
	}
	return f.checkInputs()
}

// checkInputs refuses an input that is named twice: all its packets would be copies.
func (f *files) checkInputs() error {
	infos := make([]os.FileInfo, len(f.inputs))
	for i, name := range f.inputs {
		info, err := os.Stat(name)
		if name == "-" || err != nil || info.Mode()&os.ModeCharDevice != 0 {
			continue // opening it reports the error
		}
		infos[i] = info
		for j, other := range infos[:i] {
			if other != nil && os.SameFile(info, other) {
				return &usageError{fmt.Errorf("the inputs %s and %s are the same file", f.inputs[j], name)}
			}
		}
	}
	return nil
}

// fileFlags are those whose values are names.
var fileFlags = []string{"write", "duplicates", "reports", "state", "csv", "html", "forward", "bpf-file", "user"}

// checkNamed refuses flags with an empty name: an unset shell variable gives one.
func checkNamed(fs *pflag.FlagSet) error {
	for _, flag := range fileFlags {
		if f := fs.Lookup(flag); f != nil && f.Changed && f.Value.String() == "" {
			return &usageError{errors.New("--" + flag + " has an empty name")}
		}
	}
	return nil
}

// inputFlags name captures, as arguments do.
type inputFlags struct{ read []string }

func (f *inputFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVarP(&f.read, "read", "r", nil, "read capture `FILE`; may be repeated")
	groupInput.add(fs, "read")
}

// all returns the inputs in reading order: those of flags first.
func (f *inputFlags) all(args []string) []string { return slices.Concat(f.read, args) }

// check wants at least one input, a name for each, and no expression among them.
func (f *inputFlags) check(_ *cobra.Command, args []string) error {
	inputs := f.all(args)
	switch {
	case len(inputs) == 0:
		return &usageError{errors.New("name a capture, or - for standard input")}
	case slices.Contains(inputs, ""):
		return &usageError{errors.New("an input's name is empty")}
	}
	return checkExpression(args)
}
