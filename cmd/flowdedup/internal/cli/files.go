package cli

import (
	"errors"
	"fmt"
	"os"

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

// check refuses two names of one file: one output would take the other's place, or that
// of an input.
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
			continue // told elsewhere
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

// checkNamed refuses flags with an empty name, as an unset variable of a shell gives.
func checkNamed(fs *pflag.FlagSet) error {
	for _, flag := range fileFlags {
		if f := fs.Lookup(flag); f != nil && f.Changed && f.Value.String() == "" {
			return &usageError{errors.New("--" + flag + " has an empty name")}
		}
	}
	return nil
}
