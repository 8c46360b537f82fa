// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestOrigin wants names without folders, command lines without secrets, and both so that they
// tell inputs apart.
func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		args, inputs  []string
		command, name string
	}{
		{[]string{"/home/ann/secret-project/a.pcap"}, []string{"/home/ann/secret-project/a.pcap"}, "x a.pcap", "a.pcap"},
		{[]string{"in/a.pcap", "out/a.pcap"}, []string{"in/a.pcap", "out/a.pcap"}, "x in/a.pcap out/a.pcap", "in/a.pcap, out/a.pcap"},
		{[]string{"/x/in/a.pcap", "/y/in/a.pcap"}, []string{"/x/in/a.pcap", "/y/in/a.pcap"}, "x x/in/a.pcap y/in/a.pcap", "x/in/a.pcap, y/in/a.pcap"},
		{[]string{"two words.pcap"}, []string{"two words.pcap"}, "x 'two words.pcap'", "two words.pcap"},
		{[]string{"tcp://tap:57012"}, []string{"tcp://tap:57012"}, "x tcp://tap:57012", "tcp://tap:57012"},
		{[]string{"-q", "--html", "/home/ann/p.html", "--key", strings.Repeat("5a", 32), "a.pcap"}, []string{"a.pcap"}, "x a.pcap", "a.pcap"},
		{[]string{"--filter", "net 10.0.0.0/8", "-w", "/home/ann/out.pcap", "--no-merge"}, nil, "x --filter 'net 10.0.0.0/8' --output out.pcap --no-merge", ""},
	} {
		var common Common
		var page PageFlag
		var output string
		cmd := &cobra.Command{Use: "x"}
		Define(cmd, common.Flags([]string{"timed"}), []Flag{page.Flag("of x"), {Name: "output", Short: "w", Group: GroupOutput, To: &output, Help: "write to `FILE`"}})
		if err := cmd.ParseFlags(c.args); err != nil {
			t.Fatal(err)
		}
		of := NewOrigin(cmd, c.inputs)
		if of.Command != c.command || strings.Join(of.Inputs, ", ") != c.name {
			t.Errorf("%q: command %q, inputs %q", c.args, of.Command, of.Inputs)
		}
		if page := of.Now(); page.Made.IsZero() || page.Version == "" {
			t.Errorf("%q: made %v by %q", c.args, page.Made, page.Version)
		}
	}
}

// TestShorten takes folders of inputs out of a command, and nothing else.
func TestShorten(t *testing.T) {
	of := NewOrigin(&cobra.Command{Use: "x"}, []string{"/home/ann/a.pcap", "/home/ann/my taps/b.pcap"})
	const line = "flowdedup dedup -w /tmp/clean.pcapng /home/ann/a.pcap '/home/ann/my taps/b.pcap'"
	if got := of.Shorten(line); got != "flowdedup dedup -w /tmp/clean.pcapng a.pcap b.pcap" {
		t.Error(got)
	}
}
