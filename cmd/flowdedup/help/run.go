// SPDX-License-Identifier: Apache-2.0

package help

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Run runs a command line. Unlike cobra's way, help that cannot be written is an error, and the
// shell gets the explanations of flags to be completed as help prints them.
func Run(ctx context.Context, root *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		unquote(root)
	}
	for i, arg := range args {
		if arg == "--" {
			break
		} else if arg == helpAll {
			args = append(args[:i:i], "--help")
			root.Annotations = map[string]string{helpAll: "yes"}
		}
	}
	out := &output{to: root.OutOrStdout()}
	root.SetOut(out)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	return out.err
}

// unquote takes the marks off the names of values: cobra completes flags with them.
func unquote(cmd *cobra.Command) {
	for _, fs := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		fs.VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
	}
	for _, below := range cmd.Commands() {
		unquote(below)
	}
}

// output keeps the first error of writing, which cobra ignores.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// below returns the writer that an output writes to, which may be a terminal.
func below(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.to
	}
	return w
}
