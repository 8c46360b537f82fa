// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClosedStdout starts commands without standard output: where results are lost they say
// so, and a run whose results are in a file does not. Exit codes stay, as the null device of
// a program that wants no output looks the same.
func TestClosedStdout(t *testing.T) {
	in := bundled("router-in.pcap")
	out := filepath.Join(t.TempDir(), "out.pcap")
	table := filepath.Join(t.TempDir(), "table.csv")
	different := bundled("router-out.pcap")
	for _, c := range []struct {
		args []string
		want int
		says bool
	}{
		{[]string{"distinct", in}, exitDone, true},
		{[]string{"distinct", in, "--csv", table}, exitDone, true},
		{[]string{"inspect", in}, exitDone, true},
		{[]string{"compare", in, in}, exitDone, true},
		{[]string{"compare", in, different}, exitDifferent, true},
		{[]string{"compare", "--quiet", in, in}, exitDone, false},
		{[]string{"verify", in, in}, exitDone, true},
		{[]string{"plan", "--link", "10G", "--window", "10ms"}, exitDone, true},
		{[]string{"version"}, exitDone, true},
		{[]string{"dedup", in}, exitDone, true},
		{[]string{"dedup", in, "-w", out, "--json"}, exitDone, true},
		{[]string{"dedup", in, "-w", out}, exitDone, false},
	} {
		cmd := program(t, c.args...)
		cmd.Args = append([]string{"sh", "-c", `exec "$@" >&-`, "sh", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
		var said strings.Builder
		cmd.Stderr = &said
		got := exitCodeOf(t, cmd.Run())
		if got != c.want || strings.Contains(said.String(), "no result was printed") != c.says {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, got, c.want, said.String())
		}
	}
	rows, err := os.ReadFile(table)
	if err != nil || bytes.Count(rows, []byte("\n")) < 3 {
		t.Errorf("the run did not go on: %q, %v", rows, err)
	}
}
