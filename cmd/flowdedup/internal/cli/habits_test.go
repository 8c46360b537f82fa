// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

// others are parts of an answer that name other commands or programs.
var others = regexp.MustCompile(`(flowdedup (dedup|live|inspect)|editcap|tcpdump|tshark)[^;,]*`)

// TestHabitsNameFlags checks that every command has the flags that its answers name, and no
// answer for a flag that it has.
func TestHabitsNameFlags(t *testing.T) {
	root := commands.Root()
	lookup := func(cmd *cobra.Command, flag string) *pflag.Flag {
		if name, long := strings.CutPrefix(flag, "--"); long {
			return cmd.Flags().Lookup(name)
		}
		return cmd.Flags().ShorthandLookup(flag[1:])
	}
	used := map[string]bool{}
	for _, cmd := range root.Commands() {
		used[cmd.Name()] = true
		cmd.Flags().VisitAll(func(f *pflag.Flag) { used["--"+f.Name] = true })
		cli.EachHabit(func(typed, _ string) {
			if !strings.HasPrefix(typed, "-") || strings.ContainsAny(typed, "=+") {
				return
			}
			if lookup(cmd, typed) != nil {
				used[cmd.Name()+" "+typed] = true
				return
			}
			for _, flag := range regexp.MustCompile(`(^|[ ,(])--?[a-zA-Z][a-z-]*`).FindAllString(others.ReplaceAllString(cli.HabitOf(cmd, typed), ""), -1) {
				if flag = strings.Trim(flag, " ,("); flag != "-" && lookup(cmd, flag) == nil {
					t.Errorf("%s %s: there is no %s", cmd.Name(), typed, flag)
				}
			}
		})
	}
	cli.EachHabit(func(typed, names string) {
		for _, name := range strings.Fields(names) {
			if name != cli.NoCommand && !used[name] || used[name+" "+typed] {
				t.Errorf("%s: no command is or has %s, or it has the flag", typed, name)
			}
		}
	})
}
