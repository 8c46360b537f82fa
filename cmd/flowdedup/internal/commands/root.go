// SPDX-License-Identifier: Apache-2.0

// Package commands holds the root command of flowdedup, which has all other commands.
package commands

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/compare"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/distinct"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/extcap"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/flows"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/plan"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/verify"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/once"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/settings"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
	"github.com/flowdedup/flowdedup/layout"
)

// Main runs one command line and returns the exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	return cli.Run(stdout, stderr, func(ctx context.Context, e *cli.Env) (err error) {
		if extcap.Asked(args) {
			if args, err = extcap.Translate(ctx, e, args); args == nil {
				return err
			}
		}
		return help.Run(ctx, newRoot(e, needed(args)), args)
	})
}

// commands are the commands with flags of their own. To make all takes longer than many a run.
var commands = []struct {
	name string
	make func(*cli.Env) *cobra.Command
}{
	{"version", newVersion}, {"dedup", dedup.Command}, {"distinct", distinct.Command}, {"live", live.Command},
	{"inspect", inspect.Command}, {"compare", compare.Command}, {"verify", verify.Command},
	{"flows", flows.Command}, {"plan", plan.Command}, {"extcap", extcap.Command},
}

// needed returns the name of the command that a command line needs, or "" for all commands:
// settings of the file or the environment are checked against the flags of all.
func needed(args []string) string {
	if slices.ContainsFunc(slices.Concat(args, os.Environ()), func(word string) bool {
		return strings.HasPrefix(word, "--"+settings.FileFlag) || strings.HasPrefix(word, settingsPrefix)
	}) {
		return ""
	}
	for _, c := range commands {
		if len(args) > 0 && args[0] == c.name || len(args) == 1 && args[0] == "--version" {
			return c.name // any command will do for --version
		}
	}
	return ""
}

// Root returns the command line for documentation; its commands must not be run.
func Root() *cobra.Command { return New(new(cli.Env)) }

// New returns the command line of flowdedup for an environment.
func New(e *cli.Env) *cobra.Command { return newRoot(e, "") }

// newRoot returns the command line with the command of this name, with all commands for "".
func newRoot(e *cli.Env, only string) *cobra.Command {
	root := &cobra.Command{
		Use:     "flowdedup",
		Version: version.String(),
		Short:   "Remove duplicate packets, count distinct addresses and flows",
		Long: `flowdedup finds duplicates in network traffic, in one pass and in small
constant memory. It removes packets that a SPAN port or tap delivered twice
from captures and live traffic, and counts distinct addresses and flows per
hour.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 an input is damaged and
everything readable was processed, 4 compare or verify found a difference,
130 and 143 interrupted (files are closed properly and the summary is printed).`,
		Example: `  flowdedup inspect span.pcapng
  flowdedup dedup span.pcapng -w clean.pcapng
  flowdedup verify span.pcapng clean.pcapng
  flowdedup compare tap-a.pcap tap-b.pcap
  flowdedup distinct --of src,dst,flow monday.pcap tuesday.pcap
  flowdedup live -i eth1 -w - | zeek -r -`,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: false},
		Args:                       cli.UnknownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	root.SetFlagErrorFunc(cli.SuggestFlag)
	cli.SetHelp(root, e)
	root.SetHelpCommand(cli.NewHelp())
	for _, c := range commands {
		if only == "" || only == c.name {
			root.AddCommand(c.make(e))
		}
	}
	root.CompletionOptions.DisableDefaultCmd = only != ""
	if only == "" {
		addCompletion(root)
	}
	settings.Define(root, settingsPrefix, cli.Usage, func(cmd *cobra.Command, err error) {
		if quiet, _ := cmd.Flags().GetBool("quiet"); !quiet {
			e.Warn(err)
		}
	})
	apply := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error { // the file may be a pipe
		err := outfile.Until(cmd.Context(), func() error { return apply(cmd, args) })
		if quiet, _ := cmd.Flags().GetBool("quiet"); !quiet {
			cli.NoticeAssumed(e, cmd.Flags(), layout.Assumed)
		}
		return err
	}
	once.Flags(root)
	return root
}

// settingsPrefix begins the names of variables that are values of flags.
const settingsPrefix = "FLOWDEDUP_"

// addCompletion adds cobra's command of completion scripts. Unlike cobra's it fails for
// an unknown shell, with a usage error.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic("commands: " + err.Error()) // cobra has no such command any more
	}
	cmd.Args = cli.UnknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range cmd.Commands() {
		shell.Args = cli.TakesNoArguments
	}
}

func newVersion(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, Go version, platform, and the kernels that this CPU runs",
		Args:  cli.TakesNoArguments,
		RunE: func(*cobra.Command, []string) error {
			vectors, aes := asm.Kernels()
			_, err := fmt.Fprintf(e.Stdout, "flowdedup %s %s %s/%s, kernels %s and %s\n", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH, vectors, aes)
			return err
		},
	}
}
