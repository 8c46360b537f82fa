// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/once"
)

// added are the flags to which each use adds, of any command.
var added = []string{"read", "from", "interface", "listen", "ignore", "within", "strip", "of", "param", "only", "protect", "prefer", "write", "forward", "tunnel"}

// TestFlagsTwice gives each flag of each command a second time, by its long and by its short
// name. All but lists are wrong usage, and the line names the flag.
func TestFlagsTwice(t *testing.T) {
	checked := 0
	for _, cmd := range commands.Root().Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			list := slices.Contains(added, f.Name) && (f.Name != "write" || cmd.Name() == "live") && (f.Name != "of" || cmd.Name() != "plan") && (f.Name != "prefer" || cmd.Name() != "verify") && (f.Name != "from" || cmd.Name() == "plan")
			value := "x"
			if f.Value.Type() == "bool" {
				value = "true"
			}
			f.Changed = true // as after a first use
			err := cmd.Flags().Set(f.Name, value)
			checked++
			switch twice := err != nil && strings.Contains(once.Error(err).Error(), "--"+f.Name) && strings.Contains(err.Error(), once.ErrTwice.Error()); {
			case list && twice:
				t.Errorf("%s --%s does not add up", cmd.Name(), f.Name)
			case !list && !twice && value != "true":
				t.Errorf("%s --%s: %v", cmd.Name(), f.Name, err)
			}
		})
	}
	if checked < 150 {
		t.Errorf("%d flags", checked)
	}
}
