// SPDX-License-Identifier: Apache-2.0

// Package once makes a second value of a flag wrong usage. Package pflag takes the last
// value, and silently loses the first. The errors of this package about numbers and switches
// say which values the flag takes; pflag's name functions of Go.
package once

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ErrTwice is the error of a flag that has a value already.
var ErrTwice = errors.New("is given twice")

// adder is implemented by values to which each use of their flag adds.
type adder interface{ Adds() bool }

// Flags lets each flag of a command, and of all commands below it, be given once. Flags that
// take several values (an adder or a pflag.SliceValue) stay as they are. So do switches that
// say the same again. Call it when all flags are defined.
func Flags(cmd *cobra.Command) {
	for _, fs := range []*pflag.FlagSet{cmd.PersistentFlags(), cmd.Flags()} {
		fs.VisitAll(restrict)
	}
	for _, c := range cmd.Commands() {
		Flags(c)
	}
}

func restrict(f *pflag.Flag) {
	adder, adds := f.Value.(adder)
	_, slice := f.Value.(pflag.SliceValue)
	_, done := f.Value.(*value)
	if slice || done || adds && adder.Adds() {
		return
	}
	f.Value = &value{f.Value, f}
	if f.DefValue == "0s" {
		f.DefValue = "0" // help shows no zeros, but knows durations by the type of their values
	}
}

// value is a value that its flag sets once.
type value struct {
	pflag.Value
	flag *pflag.Flag
}

// Set implements pflag.Value. pflag marks a flag as changed after the first Set.
func (v *value) Set(s string) error {
	if !v.flag.Changed {
		return v.plain(v.Value.Set(s))
	}
	before := v.Value.String()
	if v.Type() != "bool" {
		return ErrTwice
	}
	if err := v.Value.Set(s); err != nil {
		return v.plain(err)
	}
	if v.Value.String() != before {
		return ErrTwice
	}
	return nil
}

// plain returns an error of strconv as a sentence about the flag, and other errors as they are.
func (v *value) plain(err error) error {
	var number *strconv.NumError
	switch kind := v.Type(); {
	case !errors.As(err, &number):
		return err
	case errors.Is(err, strconv.ErrRange):
		return errors.New("must be a smaller number")
	case kind == "bool":
		return errors.New("must be true or false")
	case strings.HasPrefix(kind, "float"):
		return errors.New("must be a number")
	}
	return errors.New("must be a whole number")
}

// Error returns the sentence for an error of parsing flags. For ErrTwice it names the flag.
func Error(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) || !errors.Is(err, ErrTwice) {
		return err
	}
	f := invalid.GetFlag()
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + " (" + name + ")"
	}
	if f.Value.Type() == "bool" {
		return fmt.Errorf("%s %w, with different values", name, ErrTwice)
	}
	return fmt.Errorf("%s %w, and takes one value", name, ErrTwice) // which may be a secret
}

// list is a list of words with commas between them, to which each use of its flag adds.
type list struct {
	words *string
	given bool
}

// List returns the value of a flag that takes a list of words with commas between them.
func List(words *string) pflag.Value { return &list{words: words} }

// Set implements pflag.Value. The first use replaces the default.
func (l *list) Set(s string) error {
	if l.given {
		s = *l.words + "," + s
	}
	*l.words, l.given = s, true
	return nil
}

// String implements pflag.Value.
func (l *list) String() string { return *l.words }

// Type implements pflag.Value.
func (l *list) Type() string { return "list" }

// Adds implements adder.
func (l *list) Adds() bool { return true }
