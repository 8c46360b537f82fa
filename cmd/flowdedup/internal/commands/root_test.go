// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"bytes"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

func TestNeeded(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"dedup", "live"}, "dedup"},
		{[]string{"live", "-i", "eth0"}, "live"},
		{[]string{"--version"}, "version"},
		{[]string{"--version", "dedup"}, ""},
		{[]string{"-h"}, ""},
		{[]string{"help", "dedup"}, ""},
		{[]string{"__complete", "dedup", ""}, ""},
		{[]string{"dedupe"}, ""},
		{[]string{"dedup", "--config=x"}, ""},
		{[]string{"dedup", "--config", "x"}, ""},
	} {
		if got := needed(c.args); got != c.want {
			t.Errorf("%q: %q, want %q", c.args, got, c.want)
		}
	}
	t.Setenv(settingsPrefix+"WINDOW", "1ms")
	if got := needed([]string{"dedup"}); got != "" {
		t.Errorf("with a variable: %q", got)
	}
}

// TestAlone compares the help of each command made alone with its help beside all others.
func TestAlone(t *testing.T) {
	help := func(name, only string) string {
		var out bytes.Buffer
		root := newRoot(&cli.Env{Stdout: &out, Stderr: &out}, only)
		root.SetArgs([]string{name, "--help"})
		if err := root.Execute(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return out.String()
	}
	for _, c := range commands {
		if alone, beside := help(c.name, c.name), help(c.name, ""); alone != beside || alone == "" {
			t.Errorf("%s alone:\n%s\nbeside others:\n%s", c.name, alone, beside)
		}
	}
}
