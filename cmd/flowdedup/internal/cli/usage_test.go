// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bufio"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket/layers"
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

// writeRaw makes a capture of raw IP.
func writeRaw(t *testing.T, packets ...string) string {
	t.Helper()
	var frames [][]byte
	for _, p := range packets {
		frames = append(frames, []byte(p))
	}
	return writeEvery(t, "raw.pcap", layers.LinkTypeRaw, 0, time.Second, frames...)
}

// TestTunnelsNoticed checks that identity inner is suggested if many packets are in
// tunnels, as where each is seen inside and outside of one, and only if it would change something.
func TestTunnelsNoticed(t *testing.T) {
	const address = "\x0a\x00\x00\x01\x0a\x00\x00\x02"
	const plain = "\x45\x00\x00\x1c\x00\x01\x00\x00\x40\x11\x00\x00" + address + "\x00\x05\x00\x06\x00\x08\x00\x00"
	const gre = "\x45\x00\x00\x34\x00\x01\x00\x00\x40\x2f\x00\x00" + address + "\x00\x00\x08\x00" + plain
	const want = "flowdedup: noticed: 50 % of packets are GRE; for copies inside of tunnels try --identity inner\n"
	half, few := writeRaw(t, gre, plain, gre, plain), writeRaw(t, gre, plain, plain, plain, plain)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{half}, want},
		{[]string{"--json", half}, want},
		{[]string{"--quiet", half}, ""},
		{[]string{"--identity", "inner", half}, ""},
		{[]string{"--identity", "frame", half}, ""},
		{[]string{few}, ""},
	} {
		out, errs, code := clitest.Run(append([]string{"dedup"}, c.args...)...)
		if code != cli.ExitDone || errs != c.want || strings.Contains(out, "noticed: ") {
			t.Errorf("%v: exit code %d, %q", c.args, code, errs)
		}
	}
}
