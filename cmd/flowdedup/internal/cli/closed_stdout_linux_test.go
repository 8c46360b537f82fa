// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// TestClosedStdout starts commands without standard output: where results are lost they say
// so, and a run whose results are in a file does not. Exit codes stay, as the null device of
// a program that wants no output looks the same. The null device of a shell is known.
func TestClosedStdout(t *testing.T) {
	in := clitest.Bundled("router-in.pcap")
	out := filepath.Join(t.TempDir(), "out.pcap")
	table := filepath.Join(t.TempDir(), "table.csv")
	different := clitest.Bundled("router-out.pcap")
	records := clitest.WriteInput(t, filepath.Join(t.TempDir(), "conn.json"), []byte(`{"ts":1700000000.0,"id.orig_h":"10.0.0.1","id.orig_p":1000,"id.resp_h":"10.0.0.2","id.resp_p":443,"proto":"udp"}`+"\n"))
	for _, c := range []struct {
		args []string
		want int
		says bool
	}{
		{[]string{"distinct", in}, cli.ExitDone, true},
		{[]string{"distinct", in, "--csv", table}, cli.ExitDone, true},
		{[]string{"inspect", in}, cli.ExitDone, true},
		{[]string{"compare", in, in}, cli.ExitDone, true},
		{[]string{"compare", in, different}, cli.ExitDifferent, true},
		{[]string{"compare", "--quiet", in, in}, cli.ExitDone, false},
		{[]string{"verify", in, in}, cli.ExitDone, true},
		{[]string{"plan", "--link", "10G", "--window", "10ms"}, cli.ExitDone, true},
		{[]string{"version"}, cli.ExitDone, true},
		{[]string{"dedup", in}, cli.ExitDone, true},
		{[]string{"dedup", in, "-w", out, "--json"}, cli.ExitDone, true},
		{[]string{"dedup", in, "-w", out}, cli.ExitDone, false},
		{[]string{"dedup", in, "-w", "-"}, cli.ExitDone, true},
		{[]string{"dedup", in, "-w", out, "--duplicates", "/dev/stdout"}, cli.ExitDone, true},
		{[]string{"compare", in, different, "--only-a", "-"}, cli.ExitDifferent, true},
		{[]string{"flows", records, "--of", "src,dst", "--every", "1h"}, cli.ExitDone, true},
		{[]string{"flows", records, "-w", "-"}, cli.ExitDone, true},
	} {
		for redirect, says := range map[string]bool{">&-": c.says, "1<>/dev/null": c.says, ">/dev/null": false} {
			cmd := clitest.Program(t, c.args...)
			cmd.Args = append([]string{"sh", "-c", `exec "$@" ` + redirect, "sh", cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
			var said strings.Builder
			cmd.Stderr = &said
			got := clitest.ExitCode(t, cmd.Run())
			if got != c.want || strings.Contains(said.String(), "no result was printed") != says {
				t.Errorf("%q %s: exit code %d, want %d: %s", c.args, redirect, got, c.want, said.String())
			}
		}
	}
	rows, err := os.ReadFile(table)
	if err != nil || bytes.Count(rows, []byte("\n")) < 3 {
		t.Errorf("the run did not go on: %q, %v", rows, err)
	}
}
