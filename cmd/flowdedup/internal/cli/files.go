package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/netio"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// files are the file names of a command line.
type files struct {
	outputs []namedFile
	inputs  []string
	// inPlace is the flag of the output that may replace an input, or "". Replacing one
	// takes the word of the user, which is in allowed.
	inPlace string
	allowed bool
}

// namedFile is a flag and the file that it names, "" for none.
type namedFile struct{ flag, name string }

// check rejects two names of one file, because one output would replace the other, or an
// input.
func (f *files) check() error {
	replaced := false
	for i, a := range f.outputs {
		for _, b := range f.outputs[:i] {
			if outfile.Same(a.name, b.name) {
				return &usageError{fmt.Errorf("%s and %s name the same file", b.flag, a.flag)}
			}
		}
		for _, input := range f.inputs {
			if input == "-" || !outfile.Same(a.name, input) {
				continue
			}
			if a.flag != f.inPlace {
				return &usageError{fmt.Errorf("%s would replace the input %s", a.flag, input)}
			}
			if replaced = true; !f.allowed {
				return &usageError{fmt.Errorf("%s would replace the input %s: name another file, or give --in-place", a.flag, input)}
			}
		}
	}
	if f.allowed && !replaced {
		return &usageError{fmt.Errorf("--in-place: %s names no input", f.inPlace)}
	}
	return f.checkInputs()
}

// checkInputs rejects an input that is named twice, because all its packets would be
// copies. Then it looks all inputs up: a missing one is to be known before hours of work on
// the others.
func (f *files) checkInputs() error {
	infos := make([]os.FileInfo, len(f.inputs))
	for i, name := range f.inputs {
		info, err := os.Stat(name)
		if name == "-" || err != nil || info.Mode()&os.ModeCharDevice != 0 {
			continue // lookUp reports the error
		}
		infos[i] = info
		for j, other := range infos[:i] {
			if other != nil && os.SameFile(info, other) {
				return &usageError{fmt.Errorf("the inputs %s and %s are the same file", f.inputs[j], name)}
			}
		}
	}
	return lookUp(f.inputs...)
}

// lookUp returns the errors of inputs that cannot be opened. Of a pipe it looks at the name
// alone: opening it would wait for its writer, or take its only reader.
func lookUp(names ...string) error {
	var errs []error
	for _, name := range names {
		if name == "" || name == "-" || netio.IsAddress(name) {
			continue
		}
		if info, err := os.Stat(name); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			continue
		}
		file, err := os.Open(name)
		if err == nil {
			err = readable(file)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// readable closes a file, and returns an error for a folder.
func readable(file *os.File) error {
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: file.Name(), Err: syscall.EISDIR}
	}
	return errors.Join(err, file.Close())
}

// fileFlags are the flags whose values are names.
var fileFlags = []string{"write", "duplicates", "reports", "state", "csv", "save", "html", "forward", "bpf-file", "user", "tls-cert", "tls-key", "tls-ca", "only-a", "only-b", "boundary", "serve", "to"}

// checkNamed rejects empty names. They usually come from an unset shell variable.
func checkNamed(fs *pflag.FlagSet) error {
	for _, flag := range fileFlags {
		if f := fs.Lookup(flag); f != nil && f.Changed && f.Value.String() == "" {
			return &usageError{errors.New("--" + flag + " has an empty name")}
		}
	}
	return checkNumber(fs)
}

// inputFlags name captures, like arguments.
type inputFlags struct{ read []string }

func (f *inputFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVarP(&f.read, "read", "r", nil, "read capture `FILE`; may be repeated")
	groupInput.add(fs, "read")
}

// all returns the inputs in reading order, those of flags first.
func (f *inputFlags) all(args []string) []string { return slices.Concat(f.read, args) }

// check requires at least one input, and that each has a name and none is a filter
// expression.
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

// checkTerminal rejects packets on a terminal, which would interpret some of their bytes
// as commands. Empty names are ignored.
func (e *env) checkTerminal(outputs ...string) error {
	if e.terminal && slices.ContainsFunc(outputs, outfile.IsStdout) {
		return &usageError{errors.New("standard output is a terminal, which cannot show packets: name a file, or pipe into a program (-w - | tcpdump -r -)")}
	}
	return nil
}

// rotateFlags are the flags of rotating output files.
type rotateFlags struct {
	size      int64
	every     time.Duration
	keep      int
	keepBytes int64
}

func (r *rotateFlags) register(f *pflag.FlagSet) {
	f.Var(newParsed(&r.size, "", "size", parseFileSize), "rotate-size", "limit the size of an output file: 1GiB, 500MB")
	f.Var(newParsed(&r.every, "", "duration", parseEvery), "rotate-every", "start a file at each full 15m, 1h, 1d in UTC")
	f.IntVar(&r.keep, "rotate-keep", 0, "keep only the newest `N` output files (0: all)")
	f.Var(newParsed(&r.keepBytes, "", "size", parseFileSize), "rotate-keep-bytes", "keep only the newest files that fit: 100GiB")
	groupOutput.add(f, "rotate-size", "rotate-every", "rotate-keep", "rotate-keep-bytes")
}

// check rejects rotation flags that do not fit together, or without an output that
// rotates. Empty outputs are ignored.
func (r *rotateFlags) check(outputs ...string) error {
	rotates := r.rotates()
	switch {
	case r.keep < 0:
		return &usageError{errors.New("--rotate-keep must not be negative")}
	case (r.keep > 0 || r.keepBytes > 0) && !rotates:
		return &usageError{errors.New("--rotate-keep and --rotate-keep-bytes need --rotate-size or --rotate-every")}
	}
	if !rotates {
		return nil
	}
	for _, name := range outputs {
		if name != "" {
			return nil
		}
	}
	return &usageError{errors.New("--rotate-size and --rotate-every need an output file (-w)")}
}

func (r *rotateFlags) rotates() bool { return r.size > 0 || r.every > 0 }

func (r *rotateFlags) options() rotate.Options {
	return rotate.Options{Size: r.size, Every: r.every, Keep: r.keep, KeepBytes: r.keepBytes}
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
