// SPDX-License-Identifier: Apache-2.0

// Package settings sets flags from the environment and from a file (TOML). The order of
// precedence is: the command line, then the environment, then the file, then the default. All
// values of a flag come from the same place.
package settings

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// errFile is wrapped by errors about the content of a file of settings.
var errFile = errors.New("settings")

// FileFlag names the flag of the file.
const FileFlag = "config"

// mostBytes is how long the file may be.
const mostBytes = 1 << 20

// Define gives a command, and all below it, the flag --config, and has their other flags take
// values of the file and of the environment before a command runs. The variable of a flag has
// the prefix, and the name of the flag in capitals with underlines: FLOWDEDUP_MERGE_WAIT. Errors
// of values pass through wrap. A variable with the prefix that is almost the name of a flag is
// passed to warn, and others belong to somebody else. It takes the command's PersistentPreRunE.
func Define(root *cobra.Command, prefix string, wrap func(error) error, warn func(*cobra.Command, error)) {
	root.PersistentFlags().String(FileFlag, "", "`file` (TOML) with values of flags; "+prefix+"<FLAG> in the environment overrules it")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := apply(cmd, prefix); err != nil {
			return wrap(err)
		}
		for _, err := range mistyped(root, prefix) {
			warn(cmd, err)
		}
		return nil
	}
}

// mistyped returns an error for each variable with the prefix whose name is nearly a flag of a
// command: at most one letter of three differs, and two in all.
func mistyped(root *cobra.Command, prefix string) (all []error) {
	known := map[string]bool{}
	for _, c := range append(root.Commands(), root) {
		for _, fs := range []*pflag.FlagSet{c.LocalFlags(), c.PersistentFlags()} {
			fs.VisitAll(func(f *pflag.Flag) { known[variable(prefix, f.Name)] = true })
		}
	}
	names, environment := slices.Sorted(maps.Keys(known)), os.Environ()
	slices.Sort(environment)
	for _, text := range environment {
		name, _, _ := strings.Cut(text, "=")
		word, ours := strings.CutPrefix(name, prefix)
		if !ours || known[name] {
			continue
		}
		near := Nearest(name, names, min(2, len(word)/3))
		if near != "" {
			all = append(all, fmt.Errorf("%s is no flag's variable and has no effect; did you mean %s?", name, near))
		}
	}
	return all
}

// Nearest returns the word that typed probably stands for: the first with the fewest
// letters to change, add or leave out (Levenshtein's distance). It returns "" if these are more
// than letters.
func Nearest(typed string, words []string, letters int) string {
	best, distance := "", letters+1
	for _, word := range words {
		if d := levenshtein.ComputeDistance(typed, word); d < distance {
			best, distance = word, d
		}
	}
	return best
}

// variable returns the name of a flag's variable.
func variable(prefix, flag string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// apply sets the flags of a command that the command line has not set.
func apply(cmd *cobra.Command, prefix string) error {
	given := map[string]bool{} // on the command line, or by settings applied before
	cmd.Flags().VisitAll(func(f *pflag.Flag) { given[f.Name] = f.Changed || f.Name == "help" || f.Name == "version" })
	for _, name := range names(cmd.Flags()) {
		variable := variable(prefix, name)
		value, ok := os.LookupEnv(variable)
		if given[name] || !ok {
			continue
		}
		if err := cmd.Flags().Set(name, value); err != nil {
			return fmt.Errorf("%s: %w", variable, err)
		}
		given[name] = true
	}
	path := cmd.Flag(FileFlag).Value.String()
	if path == "" {
		return nil
	}
	values, err := read(path, cmd)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if given[name] {
			continue
		}
		for _, value := range values[name] {
			if err := cmd.Flags().Set(name, value); err != nil {
				return fmt.Errorf("%w: %s: %s: %w", errFile, path, name, err)
			}
		}
	}
	return nil
}

// names returns the names of flags.
func names(fs *pflag.FlagSet) (all []string) {
	fs.VisitAll(func(f *pflag.Flag) { all = append(all, f.Name) })
	return all
}

// read returns the values that a file has for the flags of a command. Every key of the file
// must be a flag: of the command that a table is named after, or of any command outside of
// tables.
func read(path string, cmd *cobra.Command) (map[string][]string, error) {
	tree, err := decode(path)
	if err != nil {
		return nil, err
	}
	root := cmd.Root()
	common, own := map[string][]string{}, map[string][]string{}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		table, isTable := tree[key].(map[string]any)
		if !isTable {
			if err := take(common, path, key, tree[key], takers(root, key), cmd); err != nil {
				return nil, err
			}
			continue
		}
		of := below(root, key)
		if of == nil {
			return nil, fmt.Errorf("%w: %s: [%s]: no such command", errFile, path, key)
		}
		for _, name := range slices.Sorted(maps.Keys(table)) {
			var takes []*cobra.Command
			if flagOf(of, name) != nil {
				takes = append(takes, of)
			}
			if err := take(own, path+": ["+key+"]", name, table[name], takes, cmd); err != nil {
				return nil, err
			}
		}
	}
	maps.Copy(common, own) // a table of the command wins
	return common, nil
}

// decode reads a file of TOML.
func decode(path string) (map[string]any, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFile, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFile, err)
	}
	if len(text) > mostBytes {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", errFile, path, mostBytes)
	}
	var tree map[string]any
	if _, err := toml.Decode(string(text), &tree); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errFile, path, err)
	}
	return tree, nil
}

// below returns the command of a name, nil if there is none.
func below(root *cobra.Command, name string) *cobra.Command {
	for _, c := range root.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// flagOf returns a flag that a file may set.
func flagOf(c *cobra.Command, name string) *pflag.Flag {
	if name == FileFlag || name == "help" || name == "version" {
		return nil
	}
	if f := c.LocalFlags().Lookup(name); f != nil {
		return f
	}
	return c.InheritedFlags().Lookup(name)
}

// takers returns the commands that have a flag.
func takers(root *cobra.Command, name string) (all []*cobra.Command) {
	for _, c := range append(root.Commands(), root) {
		if flagOf(c, name) != nil {
			all = append(all, c)
		}
	}
	return all
}

// take notes the values of a key, if the command takes it.
func take(values map[string][]string, path, name string, value any, takes []*cobra.Command, cmd *cobra.Command) error {
	if len(takes) == 0 {
		return fmt.Errorf("%w: %s: no flag --%s", errFile, path, name)
	}
	list, err := texts(value)
	if err != nil {
		return fmt.Errorf("%w: %s: %s: %w", errFile, path, name, err)
	}
	if slices.Contains(takes, cmd) {
		values[name] = list
	}
	return nil
}

var errKind = errors.New("want a string, a number, true, false, or a list of them")

// texts returns a value as a command line would have it; a list has several.
func texts(value any) ([]string, error) {
	switch v := value.(type) {
	case string:
		return []string{v}, nil
	case bool:
		return []string{strconv.FormatBool(v)}, nil
	case int64:
		return []string{strconv.FormatInt(v, 10)}, nil
	case float64:
		return []string{strconv.FormatFloat(v, 'g', -1, 64)}, nil
	case []any:
		var all []string
		for _, one := range v {
			if _, nested := one.([]any); nested {
				return nil, errKind
			}
			text, err := texts(one)
			if err != nil {
				return nil, err
			}
			all = append(all, text...)
		}
		return all, nil
	}
	return nil, errKind
}
