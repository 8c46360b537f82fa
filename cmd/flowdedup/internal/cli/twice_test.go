// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
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

// TestConditionsTwice checks that a packet is judged, or protected, that one of several
// conditions chooses.
func TestConditionsTwice(t *testing.T) {
	const packet = "\x45\x00\x00\x1c\x00\x01\x00\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02\x00\x05\x00\x06\x00\x08\x00\x00"
	a := writeRaw(t, packet, packet)
	b := writeRaw(t, packet+"b", strings.Replace(packet, "\x01\x00", "\x02\x00", 1), strings.Replace(packet, "\x01\x00", "\x02\x00", 1))
	inA, inB := "input "+a, "input "+b
	for _, c := range []struct {
		flags                           []string
		duplicates, unjudged, protected uint64
	}{
		{nil, 3, 0, 0},
		{[]string{"--protect", inA}, 2, 0, 1},
		{[]string{"--protect", inA, "--protect", inB}, 0, 0, 3},
		{[]string{"--only", inA}, 1, 3, 0},
		{[]string{"--only", inB}, 1, 2, 0},
		{[]string{"--only", inA, "--only", inB}, 3, 0, 0},
		{[]string{"--only", inA, "--only", inB, "--protect", inB}, 1, 0, 2},
		{[]string{"--only", "interface c", "--only", "interface d"}, 0, 5, 0},
	} {
		var r struct{ Duplicates, Unjudged, Protected uint64 }
		out, errs, code := clitest.Run(append([]string{"dedup", "--json", "--window", "10s", "--no-merge", a, b}, c.flags...)...)
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != cli.ExitDone {
			t.Fatalf("%q: %v, exit code %d, %s", c.flags, err, code, errs)
		}
		if r.Duplicates != c.duplicates || r.Unjudged != c.unjudged || r.Protected != c.protected {
			t.Errorf("%q: %+v", c.flags, r)
		}
	}
}
