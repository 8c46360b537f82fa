// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/help"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

// TestHelpFits checks that help fits into 79 columns and is complete: every command has
// an example, every flag a line.
func TestHelpFits(t *testing.T) {
	for _, command := range []string{"dedup", "distinct", "live", "inspect", "compare", "verify", "flows", "plan", "version"} {
		short, _, shortCode := clitest.Run(command, "-h")
		out, _, code := clitest.Run(command, "--help")
		if code != cli.ExitDone || shortCode != cli.ExitDone {
			t.Fatalf("%s --help: exit code %d, %d with -h", command, code, shortCode)
		}
		if command != "version" && !strings.Contains(out, "Examples:") {
			t.Errorf("%s has no example", command)
		}
		for sc := bufio.NewScanner(strings.NewReader(out + short)); sc.Scan(); {
			if len(sc.Text()) > 79 {
				t.Errorf("%s: %d columns: %s", command, len(sc.Text()), sc.Text())
			}
		}
	}
}

// TestDaysEverywhere checks that each flag of a duration accepts days.
func TestDaysEverywhere(t *testing.T) {
	durations := 0
	for _, cmd := range commands.Root().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if kind := f.Value.Type(); kind != "duration" && kind != "window" {
				return
			}
			durations++
			if err := f.Value.Set("1d"); err != nil {
				t.Errorf("%s --%s: %v", cmd.Name(), f.Name, err)
			}
		})
	}
	if durations < 12 {
		t.Errorf("%d flags of durations", durations)
	}
}

// TestGroups checks that each flag of our commands has a heading, and appears there once
// in --help.
func TestGroups(t *testing.T) {
	for _, cmd := range commands.Root().Commands() {
		if !help.Grouped(cmd.LocalFlags()) {
			continue
		}
		long, _, _ := clitest.Run(cmd.Name(), "--help")
		short, _, _ := clitest.Run(cmd.Name(), "-h")
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			name := "--" + f.Name + " "
			lines := func(text string) int {
				return strings.Count(text, "\n      "+name) + strings.Count(text, "\n  -"+f.Shorthand+", "+name)
			}
			group := help.Of(f)
			if group == help.None || !slices.Contains(cli.Groups(), group) || lines(long) != 1 {
				t.Errorf("%s --%s: group %q, %d lines of --help", cmd.Name(), f.Name, group, lines(long))
			}
			if want := group != help.Advanced; (lines(short) == 1) != want {
				t.Errorf("%s --%s: %d lines of -h, in the group %s", cmd.Name(), f.Name, lines(short), group)
			}
		})
	}
}
