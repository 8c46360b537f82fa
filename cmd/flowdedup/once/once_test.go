// SPDX-License-Identifier: Apache-2.0

package once

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// words is a value to which each use adds.
type words struct{ all []string }

func (w *words) Set(s string) error { w.all = append(w.all, s); return nil }
func (w *words) String() string     { return strings.Join(w.all, " ") }
func (w *words) Type() string       { return "words" }
func (w *words) Adds() bool         { return true }

// TestFlags gives flags of each kind twice, to a command and to one below it.
func TestFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--name a", ""},
		{"--name a --name b", `-n (--name) is given twice, and takes one value`},
		{"-n a --name a", `-n (--name) is given twice, and takes one value`},
		{"-na -nb", `-n (--name) is given twice`},
		{"--count 1 --count=2", "--count is given twice"},
		{"--on --on=true -o", ""},
		{"--on --on=false", "-o (--on) is given twice, with different values"},
		{"--on=false -o", "-o (--on) is given twice, with different values"},
		{"--list a --list b --array a --array b", ""},
		{"--comma a,b --comma c", ""},
		{"--everywhere 1 --everywhere 2", "--everywhere is given twice"},
		{"--everywhere 1 below --everywhere 2", "--everywhere is given twice"},
		{"below --own 1 --own 2", "--own is given twice"},
	} {
		root := &cobra.Command{Use: "root", SilenceErrors: true, SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
		root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Error(err) })
		list := &words{}
		root.Flags().StringP("name", "n", "default", "")
		root.Flags().Int("count", 0, "")
		root.Flags().BoolP("on", "o", false, "")
		comma := "default"
		root.Flags().Var(list, "list", "")
		root.Flags().Var(List(&comma), "comma", "")
		root.Flags().StringArray("array", nil, "")
		root.PersistentFlags().String("everywhere", "", "")
		below := &cobra.Command{Use: "below", Run: func(*cobra.Command, []string) {}}
		below.Flags().String("own", "", "")
		root.AddCommand(below)
		Flags(root)
		Flags(root) // the second call changes nothing
		root.SetArgs(strings.Fields(c.args))
		err := root.Execute()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.args, err)
		case c.want != "" && (!errors.Is(err, ErrTwice) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
		if strings.Contains(c.args, "comma") && comma != "a,b,c" {
			t.Errorf("%s: %s", c.args, comma)
		}
		if strings.Contains(c.args, "list") && (list.String() != "a b" || root.Flag("array").Value.String() != "[a,b]") {
			t.Errorf("%s: %v, %v", c.args, list, root.Flag("array").Value)
		}
	}
}

// TestWrongValues says what a flag takes, without functions of Go, for its first value and for
// the second of a switch.
func TestWrongValues(t *testing.T) {
	for args, want := range map[string]string{
		"--count=x":                    "must be a whole number",
		"--count=":                     "must be a whole number",
		"--count=99999999999999999999": "must be a smaller number",
		"--share=x":                    "must be a number",
		"--on=x":                       "must be true or false",
		"--on --on=x":                  "must be true or false",
	} {
		root := &cobra.Command{Use: "root", SilenceErrors: true, SilenceUsage: true, Run: func(*cobra.Command, []string) {}}
		root.Flags().Int("count", 0, "")
		root.Flags().Float64("share", 0, "")
		root.Flags().Bool("on", false, "")
		Flags(root)
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err == nil || !strings.HasSuffix(err.Error(), " flag: "+want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// TestHelp checks that help shows the same defaults.
func TestHelp(t *testing.T) {
	root := &cobra.Command{Use: "root"}
	fs := root.Flags()
	fs.String("name", "a", "of `WHOM`")
	fs.String("none", "", "")
	fs.Int("count", 0, "")
	fs.Float64("share", 0.5, "")
	fs.Duration("last", 0, "")
	fs.Bool("on", false, "")
	fs.Bool("off", true, "")
	before := fs.FlagUsages()
	Flags(root)
	if after := fs.FlagUsages(); before != after {
		t.Errorf("%s\nwas\n%s", after, before)
	}
}

// TestOtherErrors checks that other errors stay as they are.
func TestOtherErrors(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.Int("count", 0, "")
	err := fs.Parse([]string{"--count", "x"})
	if err == nil || Error(err) != err {
		t.Error(err, Error(err))
	}
}
