package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/once"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/settings"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/version"
)

// Root returns the command line for documentation; its commands must not be run.
func Root() *cobra.Command { return newRoot(new(env)) }

func newRoot(e *env) *cobra.Command {
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
		Args:                       unknownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(suggestFlag)
	setHelp(root)
	root.SetHelpCommand(newHelp())
	root.AddCommand(newDedup(e), newDistinct(e), newLive(e), newInspect(e), newCompare(e), newVerify(e), newFlows(e), newPlan(e), newExtcap(e), newVersion(e))
	addCompletion(root)
	settings.Define(root, settingsPrefix, func(err error) error { return &usageError{err} })
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
		panic("cli: " + err.Error()) // cobra has no such command any more
	}
	cmd.Args = unknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	for _, shell := range cmd.Commands() {
		shell.Args = takesNoArguments
	}
}

// takesNoArguments rejects all arguments.
func takesNoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return &usageError{fmt.Errorf("%s takes no arguments", cmd.CommandPath())}
	}
	return nil
}

// unknownCommand rejects an unknown command, and names the nearest one.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if _, err := os.Stat(args[0]); !cmd.HasParent() && (err == nil || strings.Contains(args[0], ".pcap")) {
		return &usageError{fmt.Errorf("%s is no command: %s", args[0], habitOf(cmd, habitFile))}
	}
	msg := fmt.Sprintf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		msg += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return &usageError{errors.New(msg + " (see flowdedup help)")}
}

// suggestFlag makes an unknown flag a usage error that names the nearest flag.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return &usageError{hintTwice(cmd, err)}
	}
	typed := strings.TrimLeft(unknown.GetSpecifiedName(), "-")
	if unknown.GetSpecifiedShortnames() != "" {
		if answer := habitOf(cmd, "-"+typed); answer != "" {
			return &usageError{fmt.Errorf("there is no -%s: %s", typed, answer)}
		}
	}
	var names []string
	if unknown.GetSpecifiedShortnames() == "" { // every short name would be near to a letter
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	best := nearest(typed, names)
	if best == "" {
		return &usageError{fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())}
	}
	return &usageError{fmt.Errorf("%w; did you mean --%s?", err, best)}
}

func newVersion(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print version, Go version, platform, and the kernels that this CPU runs",
		Args:  takesNoArguments,
		RunE: func(*cobra.Command, []string) error {
			vectors, aes := asm.Kernels()
			_, err := fmt.Fprintf(e.stdout, "flowdedup %s %s %s/%s, kernels %s and %s\n", version.String(), runtime.Version(), runtime.GOOS, runtime.GOARCH, vectors, aes)
			return err
		},
	}
}
