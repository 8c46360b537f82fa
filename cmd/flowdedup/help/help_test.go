// SPDX-License-Identifier: Apache-2.0

package help

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var errUnknown = errors.New("unknown")

const long = `The root is a command with a description that is
folded as one paragraph.

Kinds:
  plain   what has no other name, and needs more words than
          a narrow terminal has room for
  - an item that goes on
    below itself`

// shown returns what a command line of a small program prints.
func shown(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return shownOn(t, 0, args...)
}

// shownOn is shown on a terminal of this width.
func shownOn(t *testing.T, terminal int, args ...string) (string, error) {
	t.Helper()
	root := &cobra.Command{Use: "root", Short: "Root", Long: long, Example: "  root --main 1", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
	fs := root.Flags()
	fs.String("main", "", "a `value` that is explained in more words than a line of a terminal of eighty columns can ever hold")
	fs.String("rare", "", "a `value` for experts")
	fs.Bool("bare", false, "in no group")
	root.PersistentFlags().String("everywhere", "", "a `folder` of which every command takes what it needs to know, be it much or little")
	Group("Input").Add(fs, "main")
	Advanced.Add(fs, "rare")
	Set(root, []Group{"Input", Advanced, None}, func(w io.Writer) int {
		if _, ok := w.(*bytes.Buffer); !ok {
			t.Errorf("the terminal is a %T", w)
		}
		return terminal
	})
	root.SetHelpCommand(Command(func(_ *cobra.Command, rest []string) error {
		if len(rest) > 0 {
			return errUnknown
		}
		return nil
	}))
	root.AddCommand(&cobra.Command{Use: "below", Short: "Go below, where some other things are explained", Args: cobra.NoArgs, Run: func(*cobra.Command, []string) {}})
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	err := Run(t.Context(), root, args)
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimSuffix(line, "\n")) > width(terminal) && args[0] != cobra.ShellCompRequestCmd {
			t.Errorf("%q: a line of %d columns: %s", args, len(line)-1, line)
		}
	}
	return out.String(), err
}

// TestSet asks for help in each way.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		args    string
		has, no []string
	}{
		{"-h", []string{"Root.\n", "Input flags:\n", "--main", "Flags:\n"}, []string{"--rare", "...", "Examples:"}},
		{"--help", []string{"Input flags:\n", "\nAdvanced flags:\n", "--rare", "Examples:\n  root --main 1", long, "\n  below       Go below, where some other things are explained\n"}, nil},
		{"help", []string{"Examples:"}, nil},
		{"help below", []string{"root below", "Global flags:\n", "--everywhere"}, []string{"--main"}},
		{"below -h", []string{"Global flags:\n"}, []string{"--main"}}, // it has no groups
	} {
		out, err := shown(t, strings.Fields(c.args)...)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		for _, want := range c.has {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in %s", c.args, want, out)
			}
		}
		for _, not := range c.no {
			if strings.Contains(out, not) {
				t.Errorf("%s: %q in %s", c.args, not, out)
			}
		}
	}
	if _, err := shown(t, "help", "nonsense"); err == nil {
		t.Error("there is help of an unknown command")
	}
	if _, err := shown(t, "help", "below", "nonsense"); !errors.Is(err, errUnknown) {
		t.Errorf("help of an unknown command below another: %v", err)
	}
	if out, err := shown(t, cobra.ShellCompNoDescRequestCmd, "help", "be"); err != nil || !strings.HasPrefix(out, "below\n") {
		t.Errorf("completion of help: %q, %v", out, err)
	}
	for name, want := range map[string]string{"--ra": "--rare\ta value for experts\n", "--every": "--everywhere\ta folder of which "} {
		if out, err := shown(t, cobra.ShellCompRequestCmd, name); err != nil || !strings.HasPrefix(out, want) {
			t.Errorf("completion of %s: %q, %v", name, out, err)
		}
	}
}

// TestNarrow asks for help on narrow terminals. shownOn measures the lines.
func TestNarrow(t *testing.T) {
	const folded = `The root is a command with a description
that is folded as one paragraph.

Kinds:
  plain   what has no other name, and
          needs more words than a narrow
          terminal has room for
  - an item that goes on below itself
`
	for _, args := range []string{"-h", "--help", "help", "below -h"} {
		for _, terminal := range []int{1, 40, 50, 78} {
			out, err := shownOn(t, terminal, strings.Fields(args)...)
			if err != nil || terminal <= 40 && strings.Contains(args, "help") && !strings.HasPrefix(out, folded) {
				t.Errorf("%s on %d columns: %v\n%s", args, terminal, err, out)
			}
		}
	}
}
