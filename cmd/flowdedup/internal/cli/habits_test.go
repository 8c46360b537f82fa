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
var others = regexp.MustCompile(`(flowdedup [a-z]+|editcap|tcpdump|tshark)[^;,]*`)

// TestHabitsNameCommands checks that commands in answers exist, with the flags behind their names.
func TestHabitsNameCommands(t *testing.T) {
	named := regexp.MustCompile(`flowdedup ([a-z]+)([^;,]*)`)
	flag := regexp.MustCompile(` --?[a-zA-Z][a-z-]*`)
	checked := 0
	cli.EachHabit(func(typed, _, answer string) {
		for _, at := range named.FindAllStringSubmatch(answer, -1) {
			cmd, _, err := commands.Root().Find([]string{at[1]})
			if err != nil {
				t.Errorf("%s: there is no command %s", typed, at[1])
				continue
			}
			for _, f := range flag.FindAllString(at[2], -1) {
				if checked++; lookupFlag(cmd, f[1:]) == nil {
					t.Errorf("%s: flowdedup %s has no%s", typed, at[1], f)
				}
			}
		}
	})
	if checked < 20 {
		t.Errorf("only %d flags were checked", checked)
	}
}

func lookupFlag(cmd *cobra.Command, flag string) *pflag.Flag {
	if name, long := strings.CutPrefix(flag, "--"); long {
		return cmd.Flags().Lookup(name)
	}
	return cmd.Flags().ShorthandLookup(flag[1:])
}

// TestHabitsNameFlags checks that every command has the flags that its answers name, and no
// answer for a flag that it has.
func TestHabitsNameFlags(t *testing.T) {
	root := commands.Root()
	used := map[string]bool{}
	for _, cmd := range root.Commands() {
		used[cmd.Name()] = true
		cmd.Flags().VisitAll(func(f *pflag.Flag) { used["--"+f.Name] = true })
		cli.EachHabit(func(typed, _, _ string) {
			if !strings.HasPrefix(typed, "-") || strings.ContainsAny(typed, "=+") {
				return
			}
			if lookupFlag(cmd, typed) != nil {
				used[cmd.Name()+" "+typed] = true
				return
			}
			for _, flag := range regexp.MustCompile(`(^|[ ,(])--?[a-zA-Z][a-z-]*`).FindAllString(others.ReplaceAllString(cli.HabitOf(cmd, typed), ""), -1) {
				if flag = strings.Trim(flag, " ,("); flag != "-" && lookupFlag(cmd, flag) == nil {
					t.Errorf("%s %s: there is no %s", cmd.Name(), typed, flag)
				}
			}
		})
	}
	cli.EachHabit(func(typed, names, _ string) {
		for _, name := range strings.Fields(names) {
			if name != cli.NoCommand && !used[name] || used[name+" "+typed] {
				t.Errorf("%s: no command is or has %s, or it has the flag", typed, name)
			}
		}
	})
}
