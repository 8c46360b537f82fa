// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/settings"
)

// TakesNoArguments rejects all arguments.
func TakesNoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments", cmd.CommandPath())
	}
	return nil
}

// UnknownCommand rejects an unknown command, and names the nearest command.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if _, err := os.Stat(args[0]); !cmd.HasParent() && (err == nil || strings.Contains(args[0], ".pcap")) {
		return Usagef("%s is no command: %s", args[0], habitOf(cmd, habitFile))
	}
	msg := fmt.Sprintf("unknown command %q", args[0])
	if answer := habitOf(cmd, args[0]); answer != "" {
		return Usagef("%s: %s", msg, answer)
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		msg += fmt.Sprintf("; did you mean %q?", near[0])
	}
	return Usagef("%s (see flowdedup help)", msg)
}

// SuggestFlag makes an unknown flag a usage error that names the nearest flag.
func SuggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return Usage(hintValue(cmd, err))
	}
	typed, dash := strings.TrimLeft(unknown.GetSpecifiedName(), "-"), "--"
	if unknown.GetSpecifiedShortnames() != "" {
		dash = "-"
	}
	if answer := habitOf(cmd, dash+typed); answer != "" {
		return Usagef("there is no %s%s: %s", dash, typed, answer)
	}
	if !cmd.HasParent() && slices.ContainsFunc(cmd.Commands(), func(c *cobra.Command) bool { return hasFlag(c, typed, dash) }) {
		return Usagef("%s%s goes behind a command: %s COMMAND %[1]s%[2]s", dash, typed, cmd.CommandPath())
	}
	var names []string
	if dash == "--" { // every short name would be near to a letter
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	}
	best := nearest(typed, names)
	if best == "" {
		return Usagef("%w (see %s --help)", err, cmd.CommandPath())
	}
	return Usagef("%w; did you mean --%s?", err, best)
}

// hasFlag reports whether a command has a flag of such a name, short behind one dash.
func hasFlag(c *cobra.Command, name, dash string) bool {
	if dash == "-" {
		return c.Flags().ShorthandLookup(name[:1]) != nil
	}
	return c.Flags().Lookup(name) != nil
}

// OneOfNear is OneOf for words that are easily mistyped: its error names the nearest.
func OneOfNear(words []string) func(string) (string, error) {
	exact := OneOf(words...)
	return func(s string) (string, error) {
		word, err := exact(s)
		if near := DidYouMean("", s, words); err != nil && near != "" {
			err = fmt.Errorf("%w%s", err, near)
		}
		return word, err
	}
}

// DidYouMean returns a question with the word nearest to what was typed, "" if no word is
// near.
func DidYouMean(before, typed string, words []string) string {
	best := nearest(typed, words)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", before, best)
}

// nearest returns the word nearest to what was typed, "" if no word is near.
func nearest(typed string, words []string) string {
	const letters = 2 // farther words are not typing errors
	return settings.Nearest(typed, words, letters)
}
