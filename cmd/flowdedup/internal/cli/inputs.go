package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// inputFlags name captures, as arguments do.
type inputFlags struct{ read []string }

func (f *inputFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVarP(&f.read, "read", "r", nil, "read `FILE`, as if it were an argument; may be given again")
	groupInput.add(fs, "read")
}

// all returns the inputs in the order in which they are read: those of flags first.
func (f *inputFlags) all(args []string) []string { return slices.Concat(f.read, args) }

// check wants at least one input, a name for each, and no expression among them.
func (f *inputFlags) check(_ *cobra.Command, args []string) error {
	inputs := f.all(args)
	switch {
	case len(inputs) == 0:
		return &usageError{errors.New("name at least one capture, or - for standard input")}
	case slices.Contains(inputs, ""):
		return &usageError{errors.New("an input's name is empty")}
	}
	return checkExpression(args)
}
