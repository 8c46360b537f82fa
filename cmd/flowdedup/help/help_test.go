// SPDX-License-Identifier: Apache-2.0

package help

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var errUnknown = errors.New("unknown")

// shown returns what a command line of a small program prints.
func shown(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := &cobra.Command{Use: "root", Short: "Root", Example: "  root --main 1", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
	fs := root.Flags()
	fs.String("main", "", "a `value` that is explained in more words than a line of a terminal of eighty columns can ever hold")
	fs.String("rare", "", "a `value` for experts")
	fs.Bool("bare", false, "in no group")
	root.PersistentFlags().String("everywhere", "", "a `folder` of which every command takes what it needs to know, be it much or little")
	Group("Input").Add(fs, "main")
	Advanced.Add(fs, "rare")
	Set(root, []Group{"Input", Advanced, None})
	root.SetHelpCommand(Command(func(_ *cobra.Command, rest []string) error {
		if len(rest) > 0 {
			return errUnknown
		}
		return nil
	}))
	root.AddCommand(&cobra.Command{Use: "below", Short: "Below", Args: cobra.NoArgs, Run: func(*cobra.Command, []string) {}})
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	err := Run(t.Context(), root, args)
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimSuffix(line, "\n")) > Columns && args[0] != cobra.ShellCompRequestCmd {
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
		{"-h", []string{"Root.\n", "Input flags:\n", "--main", " ...\n", "Flags:\n"}, []string{"--rare", "Examples:"}},
		{"--help", []string{"Input flags:\n", "\nAdvanced flags:\n", "--rare", "Examples:\n  root --main 1", "\n  below"}, nil},
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
