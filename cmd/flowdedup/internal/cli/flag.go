// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
)

// Flag is all that a command says of a flag. Help, manual, completion and checks of
// combinations follow from it.
type Flag struct {
	Name, Short string
	Group       help.Group
	// To gets the value, and holds the default: a pflag.Value, or a pointer to a bool, an int, a
	// uint64, a string, or a list of strings to which each use adds.
	To any
	// Words are values that the shell completes, unless Complete does.
	Words    []string
	Complete cobra.CompletionFunc
	// Needs and Not are rules. Each rule names flags and says why: "rotate-size rotate-every:
	// they write several files". Needs wants any of them to be given, Not wants none. A rule may
	// be about some values of a flag: "method=exact,sketch". Flags that the command lacks are
	// left out.
	Needs, Not []string
	Help       string // the value stands in backquotes
}

// The annotations of a flag that hold its rules.
const (
	needsKey = "flowdedup_needs"
	notKey   = "flowdedup_not"
)

// Define adds the flags of tables to a command, in their order. It panics if a flag has no
// valid entry.
func Define(cmd *cobra.Command, tables ...[]Flag) {
	fs := cmd.Flags()
	fs.SortFlags = false
	for _, f := range slices.Concat(tables...) {
		f.define(fs)
		f.Group.Add(fs, f.Name)
		at := fs.Lookup(f.Name)
		at.Annotations[needsKey], at.Annotations[notKey] = f.Needs, f.Not
		if err := f.complete(cmd, at); err != nil {
			panic("cli: " + err.Error()) // a flag has two entries
		}
	}
}

func (f *Flag) define(fs *pflag.FlagSet) {
	switch to := f.To.(type) {
	case pflag.Value:
		fs.VarP(to, f.Name, f.Short, f.Help)
	case *bool:
		fs.BoolVarP(to, f.Name, f.Short, *to, f.Help)
	case *int:
		fs.IntVarP(to, f.Name, f.Short, *to, f.Help)
	case *uint64:
		fs.Uint64VarP(to, f.Name, f.Short, *to, f.Help)
	case *string:
		fs.StringVarP(to, f.Name, f.Short, *to, f.Help)
	case *[]string:
		fs.StringArrayVarP(to, f.Name, f.Short, *to, f.Help)
	default:
		panic(fmt.Sprintf("cli: --%s: no flag has a %T", f.Name, to))
	}
}

// complete lets the shell complete values. Lists are completed word by word.
func (f *Flag) complete(cmd *cobra.Command, at *pflag.Flag) error {
	complete := f.Complete
	list, isList := at.Value.(interface{ isList() bool })
	switch {
	case complete != nil:
	case f.Words == nil:
		return nil
	case isList && list.isList():
		complete = completeList(f.Words)
	default:
		complete = cobra.FixedCompletions(f.Words, cobra.ShellCompDirectiveNoFileComp)
	}
	return cmd.RegisterFlagCompletionFunc(f.Name, complete)
}

// Rule says which flags a flag needs or excludes.
type Rule struct {
	Flag   string
	Needs  bool     // else it excludes them
	Others []string // flags of the command: "method", "method=exact,sketch"
	Why    string   // "" if that is plain
}

// Rules returns the rules of a command's flags: rules of flags that exclude each other come
// first, as a flag that is left out needs nothing.
func Rules(fs *pflag.FlagSet) (all []Rule) {
	for _, key := range []string{notKey, needsKey} {
		fs.VisitAll(func(f *pflag.Flag) {
			for _, text := range f.Annotations[key] {
				if r := ruleOf(fs, f.Name, key == needsKey, text); len(r.Others) > 0 {
					all = append(all, r)
				}
			}
		})
	}
	return all
}

// ruleOf reads a rule of a flag. It leaves out flags that the command lacks.
func ruleOf(fs *pflag.FlagSet, flag string, needs bool, text string) Rule {
	names, why, _ := strings.Cut(text, ": ")
	others := slices.DeleteFunc(strings.Fields(names), func(o string) bool { return lookup(fs, o) == nil })
	return Rule{flag, needs, others, why}
}

// lookup returns the flag of a condition.
func lookup(fs *pflag.FlagSet, condition string) *pflag.Flag {
	name, _, _ := strings.Cut(condition, "=")
	return fs.Lookup(name)
}

// CheckFlags rejects flags that do not fit together, and names without a letter.
func CheckFlags(fs *pflag.FlagSet) error {
	if err := checkNamed(fs); err != nil {
		return err
	}
	for _, r := range Rules(fs) {
		if err := r.check(fs); err != nil {
			return Usage(err)
		}
	}
	return nil
}

func (r *Rule) check(fs *pflag.FlagSet) error {
	if !holds(fs, r.Flag) {
		return nil
	}
	why := ""
	if r.Why != "" {
		why = ": " + r.Why
	}
	at := slices.IndexFunc(r.Others, func(o string) bool { return holds(fs, o) })
	switch {
	case r.Needs && at < 0:
		var names []string
		for _, o := range r.Others {
			names = append(names, spelled(fs, o))
		}
		return fmt.Errorf("%s needs %s%s", spelled(fs, r.Flag), anyOf(names), why)
	case !r.Needs && at >= 0:
		other := r.Others[at]
		if name, _, valued := strings.Cut(other, "="); valued {
			other = name + "=" + fs.Lookup(name).Value.String()
		}
		return fmt.Errorf("%s and %s exclude each other%s", spelled(fs, r.Flag), spelled(fs, other), why)
	}
	return nil
}

// holds reports whether the flag of a condition is given, or has any of the condition's values.
func holds(fs *pflag.FlagSet, condition string) bool {
	f := lookup(fs, condition)
	value := f.Value.String()
	_, values, valued := strings.Cut(condition, "=")
	if !valued {
		return f.Changed && value != "false" && (value != "" || f.Value.Type() != "string")
	}
	return slices.ContainsFunc(strings.Split(values, ","), func(v string) bool { return slices.Contains(strings.Split(value, ","), v) })
}

// spelled writes a condition as on a command line.
func spelled(fs *pflag.FlagSet, condition string) string {
	_, values, _ := strings.Cut(condition, "=")
	f := lookup(fs, condition)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand
	}
	return strings.TrimRight(name+" "+anyOf(strings.Split(values, ",")), " ")
}

// anyOf joins words: a, b or c.
func anyOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// namePlaceholders stand for values that name something.
var namePlaceholders = []string{"FILE", "DIR", "IFACE", "NAME", "ADDRESS"}

// textFlags are flags of files that get text. The name of a capture behind them is an input, which would
// be replaced.
var textFlags = []string{"csv", "html", "removed", "reports"}

// ValuesOf returns the values of a flag that was given. Setting each of them again, in their
// order, makes the same value of the flag.
func ValuesOf(f *pflag.Flag) []string {
	switch v := f.Value.(type) {
	case pflag.SliceValue:
		return v.GetSlice()
	case interface{ allUses() []string }:
		if all := v.allUses(); all != nil {
			return all
		}
	}
	return []string{f.Value.String()}
}

// checkNamed rejects empty names, which usually come from an unset shell variable, and names of captures
// for text. An empty address of --http means no address.
func checkNamed(fs *pflag.FlagSet) (err error) {
	fs.Visit(func(f *pflag.Flag) {
		kind, _ := pflag.UnquoteUsage(f)
		if slices.Contains(namePlaceholders, kind) && slices.Contains(ValuesOf(f), "") && f.Name != "http" {
			err = errors.Join(err, Usagef("--%s has an empty name", f.Name))
		}
		if name := f.Value.String(); slices.Contains(textFlags, f.Name) && pcapfile.FormatOf(name) != 0 {
			err = errors.Join(err, Usagef("--%s would write text into the capture %s: give --%[1]s a FILE of its own before it", f.Name, name))
		}
	})
	return errors.Join(err, checkNumber(fs))
}
